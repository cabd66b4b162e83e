"""Coordinators: consumer groups and transactions, each kept as a log.

Nouns: `runtime` (shards on partitions of an internal topic, loaded by replay), and below it one folder for each kind of
coordinator.
Invariants: what a coordinator knows for good is what its log says: state changes only by replaying a record, and nobody
hears of a change before its record is replicated; loading after a change of leader is the same replay.
May import: replication, storage, cluster, net, records, protocol, metrics, base.
"""
