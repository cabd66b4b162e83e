"""Running a pipeline: check, start a query for each sink, report, and stop cleanly.

A query goes on where its checkpoint says, whatever ended it. A signal lets the batch in progress end, for a while, and
then stops; what is not finished then is done again at the next start, exactly once where the sink can.
"""

from __future__ import annotations

import json
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from hashlib import sha256
from types import FrameType
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import DataFrame

from moldau.base.clock import SystemClock
from moldau.pipeline.jobs.checking import check_all
from moldau.pipeline.jobs.definition import MOLDAU, Pipeline, PipelineError, Sink
from moldau.pipeline.jobs.failures import FAILURES, ending_with, said, told_of
from moldau.pipeline.jobs.plan import table_of
from moldau.pipeline.jobs.progress import new_reports
from moldau.pipeline.jobs.screen import Screen
from moldau.pipeline.jobs.state.changelog import Changelog
from moldau.pipeline.jobs.state.keyed_state import KeyedState

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

LOOK_EVERY_S: Final = 0.2
LAST_BATCH_S: Final = 10.0
QUERY_ID: Final = "sql.streaming.queryId"

Deliver = Callable[[DataFrame, int], None]


@dataclass(slots=True)
class Run:
    """One run of a pipeline; `stopping` is set from outside to end it."""

    pipeline: Pipeline
    spark: SparkSession
    checkpoint: str
    screen: Screen
    once: bool = False
    stopping: threading.Event = field(default_factory=threading.Event)

    def go(self) -> None:
        """Until all queries have ended, one has failed, or it is told to stop."""
        queries: dict[str, StreamingQuery] = {}
        resources = ExitStack()
        with ending_with(lambda: self._stop(queries), resources.close, self.screen.close):
            tables = check_all(self.pipeline, self.spark)
            for sink in self.pipeline.sinks:
                if self.stopping.is_set():
                    return
                started = self._start(sink, tables[sink.name], resources)
                if started is not None:
                    queries[sink.name] = started
            self._watch(queries)

    def _start(self, sink: Sink, table: DataFrame, resources: ExitStack) -> StreamingQuery | None:
        if not table.isStreaming:
            self.screen.say(f"{sink.name}: writing")
            write_once(table, sink)
            self.screen.say(f"{sink.name}: written")
            return None
        deliver = None
        if sink.state is not None:
            group = self.pipeline.group_of(sink)
            changelog = resources.enter_context(Changelog(sink.options["topic"], sink.options, group))
            state = KeyedState(sink.name, sink.state, changelog, self.spark)
            table, deliver = table_of(self.pipeline, sink, self.spark, state.position), state.deliver
        query = start_query(table, sink, f"{self.checkpoint.rstrip('/')}/{sink.name}", once=self.once, deliver=deliver)
        self.screen.say(f"{sink.name}: query {query.id} runs")
        return query

    def _watch(self, queries: Mapping[str, StreamingQuery]) -> None:
        seen = dict.fromkeys(queries, -1)
        while True:
            # First whether they run and then what they did, so that the last batch of all is told too.
            running = [name for name, query in queries.items() if query.isActive]
            self._report(queries, seen)
            for name, query in queries.items():
                failure = query.exception() if name not in running else None
                if failure is not None:
                    raise query_failed(f"sink {name}", failure) from failure
            if not running or self.stopping.wait(LOOK_EVERY_S):
                return

    def _report(self, queries: Mapping[str, StreamingQuery], seen: dict[str, int]) -> None:
        reports = []
        for name, query in queries.items():
            new = new_reports(name, seen[name], [_plain(each) for each in query.recentProgress])
            seen[name] = new[-1].batch if new else seen[name]
            reports += new
        self.screen.show(reports)

    def _stop(self, queries: Mapping[str, StreamingQuery]) -> None:
        """Let each query end the batch that it is in, for a while, and stop it."""
        clock = SystemClock()
        ends_ms = clock.monotonic_ms() + LAST_BATCH_S * 1000
        in_progress = {name: _last_batch(query) for name, query in queries.items()}
        with ending_with(*(query.stop for query in queries.values())):
            for name, query in queries.items():
                while _is_in_batch(query, in_progress[name]) and clock.monotonic_ms() < ends_ms:
                    threading.Event().wait(LOOK_EVERY_S / 4)


