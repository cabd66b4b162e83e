"""Fetched batches to the RecordBatches that Spark takes, without a Python object for any record.

Spark compares Arrow types to the letter with those that it would make of the schema itself, so they are taken from
there: timestamps in microseconds of UTC, 32 bits for small numbers, plain strings for the topic.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from moldau.base.errors import CorruptRecord
from moldau.clients.consumer.consumer_record import ConsumerRecord
from moldau.clients.consumer.fetching.completed_fetch import CompletedFetch
from moldau.pipeline.source.ranges import OffsetRange
from moldau.records.columns import SCHEMA, columns_from_batches
from moldau.records.columns.header_lists import arrow_headers

# Records that are decoded at once, and what they may have in bytes, unless a batch alone has more: compressed ones
# unfold to many times their size. How large they are is known from those before.
DECODED_RECORDS: Final = 16_384
DECODED_BYTES: Final = 16 << 20
FIRST_RECORDS: Final = 2_048
# Rows that Spark gets at once.
ROWS_MAX: Final = 50_000

_MICROSECONDS: Final = pa.timestamp("us", tz="UTC")
_MS_MAX: Final = ((1 << 63) - 1) // 1000


class SparkColumns:
    """The columns of one range of offsets, in the order of a schema."""

    def __init__(self, schema: StructType, of: OffsetRange) -> None:
        self._schema = to_arrow_schema(schema, timezone="UTC")
        self._of = of
        self._columns = [self._column(field) for field in self._schema]
        self._records = FIRST_RECORDS

    def batches(self, fetch: CompletedFetch) -> Iterator[pa.RecordBatch]:
        """What of a fetch is shown and within the range, some thousand rows at a time."""
        while not fetch.exhausted:
            table = self._within(self._decoded(fetch))
            for start in range(0, table.num_rows, ROWS_MAX):
                piece = table.slice(start, ROWS_MAX)
                yield pa.RecordBatch.from_arrays([column(piece) for column in self._columns], schema=self._schema)

    def _decoded(self, fetch: CompletedFetch) -> pa.Table:
        batches = fetch.take_batches(self._records)
        if not batches and not fetch.exhausted:
            return _table_of(fetch.take(self._records))  # a format from before Kafka 0.11
        try:
            table = columns_from_batches(batches)
        except CorruptRecord as error:
            place = f"{self._of.of} between offsets {batches[0].base_offset} and {batches[-1].last_offset}"
            raise CorruptRecord(f"{error.message} ({place})", error.code) from error
        if table.num_rows:
            self._records = max(1, min(DECODED_RECORDS, DECODED_BYTES * table.num_rows // max(1, table.nbytes)))
        return table

    def _within(self, table: pa.Table) -> pa.Table:
        if not table.num_rows:
            return table
        offsets = table["offset"].to_numpy()
        if self._of.start <= offsets[0] and offsets[-1] < self._of.end:
            return table
        first, end = np.searchsorted(offsets, [self._of.start, self._of.end])
        return table.slice(first, max(0, end - first))

    def _column(self, field: pa.Field) -> Callable[[pa.Table], pa.Array]:
        topic, partition = pa.scalar(self._of.topic), pa.scalar(self._of.partition, pa.int32())
        columns: dict[str, Callable[[pa.Table], pa.Array]] = {
            "topic": lambda table: pa.repeat(topic, table.num_rows),
            "partition": lambda table: pa.repeat(partition, table.num_rows),
            "timestamp": lambda table: _microseconds(table["timestamp"].to_numpy()),
            "timestampType": lambda table: _only_chunk(table["timestamp_type"]).cast(pa.int32()),
            "headers": lambda table: _nullable_headers(_only_chunk(table["headers"]), field.type),
        }
        return columns.get(field.name, lambda table: _only_chunk(table[field.name]))


def _only_chunk(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _microseconds(milliseconds: NDArray[np.int64]) -> pa.Array:
    """A time that does not fit becomes the last, or first, that does: one wild record does not end a query."""
    if len(milliseconds) and (milliseconds.max() > _MS_MAX or milliseconds.min() < -_MS_MAX):
        milliseconds = np.clip(milliseconds, -_MS_MAX, _MS_MAX)
    data = pa.py_buffer(milliseconds * 1000)
    return pa.Array.from_buffers(_MICROSECONDS, len(milliseconds), [None, data])


def _nullable_headers(headers: pa.ListArray, kind: pa.DataType) -> pa.Array:
    """None instead of an empty list, as Spark's own connector has it."""
    lists = headers.cast(kind)
    empty = pc.equal(pc.list_value_length(lists), 0)
    return pc.if_else(empty, pa.scalar(None, kind), lists) if pc.any(empty).as_py() else lists


def _table_of(records: list[ConsumerRecord]) -> pa.Table:
    rows = [
        (each.offset, each.timestamp, int(each.timestamp_type), each.key, each.value, arrow_headers(each.headers))
        for each in records
    ]
    columns = zip(*rows, strict=True) if rows else [()] * len(SCHEMA)
    return pa.Table.from_arrays(
        [pa.array(column, field.type) for column, field in zip(columns, SCHEMA, strict=True)], schema=SCHEMA
    )
