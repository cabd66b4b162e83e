"""Who leads which partition, decided by one broker for all: Kafka's controller on a coordination store.

Nouns: `Controller` (what every broker has: a `Candidate` in elections, and what can be asked of it), `Term` (what the
elected one has until it resigns: context, state machines, operations), `ControllerContext` (what it knows), events
(one queue, one worker), control requests (LeaderAndIsr, UpdateMetadata, StopReplica: how brokers learn of decisions),
`TopicAdmin` (what any broker writes so that the controller sees a topic come, grow and go).
Invariants: the queue is the only way to touch the context; every write is bound to the controller's epoch, so that a
predecessor who does not know that it was replaced changes nothing; a decision is in the store before a broker hears
of it; a broker gets its requests in the order in which they were decided; leader epochs only grow.
May import: replication, cluster, net, records, protocol, metrics, base.
"""