def query_failed(place: str, failure: BaseException) -> PipelineError:
    """What ended a query; a batch that this process writes has named the place already."""
    text = said(failure)
    return PipelineError(text if text.startswith(f"{place}: ") else f"{place}: {text}")


def _last_batch(query: StreamingQuery) -> int:
    progress = query.lastProgress
    return -1 if progress is None else int(progress.batchId)


def _is_in_batch(query: StreamingQuery, last_batch: int) -> bool:
    """Whether it still works on the batch behind the last that it has reported."""
    if not query.isActive or _last_batch(query) > last_batch:
        return False
    status = query.status
    return bool(status["isTriggerActive"] and status["isDataAvailable"])


def start_query(
    table: DataFrame, sink: Sink, checkpoint: str, *, once: bool, deliver: Deliver | None = None
) -> StreamingQuery:
    """The query of a sink; it goes on from the checkpoint if there is one."""
    writer = table.writeStream.queryName(sink.name).outputMode(sink.mode).option("checkpointLocation", checkpoint)
    if once:
        writer = writer.trigger(availableNow=True)
    elif sink.trigger:
        writer = writer.trigger(processingTime=sink.trigger)
    if deliver is None and sink.each_batch:
        deliver = _each_batch(sink, checkpoint)
    if deliver is not None:
        writer = writer.foreachBatch(deliver)
    else:
        writer = writer.format(sink.format).options(**sink.options)
        if sink.partition_by:
            writer = writer.partitionBy(*sink.partition_by)
    try:
        return writer.start()
    except (*FAILURES, ValueError) as error:
        raise PipelineError(f"sink {sink.name}: {said(error)}{_hint(sink, error)}") from error


def write_once(table: DataFrame, sink: Sink) -> None:
    """Write what is not a stream."""
    writer = table.write.format(sink.format).mode("append").options(**sink.options)
    if sink.partition_by:
        writer = writer.partitionBy(*sink.partition_by)
    with told_of(f"sink {sink.name}"):
        writer.save()


def _each_batch(sink: Sink, checkpoint: str) -> Deliver:
    def deliver(batch: DataFrame, batch_id: int) -> None:
        write_once(batch, numbered(sink, checkpoint, batch, batch_id))

    return deliver


def numbered(sink: Sink, checkpoint: str, batch: DataFrame, batch_id: int) -> Sink:
    """A sink that knows which batch it gets, so that it writes it once, if it is one of ours."""
    if sink.format != MOLDAU:
        return sink
    query_id = batch.sparkSession.sparkContext.getLocalProperty(QUERY_ID)
    if query_id is None:
        raise PipelineError(
            f"sink {sink.name}: Spark does not tell which query this is, which needs Spark 4.2 or newer"
        )
    sink_id = f"checkpoint-{sha256(checkpoint.encode()).hexdigest()[:24]}"
    known = {"sinkId": sink_id, "queryId": query_id, "batchId": str(batch_id)}
    return replace(sink, options=known | dict(sink.options))


def _hint(sink: Sink, error: BaseException) -> str:
    if "streamed writing" in str(error) or "STREAMING" in str(error):
        return f". If {sink.format} cannot be streamed to, write each_batch = true"
    return ""


def _plain(progress: Any) -> Mapping[str, Any]:
    """Spark's object for a progress as the JSON that it came from."""
    found: Mapping[str, Any] = json.loads(progress.json)
    return found


@contextmanager
def stopped_by_signals(stopping: threading.Event, say: Callable[[str], None]) -> Iterator[None]:
    """SIGINT and SIGTERM ask for a clean stop; a second one ends at once."""

    def ask(number: int, _frame: FrameType | None) -> None:
        if stopping.is_set():
            raise KeyboardInterrupt
        stopping.set()
        say(f"{signal.Signals(number).name}: stopping after the batch; once more to stop at once")

    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
