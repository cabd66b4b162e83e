"""What Spark calls: before, in and after the tasks of a write.

Spark makes a writer in a process that plans each batch, sends it to the tasks, and makes another one in the process
that commits. So what tasks have to know is in the writer, and what the commit has to know in the messages.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter, WriterCommitMessage

from moldau.pipeline.options import Options
from moldau.pipeline.sink.columns import check_columns
from moldau.pipeline.sink.driver_side import driver_side
from moldau.pipeline.sink.errors import SinkError
from moldau.pipeline.sink.settings import SinkSettings, sink_settings
from moldau.pipeline.sink.task_attempt import write_attempt, write_without_transaction
from moldau.pipeline.sink.values import Plan, Written

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

logger = logging.getLogger(__name__)

# Spark loads it in the process that commits, and in no other.
_COMMIT_RUNNER: Final = "pyspark.sql.worker.python_streaming_sink_runner"
_QUERY_ID: Final = "sql.streaming.queryId"
_BATCH_ID: Final = "streaming.sql.batchId"


@dataclass(frozen=True, slots=True)
class TaskMessage(WriterCommitMessage):
    """What a task tells the commit; `written` is None where nothing has to be committed."""

    rows: int
    written: Written | None = None
    timeout_ms: int = 0


class _Sink:
    """What both kinds of writes share."""

    def __init__(self, settings: SinkSettings, schema: StructType, *, plans: bool) -> None:
        check_columns(schema, settings.topic)
        self.settings = settings
        self.plan: Plan | None = None
        self.timeout_ms = 0
        if plans and settings.exactly_once:
            self.plan, self.timeout_ms = driver_side(settings).plan()

    def write_rows(self, iterator: Iterator[pa.RecordBatch], query_id: str, batch_id: int) -> TaskMessage:
        if not self.settings.exactly_once:
            return TaskMessage(write_without_transaction(self.settings, iterator))
        if self.plan is None:
            raise SinkError("the write was not planned, which Spark never does")
        written = write_attempt(self.settings, self.plan, self.timeout_ms, iterator, query_id, batch_id)
        return TaskMessage(written.rows, written, self.timeout_ms)

    def commit_batch(self, messages: Sequence[Any], batch_id: int) -> None:
        if self.settings.exactly_once:
            written = [each.written for each in messages]
            driver_side(self.settings).commit(written, batch_id, messages[0].timeout_ms)

    def abort_batch(self, messages: Sequence[Any], batch_id: int) -> None:
        if not self.settings.exactly_once:
            return
        written = [None if each is None else each.written for each in messages]
        if not driver_side(self.settings).abort(written, batch_id):
            logger.warning(
                "Batch %d of sink %s was decided before it failed: the next start completes it",
                batch_id,
                self.settings.sink_id,
            )


class MoldauStreamWriter(DataSourceStreamArrowWriter):
    """`writeStream.format("moldau")`."""

    def __init__(self, options: Options, schema: StructType) -> None:
        self._sink = _Sink(sink_settings(options, is_batch=False), schema, plans=_COMMIT_RUNNER not in sys.modules)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> TaskMessage:
        query_id, batch_id = _local_property(_QUERY_ID), _local_property(_BATCH_ID)
        return self._sink.write_rows(iterator, query_id, int(batch_id))

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 - Spark's name
        self._sink.commit_batch(messages, batchId)

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 - Spark's name
        self._sink.abort_batch(messages, batchId)


class MoldauBatchWriter(DataSourceArrowWriter):
    """`write.format("moldau")`: one batch, numbered 0, of a query that is this write.

    With the options `queryId` and `batchId` it is that batch of that query: what `foreachBatch` writes is then written
    once, though Spark may call it again with the same batch.
    """

    def __init__(self, options: Options, schema: StructType) -> None:
        settings = sink_settings(options, is_batch=True)
        given = options.get("queryId")
        if given is not None:
            options.required("sinkId", "the name of the sink whose batches queryId and batchId number")
            options.required("batchId", "which batch of the query this is: the number that foreachBatch is called with")
        self._query_id = given or f"batch-{os.urandom(12).hex()}"
        self._batch_id = 0 if given is None else options.natural("batchId", 0)
        self._comes_again = given is not None
        self._sink = _Sink(settings, schema, plans=True)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> TaskMessage:
        return self._sink.write_rows(iterator, self._query_id, self._batch_id)

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        self._sink.commit_batch(messages, self._batch_id)
        if self._sink.settings.exactly_once and not self._comes_again:
            driver_side(self._sink.settings).forget(self._query_id)

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        self._sink.abort_batch(messages, self._batch_id)


def _local_property(name: str) -> str:
    context = TaskContext.get()
    value = None if context is None else context.getLocalProperty(name)
    if value is None:
        raise SinkError(f"Spark does not tell {name} to its tasks; exactly once needs Spark 4.2 or newer")
    return str(value)
