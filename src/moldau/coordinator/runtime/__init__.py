"""What all coordinators have in common: a shard for each partition of an internal topic that this broker leads.

    request ─► operation(shard) ─► records + answer ─► replayed ─► appended with others of this turn of the loop
                    │                                                 │
                    └─► a refusal: nothing has changed                └─► high watermark past them: the answer goes

Nouns: `Runtime` (all shards of one kind), a shard (the state of one partition: what is replayed into it), `Result`
(what an operation yields), `Reply` (an answer that comes later), `ShardTimers`.
Invariants: an operation sees everything that was replayed before it; its records are in one batch, and so in the log
all or not at all; an answer goes out when everything that its operation has seen is replicated. If an append fails, the
shard is thrown away and loaded again, since the log is the state.
"""
