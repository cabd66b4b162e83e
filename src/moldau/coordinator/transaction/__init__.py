"""Transactions: several partitions, and offsets of groups, changed together or not at all (KIP-98).

    InitProducerId ─► AddPartitionsToTxn ─► (records are produced) ─► EndTxn ─► prepared ─► markers ─► complete

The decision is the record that says PREPARE_COMMIT or PREPARE_ABORT: once it is replicated, nothing can turn it round,
and the markers are written to all partitions, by this coordinator or by the one that comes after it.

Nouns: `Transaction` (what is known of a transactional id), its states, `TransactionShard` (those of one partition of
`__transaction_state`), an operation (a function of a shard), `Markers` (which are still to be written, and where),
`TransactionVerifier` (the other side: leaders that ask whether a transaction is open), `TransactionCoordinator` (all).
Invariants: a producer id and epoch belong to one producer at a time, and older ones are fenced; a marker is sent only
when its decision is replicated; a transaction is complete only when all of its markers are.
"""
