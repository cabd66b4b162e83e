"""Consumer groups of the classic protocol, and the offsets that groups of any kind commit.

    JoinGroup ─► all members wait ─► a generation: each gets its answer, the leader the list of members
    SyncGroup ─► all members wait ─► the leader's assignment is written ─► each gets its own part

Nouns: `GroupCoordinator` (all groups of a broker), `GroupShard` (those of one partition of `__consumer_offsets`),
`ClassicGroup` (its members, states and votes), `Member`, `Rebalances` (what moves a group from state to state),
`Joins` and `Memberships` (the requests of members), `OffsetStore` (committed offsets, and those of open transactions),
`OffsetCommits`, `GroupReads`.
Invariants: a partition has one owner in a generation, since a generation has one assignment and a member of an older
one is refused; an offset that was acknowledged is in the log; what waits for a rebalance is not in the log, so that a
group which is loaded is Empty or Stable.
May import: coordinator.runtime, replication, cluster, records, protocol, base.
"""
