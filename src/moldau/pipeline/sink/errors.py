"""What the sink raises. Each text says what to do.

MoldauError
└── SinkError
    ├── SinkFenced          another driver decides for this sink now
    ├── TransactionsLost    a decided batch cannot be completed: the broker has aborted some of its transactions
    ├── BatchTooOld         the batch took longer than its transactions live; nothing was decided
    ├── CheckpointTooOld    the checkpoint is behind what the sink has written
    └── RowError            a row that cannot be a record
"""

from __future__ import annotations

from moldau.base.errors import MoldauError


class SinkError(MoldauError):
    """The root."""


class SinkFenced(SinkError):
    """This driver has to stop; what it has not decided is not visible, and the other one writes it."""


class TransactionsLost(SinkError):
    """Names batch, transactions and partitions."""


class BatchTooOld(SinkError):
    """Spark will run the batch again."""


class CheckpointTooOld(SinkError):
    """A copy was restored, or a second driver is behind."""


class RowError(SinkError):
    """Names the column and what is wrong."""
