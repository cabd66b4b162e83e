"""Columns to batches: Arrow's own join writes the records of many batches in one call.

    cell: record length, attributes, timestamp delta, offset delta, key length | key | cell: value length | value

Joined row by row, these four columns are the records, and the data buffer of the joined column holds one batch after
the other. The first cell of a batch has a gap for the batch's header, so what leaves here uncompressed has been copied
once. The count of headers, zero in a record without any, is the last byte of a record; it is written as the
first byte of the next one, which saves a column. Where there are headers, they are that column.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from moldau.records.batch import HEADER_BYTES, NO_PRODUCER, NO_SEQUENCE, TRANSACTIONAL_FLAG, Producer, add_to_sequence
from moldau.records.builder import encode_records, write_header
from moldau.records.columns.cells import ZERO_BYTE, Gaps, Int64s, TooLargeForCells, cell_column, varint_size, varints
from moldau.records.columns.header_lists import HeaderLists
from moldau.records.columns.payload import SEPARATOR, as_binary, lengths, payload
from moldau.records.compression import CompressionType, compress
from moldau.records.record import NO_TIMESTAMP, Headers

BATCH_BYTES = 1 << 20
# How much is joined in one call: enough for the calls not to count, and so little that it stays in the caches.
_JOIN_ROWS = 8192
_JOIN_BYTES = 4 << 20
_NO_HEADERS = pa.scalar(b"\0", pa.binary())


class HeadlessBatch(NamedTuple):
    """A batch with room for its header, and what of that follows from its records."""

    data: memoryview
    rows: int
    base_timestamp: int
    max_timestamp: int


def batches_from_columns(
    columns: pa.Table | pa.RecordBatch,
    compression_type: CompressionType = CompressionType.NONE,
    level: int | None = None,
    *,
    timestamp_ms: int = NO_TIMESTAMP,
    batch_bytes: int = BATCH_BYTES,
    producer: Producer = NO_PRODUCER,
    transactional: bool = False,
) -> Iterator[memoryview]:
    """The rows as `headless_batches` with their headers; the batches follow each other in the producer's sequence."""
    headless = headless_batches(columns, compression_type, level, timestamp_ms=timestamp_ms, batch_bytes=batch_bytes)
    attributes = compression_type | (TRANSACTIONAL_FLAG if transactional else 0)
    return _with_headers(headless, attributes, producer)


def headless_batches(
    columns: pa.Table | pa.RecordBatch,
    compression_type: CompressionType = CompressionType.NONE,
    level: int | None = None,
    *,
    timestamp_ms: int = NO_TIMESTAMP,
    batch_bytes: int = BATCH_BYTES,
) -> Iterator[HeadlessBatch]:
    """The rows as batches of at most `batch_bytes` before compression, unless a row alone is larger.

    They are made as they are taken, some at a time; but what is wrong with the columns is said before the first.

    Columns: `value` (binary or string); if there are any, `key` (the same), `timestamp` (int64 in milliseconds, or
    a timestamp) and `headers` (lists of structs of a string `key` and a binary `value`). Rows without a
    timestamp get `timestamp_ms`.
    """
    table = pa.Table.from_batches([columns]) if isinstance(columns, pa.RecordBatch) else columns
    pieces = [_Rows(piece, timestamp_ms) for piece in table.combine_chunks().to_batches()]
    return _headless(pieces, compression_type, level, batch_bytes)


def _headless(
    pieces: Iterable[_Rows], compression_type: CompressionType, level: int | None, batch_bytes: int
) -> Iterator[HeadlessBatch]:
    for rows in pieces:
        for starts in rows.cut(batch_bytes - HEADER_BYTES):
            max_timestamps = np.maximum.reduceat(rows.timestamps[: starts[-1]], starts[:-1])
            for index, batch in enumerate(rows.batches(starts)):
                if compression_type is not CompressionType.NONE:
                    section = compress(compression_type, bytes(batch[HEADER_BYTES:]), level)
                    batch = memoryview(bytearray().join((bytes(HEADER_BYTES), section)))
                start, count = starts[index], int(starts[index + 1] - starts[index])
                yield HeadlessBatch(batch, count, int(rows.timestamps[start]), int(max_timestamps[index]))


def _with_headers(headless: Iterable[HeadlessBatch], attributes: int, producer: Producer) -> Iterator[memoryview]:
    for data, count, base_timestamp, max_timestamp in headless:
        write_header(data, attributes, count, base_timestamp, max_timestamp, producer)
        yield data
        if producer.base_sequence != NO_SEQUENCE:
            producer = producer._replace(base_sequence=add_to_sequence(producer.base_sequence, count))


