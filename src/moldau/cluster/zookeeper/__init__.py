"""The coordination store on a real ZooKeeper ensemble, and a ZooKeeper of our own where there is none.

Nouns: `Ensemble` (servers and a chroot, as in `zookeeper.connect`), `ZooKeeperStore` and `ZooKeeperSession` (the seam),
`KazooLink` (one session of the kazoo client, and the border to its thread), `ZooKeeperServer` (Apache ZooKeeper itself,
out of PySpark's jars).
Invariants: what kazoo's thread hears reaches the event loop in the order in which it was read; a session that has
expired does nothing any more; kazoo is loaded by the first session, and its insides are known to `kazoo_link` alone.
May import: what cluster may.
"""
