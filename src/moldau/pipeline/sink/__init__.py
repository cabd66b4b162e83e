"""`write` and `writeStream` of `format("moldau")`: rows become records, each exactly once.

Nouns, bottom-up:

    values, errors      what the parts tell each other, and what they raise
    effects, protocol   the commit protocol without I/O: plan, write, commit, abort
    transactional_ids   whose transaction it is, by its name
    settings, columns   what the user said: options, and the columns of the DataFrame
    log_entries, log_reader, decision_log    the topic with the decisions
    transactions        requests to transaction coordinators
    driver_side         carries the protocol out
    column_hash, routing    which rows go to which partition
    open_transaction, task_side, task_attempt    rows in, acknowledged records out
    writers             what Spark calls

Invariants: a transaction is committed if and only if a decision lists it; a row that cannot be written fails its batch
with nothing of it visible; what a process keeps can be lost at any time.
May import: what `moldau.pipeline` may.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql.datasource import DataSourceStreamWriter, DataSourceWriter
    from pyspark.sql.types import StructType

    from moldau.pipeline.options import Options

__all__ = ["batch_writer", "stream_writer"]


def stream_writer(options: Options, schema: StructType) -> DataSourceStreamWriter:
    from moldau.pipeline.sink.writers import MoldauStreamWriter

    return MoldauStreamWriter(options, schema)


def batch_writer(options: Options, schema: StructType) -> DataSourceWriter:
    from moldau.pipeline.sink.writers import MoldauBatchWriter

    return MoldauBatchWriter(options, schema)
