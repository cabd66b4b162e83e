"""`spark.readStream.format("moldau")`: a query's place, batch by batch.

Theory of operation. One object of this class lives in a process of its own as long as the query runs, and Spark calls
it in turn; `read` alone runs elsewhere, in tasks, on a copy that was made at the start. For each batch Spark asks for
`latestOffset(start)`, writes the answer to its checkpoint, and asks for `partitions(start, end)`. An answer that equals
`start` means that there is nothing to do, and the next question comes at once: so the answer is held back for a moment
while nothing is new.

`start` is the end of the last batch that is finished, sinks and all, and so that is when its offsets are committed to
the group. Spark's `commit` comes a batch later and never for the last one.

A query that begins at `latest` begins with a batch without rows. It only writes down where that was, so that a query
that is stopped before anything comes goes on from there, and not from a later `latest`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    ReadMinRows,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType

from moldau.clients.errors import TimedOut
from moldau.clients.records import TopicPartition
from moldau.pipeline.source.admission import Delay, limited, new_offsets
from moldau.pipeline.source.asking import ask, link_of, read_range
from moldau.pipeline.source.bounds import Kind
from moldau.pipeline.source.data_loss import report_data_loss
from moldau.pipeline.source.group_offsets import GroupOffsets
from moldau.pipeline.source.offset_finder import MissingPartitions, OffsetFinder
from moldau.pipeline.source.offsets import OffsetsJson, PartitionOffsets, from_json, to_json
from moldau.pipeline.source.ranges import OffsetRange, split
from moldau.pipeline.source.source_options import SourceOptions
from moldau.pipeline.source.watching import wait_for_records

if TYPE_CHECKING:
    import pyarrow as pa

# How long an answer that brings nothing new is held back.
IDLE_MS: Final = 200
# How old knowledge of topics and partitions may be: new ones are found within this time.
DISCOVERY_MS: Final = 1_000
# What stands for "the end of the logs, to be looked up": a topic without partitions cannot be an offset.
UNDECIDED: Final[OffsetsJson] = {"latest": {}}


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Spark's names; offsets are the JSON of its own Kafka connector."""

    def __init__(self, options: SourceOptions, schema: StructType) -> None:
        self._options = options
        self._schema = schema
        self._initial: OffsetsJson | None = None
        self._target: PartitionOffsets | None = None
        self._latest: PartitionOffsets = {}
        self._partitions: list[TopicPartition] = []
        self._partitions_at_ms = float("-inf")
        self._delay = Delay(options.offsets_per_trigger_min, options.trigger_delay_ms_max)
        self._group: GroupOffsets | None = None

    # -- where it is

    def initialOffset(self) -> OffsetsJson:  # noqa: N802 - Spark's name
        """Where a new query begins; asked for more than once, and the same each time."""
        if self._initial is None:
            if self._options.starting.kind is Kind.LATEST:
                self._initial = UNDECIDED
            else:
                self._initial = to_json(ask(self._options, self._start_offsets()))
        return self._initial

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - Spark's name
        if self._options.offsets_per_trigger_max is not None:
            return ReadMaxRows(self._options.offsets_per_trigger_max)
        if self._options.offsets_per_trigger_min is not None:
            return ReadMinRows(self._options.offsets_per_trigger_min)
        return ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's name
        """From now on nothing that comes is new."""
        self._target = ask(self._options, self._find_latest({}))

    def latestOffset(self, start: OffsetsJson, limit: ReadLimit) -> OffsetsJson:  # noqa: N802 - Spark's name
        """The end of the next batch; `start` itself if there is none."""
        if start == UNDECIDED:
            return to_json(self._target if self._target is not None else ask(self._options, self._start_offsets()))
        done = from_json(start)
        self._commit(done)
        end = ask(self._options, self._next_end(done, everything=isinstance(limit, ReadAllAvailable)))
        return start if end == done else to_json(end)

    def reportLatestOffset(self) -> OffsetsJson | None:  # noqa: N802 - Spark's name
        """The ends of the logs as last seen: what is missing there is the query's lag."""
        return to_json(self._latest) or None

    def commit(self, end: OffsetsJson) -> None:
        """The batch up to there is finished; as a rule `latestOffset` has committed that already."""
        if end != UNDECIDED:
            self._commit(from_json(end))

    def stop(self) -> None:
        """Nothing is left to do: the process ends, and its connections with it."""

    # -- what is read

    def partitions(self, start: OffsetsJson, end: OffsetsJson) -> list[InputPartition]:
        """A task for each range of offsets between two places."""
        if start == UNDECIDED:
            return []
        ranges = ask(self._options, self._ranges(from_json(start), from_json(end)))
        tasks = split(ranges, self._options.min_partitions, self._options.records_per_partition_max)
        return [InputPartition(each) for each in tasks]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return read_range(partition.value, self._options, self._schema)

    def __getstate__(self) -> dict[str, Any]:
        """What a task gets: only the plain parts."""
        return {**self.__dict__, "_group": None}

    # -- in the loop

    @property
    def _finder(self) -> OffsetFinder:
        return OffsetFinder(link_of(self._options).cluster, self._options)

    async def _start_offsets(self) -> PartitionOffsets:
        finder = self._finder
        try:
            partitions = await finder.partitions()
        except MissingPartitions as error:
            raise error.at_start() from error
        return await finder.resolve(self._options.starting, partitions)

    async def _next_end(self, done: PartitionOffsets, *, everything: bool) -> PartitionOffsets:
        cluster = link_of(self._options).cluster
        ends_at_ms = cluster.clock.monotonic_ms() + IDLE_MS
        while True:
            latest = self._latest = self._target if self._target is not None else await self._find_latest(done)
            end = await self._admitted(done, latest, everything=everything)
            left_ms = int(ends_at_ms - cluster.clock.monotonic_ms())
            if end != done or self._target is not None or left_ms <= 0:
                return end
            if latest == done:
                await wait_for_records(cluster, latest, left_ms)
            else:
                await asyncio.sleep(left_ms / 1000)  # there is something, but not enough

    async def _find_latest(self, done: PartitionOffsets) -> PartitionOffsets:
        clock = link_of(self._options).cluster.clock
        age_ms_max: float = DISCOVERY_MS
        for attempt in range(1, self._options.attempts + 1):
            if clock.monotonic_ms() - self._partitions_at_ms > age_ms_max:
                await self._discover(done)
                self._partitions_at_ms = clock.monotonic_ms()
            try:
                return await self._finder.latest(self._partitions, done)
            except TimedOut:
                if attempt == self._options.attempts:
                    raise
                age_ms_max = 0  # perhaps some of them are not there any more
        raise AssertionError("there is at least one attempt")

    async def _discover(self, done: PartitionOffsets) -> None:
        try:
            self._partitions = await self._finder.partitions(done)
        except MissingPartitions as error:
            if not done:
                raise error.at_start() from error
            report_data_loss(str(error), fail=self._options.fail_on_data_loss)
            self._partitions = error.found

    async def _admitted(
        self, done: PartitionOffsets, latest: PartitionOffsets, *, everything: bool
    ) -> PartitionOffsets:
        if everything:
            return latest
        if self._target is None:
            now_ms = link_of(self._options).cluster.clock.monotonic_ms()
            if self._delay.waits(new_offsets(done, latest), now_ms):
                return done
        if self._options.offsets_per_trigger_max is None:
            return latest
        added = await self._finder.earliest([each for each in latest if each not in done])
        return limited(done | added, latest, self._options.offsets_per_trigger_max)

    async def _ranges(self, start: PartitionOffsets, end: PartitionOffsets) -> list[OffsetRange]:
        fail = self._options.fail_on_data_loss
        gone = sorted(str(each) for each in start if each not in end)
        if gone:
            report_data_loss(f"{', '.join(gone)} are gone", fail=fail)
        begins = await self._finder.earliest([each for each in end if each not in start])
        for each, offset in begins.items():
            if offset:
                report_data_loss(f"Added partition {each} starts from {offset} instead of 0", fail=fail)
        ranges = []
        for each, last in end.items():
            first = start[each] if each in start else begins[each]
            if last < first:
                report_data_loss(f"The end of {each} was changed from {first} to {last}", fail=fail)
            ranges.append(OffsetRange(*each, first, last))
        return ranges

    def _commit(self, done: PartitionOffsets) -> None:
        if self._group is None:
            options = self._options
            self._group = GroupOffsets(link_of(options), options.group_id, wanted=options.commit_offsets)
        self._group.commit(done)
