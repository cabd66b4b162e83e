"""What makes a log a replicated partition: leader and followers, in-sync replicas, high watermark, and waiting for it.

Nouns: `Partition` (the state of one partition on one broker), `InSyncReplicas` (the ISR and the change of it that the
controller has not answered yet), `RemoteReplica` (what a leader knows of a follower), `Purgatory` and
`DelayedOperation` (requests that wait for an event or a timeout), `FetchSessions` (KIP-227), `FollowerWatch` (which
partitions of a follower's session are worth a look), `ReplicationThrottle` (KIP-73), `ReplicaSelector` (KIP-392).
`followers` is the other side: who copies from leaders.
Invariants: a leader's high watermark never moves back and is never beyond the end of any in-sync replica's log; a
delayed operation completes exactly once; after any history of incremental fetches a client knows what a full fetch
would have told it. Nothing in the cores asks a clock, a disk or a network: time comes in, effects go out.
May import: storage, records, net, protocol, metrics, base.
"""
