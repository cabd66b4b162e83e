"""`spark.read.format("moldau")`: what there is between two bounds, planned once and read by tasks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceReader, Filter, InputPartition
from pyspark.sql.types import StructType

from moldau.pipeline.source.asking import ask, link_of, read_range
from moldau.pipeline.source.filters import Narrowing
from moldau.pipeline.source.offset_finder import MissingPartitions, OffsetFinder
from moldau.pipeline.source.ranges import OffsetRange, split
from moldau.pipeline.source.source_options import SourceOptions

if TYPE_CHECKING:
    import pyarrow as pa


class BatchReader(DataSourceReader):
    """Made by the driver, which asks it for partitions; copies of it read them in tasks."""

    def __init__(self, options: SourceOptions, schema: StructType) -> None:
        self._options = options
        self._schema = schema
        self._narrowing = Narrowing()

    def partitions(self) -> list[InputPartition]:
        """A task for each range of offsets."""
        ranges = ask(self._options, self._plan())
        tasks = split(ranges, self._options.min_partitions, self._options.records_per_partition_max)
        return [InputPartition(each) for each in tasks]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Spark makes a partition without a value of none at all."""
        if partition.value is None:
            return iter(())
        return read_range(partition.value, self._options, self._schema)

    async def _plan(self) -> list[OffsetRange]:
        finder = OffsetFinder(link_of(self._options).cluster, self._options)
        options, narrowing = self._options, self._narrowing
        try:
            partitions = await finder.partitions()
        except MissingPartitions as error:
            raise error.at_start() from error
        starts = await finder.resolve(options.starting, partitions)
        ends = await finder.resolve(options.ending, partitions)
        read = [each for each in partitions if narrowing.keeps(each)]
        if narrowing.time_ms is not None:
            at = await finder.at_or_after(dict.fromkeys(read, narrowing.time_ms))
            starts = {each: max(starts[each], ends[each] if at[each] is None else at[each] or 0) for each in read}
        return [narrowing.narrow(OffsetRange(*each, starts[each], ends[each])) for each in read]


class PushingBatchReader(BatchReader):
    """The same where Spark pushes filters: a reader that merely has this method fails where it does not."""

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:  # noqa: N802 - Spark's name
        """Take what narrows the ranges; what is given back, Spark does itself."""
        return [each for each in filters if not self._narrowing.take(each)]
