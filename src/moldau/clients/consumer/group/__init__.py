"""Being a member of a consumer group (classic protocol), and committing offsets.

Nouns: `Membership` (who this member is and what it may ask next; no I/O), `MemberState`, `Reaction` (what an error code
means for a member), `GroupCoordination` (join, sync, heartbeats, leave, and the listener's calls between them),
`OffsetCommits`.
Invariants: partitions are read only by a member that the coordinator knows in this generation, as far as the member can
know; listeners are called in the order revoked or lost, assigned; heartbeats go on while records are processed, until
that takes longer than max.poll.interval.ms.
May import: the rest of `clients.consumer` but `fetching`, `clients.network`, `protocol`, `base`.
"""