class _Rows:
    """Columns of equal length, and the sizes from which the records' sizes follow."""

    def __init__(self, columns: pa.RecordBatch, timestamp_ms: int) -> None:
        names = columns.schema.names
        self.count: int = columns.num_rows
        self.timestamps = _timestamps(columns, timestamp_ms)
        self.value = columns.column("value")
        self.key = columns.column("key") if "key" in names else pa.nulls(self.count, pa.binary())
        self.headers = HeaderLists(columns.column("headers")) if "headers" in names else None
        self.value_sizes = lengths(self.value)
        self.key_sizes = lengths(self.key)
        self.keyless: bool = self.key.null_count == self.count

    def cut(self, limit_bytes: int) -> Iterator[Int64s]:
        """Where batches start, and after the last of them where it ends: for as many as one join takes."""
        if not self.count:
            return
        # One bound for the bytes around keys and values is good enough to fill batches.
        value_size, key_size = int(self.value_sizes.max()), int(self.key_sizes.max())
        span = int(self.timestamps.max()) - int(self.timestamps.min())
        overhead = 4 + sum(
            varint_size(number) for number in (value_size, key_size, self.count, span, value_size + key_size + 64)
        )
        ends = np.add(self.value_sizes, self.key_sizes, dtype=np.int64)
        ends += overhead if self.headers is None else overhead + self.headers.sizes
        np.cumsum(ends, out=ends)
        starts = [0]
        end_bytes = joined_bytes = 0
        while starts[-1] < self.count:
            end = max(int(np.searchsorted(ends, end_bytes + limit_bytes, "right")), starts[-1] + 1)
            end_bytes = int(ends[end - 1])
            if len(starts) > 1 and (end - starts[0] > _JOIN_ROWS or end_bytes - joined_bytes > _JOIN_BYTES):
                yield np.array(starts)
                joined_bytes = int(ends[starts[-1] - 1])
                starts = starts[-1:]
            starts.append(end)
        yield np.array(starts)

    def batches(self, starts: Int64s) -> list[memoryview]:
        """The batches that start there, not compressed, with room for their headers."""
        try:
            return self._joined_batches(starts)
        except TooLargeForCells:
            return self._encoded_batches(starts)

    def _joined_batches(self, starts: Int64s) -> list[memoryview]:
        start, end = int(starts[0]), int(starts[-1])
        # The zero that ends a record is the first byte of the next row, if there is one to be joined with the others.
        shift = 1 if self.headers is None and end < self.count else 0
        rows = end + shift - start
        first_row = np.repeat(starts, np.diff(starts, append=end + shift))
        offset = varints(np.arange(start, start + rows, dtype=np.int64) - first_row)
        timestamp = varints(self.timestamps[start : start + rows] - self.timestamps[first_row])
        key_sizes = self.key_sizes[start : start + rows].astype(np.int64)
        value_sizes = self.value_sizes[start : start + rows].astype(np.int64)
        key_length, value_length = varints(key_sizes), varints(value_sizes)
        body_sizes: Int64s = np.maximum(value_sizes, 0) + 1
        body_sizes += 1 if self.headers is None else self.headers.sizes[start:end]
        if not self.keyless:
            body_sizes += np.maximum(key_sizes, 0)
        for part in (timestamp, offset, key_length, value_length):
            body_sizes += part.sizes
        front = [varints(body_sizes), ZERO_BYTE, timestamp, offset, key_length]
        if shift:
            front.insert(0, ZERO_BYTE)
        gaps = Gaps(starts[:-1] - start, shift, HEADER_BYTES)
        if self.keyless:
            pieces = [cell_column(rows, *front, value_length, gaps=gaps)]
        else:
            pieces = [cell_column(rows, *front, gaps=gaps), payload(self.key, start, rows)]
            pieces.append(cell_column(rows, value_length))
        pieces.append(payload(self.value, start, rows))
        if self.headers is not None:
            pieces += self.headers.columns(start, rows)
        elif not shift:
            pieces.append(_NO_HEADERS)
        return _cut_column(pc.binary_join_element_wise(*pieces, SEPARATOR), starts - start, shift)

    def _encoded_batches(self, starts: Int64s) -> list[memoryview]:
        start, end = int(starts[0]), int(starts[-1])
        keys, values = (as_binary(column.slice(start, end - start)) for column in (self.key, self.value))
        headers: list[Headers] = [()] * (end - start)
        if self.headers is not None:
            headers = self.headers.rows(start, end - start)
        times = self.timestamps[start:end].tolist()
        records = list(zip(range(start, end), times, keys.to_pylist(), values.to_pylist(), headers, strict=True))
        batches = []
        for first, last in pairwise(starts.tolist()):
            section = encode_records(records[first - start : last - start], first, times[first - start])
            batches.append(memoryview(bytearray(HEADER_BYTES) + section))
        return batches


def _cut_column(joined: pa.BinaryArray, starts: Int64s, shift: int) -> list[memoryview]:
    """The data of a joined column, cut `shift` bytes after the rows' starts; it is ours, so it may be written to."""
    _, offsets, data = joined.buffers()
    view = memoryview(data).cast("B")
    at = np.frombuffer(offsets, np.int32)[starts] + shift
    return [view[start:end] for start, end in pairwise(at.tolist())]


def _timestamps(columns: pa.RecordBatch, timestamp_ms: int) -> Int64s:
    if "timestamp" not in columns.schema.names:
        return np.full(columns.num_rows, timestamp_ms, np.int64)
    column = columns.column("timestamp")
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.timestamp("ms", column.type.tz), safe=False)
    column = column.cast(pa.int64())
    return np.asarray(pc.fill_null(column, timestamp_ms) if column.null_count else column, np.int64)
