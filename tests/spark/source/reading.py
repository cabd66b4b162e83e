"""The source's readers as Spark calls them, without Spark: for what does not need a JVM to be tried."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from typing import Any

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit
from pyspark.sql.types import StructField, StructType, _parse_datatype_json_string

from moldau.pipeline.datasource import MoldauDataSource
from moldau.pipeline.source.offsets import OffsetsJson
from moldau.pipeline.source.stream_reading import StreamReader
from moldau.testing.local_cluster import LocalCluster

Rows = list[dict[str, Any]]


def source(cluster: LocalCluster, **options: str) -> MoldauDataSource:
    return MoldauDataSource({"kafka.bootstrap.servers": cluster.bootstrap_servers, **options})


def schema_of(made: MoldauDataSource, wanted: str | None) -> StructType:
    """As Spark would read `name type, …`, which it does not without a JVM."""
    if wanted is None:
        return made.schema()
    fields = []
    for column in wanted.split(", "):
        name, kind, *rest = column.split()
        fields.append(StructField(name, _parse_datatype_json_string(f'"{kind}"'), nullable=not rest))
    return StructType(fields)


def read_batch(cluster: LocalCluster, schema: str | None = None, **options: str) -> Rows:
    """All rows of a batch read, in the order of partitions and offsets."""
    made = source(cluster, **options)
    reader = made.reader(schema_of(made, schema))
    rows: Rows = []
    for partition in reader.partitions():
        rows += rows_of(reader.read(partition))
    return rows


def rows_of(batches: Iterator[Any]) -> Rows:
    return [row for batch in batches for row in batch.to_pylist()]


class Stream:
    """A query that reads: its place, and batch after batch."""

    def __init__(self, cluster: LocalCluster, schema: str | None = None, **options: str) -> None:
        made = source(cluster, **options)
        self.reader = made.streamReader(schema_of(made, schema))
        assert isinstance(self.reader, StreamReader)
        self.task: DataSourceStreamReader = pickle.loads(pickle.dumps(self.reader))
        self.place: OffsetsJson = self.reader.initialOffset()

    def batch(self, limit: ReadLimit | None = None) -> Rows:
        """One batch; no rows if there is nothing new."""
        end = self.reader.latestOffset(self.place, limit or self.reader.getDefaultReadLimit())
        rows: Rows = []
        if end != self.place:
            for partition in self.partitions(end):
                rows += rows_of(self.task.read(partition))
        self.place = end
        return rows

    def all(self) -> Rows:
        return self.batch(ReadAllAvailable())

    def partitions(self, end: OffsetsJson) -> Sequence[InputPartition]:
        return self.reader.partitions(self.place, end)
