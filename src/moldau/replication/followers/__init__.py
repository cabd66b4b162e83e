"""The follower's side of replication: copying partitions from their leaders, byte by byte.

Nouns: `FollowedPartition` (one partition that is copied: where it stands, what it waits for), `Following` (all that one
fetcher copies from one leader: what to ask next, what an answer brings about), `LeaderSession` (what the leader
remembers of earlier requests, KIP-227), `Fetcher` (the loop that asks and hears), `ReplicaFetchers` (which partition is
copied by which fetcher), `LocalReplica` (the log that is written to).
Invariants: a follower appends only what continues its own log, and only after its log was cut to where it agrees with
the leader's; one request is in flight for each fetcher; an answer to what is no longer asked changes nothing.
`Following`, `LeaderSession` and `truncation` know no clock, disk or network. May import what `replication` may.
"""
