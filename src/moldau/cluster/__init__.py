"""What the brokers of a cluster agree on: the coordination store and what Kafka keeps in it.

Nouns: znode (a path with data and a `Stat`), session (whose end takes its ephemeral znodes along), watch (told once
of one change), `EmbeddedStore` (the tree in this process), `znodes` (Kafka's layout and JSON).
Invariants: the model is ZooKeeper's, so that a real ensemble can take the embedded store's place; an answer comes
after its write is durable; what a session hears, answers and events, comes in the order in which it happened.
May import: net, records, protocol, metrics, base.
"""
