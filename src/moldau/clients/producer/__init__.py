"""The producer: records in, batches out, one answer for each record.

    send → interceptors → serializers → partitioner → accumulator (batches by partition) → sender → broker
                                                                                              ↓
    future, callback, interceptors                        ←  ←  ←  ←  the batch is done  ←  answer

Nouns: `ProducerBatch` (records of one partition that share their fate), `RecordFuture` (one record of it),
`RecordAccumulator`, `Sender`, `Sequences` (idempotence), `Transactions`.
Invariants: a record that `send` accepted is answered exactly once, in the order of its partition; what is acknowledged
is in the log; with idempotence each record is there once and in order; the memory of waiting records has a limit.
The accumulator alone is shared between threads, under its lock; everything else lives in the loop.
"""

from __future__ import annotations
