"""Batches to columns: only the lengths of the records are walked in Python, all else is read for all records at once.

The sections of all batches are put one after the other, so that many small batches cost no more than a large one.
Every check of `reader` is made here too, and what it reads is what the columns hold.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa

from moldau.base.errors import CorruptRecord
from moldau.records.batch import LOG_APPEND_TIME_FLAG, RecordBatch
from moldau.records.columns.cells import Int64s
from moldau.records.columns.fields import PADDING, Fields
from moldau.records.columns.header_lists import HEADERS_TYPE, TooManyHeaders, arrow_headers, read_header_lists
from moldau.records.compression import DECOMPRESSED_BYTES_MAX
from moldau.records.reader import RECORD_BYTES_MIN, read_section, uncompressed_section
from moldau.records.varint import VARLONG_BYTES_MAX, finish_varint

_DATA_BYTES_MAX = (1 << 31) - 1  # Arrow's positions are 32 bits
# Records that are looked at together. Offset deltas take a byte more from the 64th record on, and so do records.
_TOGETHER = 64

SCHEMA = pa.schema(
    [
        pa.field("offset", pa.int64(), nullable=False),
        pa.field("timestamp", pa.int64(), nullable=False),
        pa.field("timestamp_type", pa.int8(), nullable=False),
        pa.field("key", pa.binary()),
        pa.field("value", pa.binary()),
        pa.field("headers", HEADERS_TYPE, nullable=False),
    ]
)


def columns_from_batches(batches: Iterable[RecordBatch], limit_bytes: int = DECOMPRESSED_BYTES_MAX) -> pa.Table:
    """The records of batches whose headers have been checked; control batches are passed over.

    Timestamps are in milliseconds, `timestamp_type` is 0 for create time and 1 for log append time. `limit_bytes` is
    for all batches together.
    """
    shown = [batch for batch in batches if not batch.is_control and (batch.count or batch.records_section)]
    if not shown:
        return SCHEMA.empty_table()
    sections: list[bytes | memoryview] = []
    for batch in shown:
        sections.append(uncompressed_section(batch, limit_bytes))
        limit_bytes -= len(sections[-1])
    if sum(map(len, sections)) > _DATA_BYTES_MAX:
        raise CorruptRecord(f"the records are more than {_DATA_BYTES_MAX} bytes")
    try:
        columns = _read_fields(shown, sections)
    except TooManyHeaders:
        columns = _read_records(shown, sections)
    return pa.Table.from_arrays(columns, schema=SCHEMA)


def _read_fields(batches: list[RecordBatch], sections: Sequence[bytes | memoryview]) -> list[pa.Array]:
    data = b"".join((*sections, PADDING))
    starts, ends = record_bounds(data, batches, sections)
    fields = Fields(data)
    sizes, at = fields.varints(starts, ends)
    if (at + sizes != ends).any():
        raise CorruptRecord("a record has a negative length")
    timestamp_deltas, at = fields.varints(at + 1, ends, VARLONG_BYTES_MAX)
    offset_deltas, at = fields.varints(at, ends)
    key_sizes, key_at, at = fields.lengths(at, ends)
    value_sizes, value_at, at = fields.lengths(at, ends)
    headers, at = read_header_lists(fields, at, ends)
    if (at != ends).any():
        raise CorruptRecord("a record ends before its length says")
    counts = [batch.count for batch in batches]
    last_offset_deltas = np.repeat([batch.last_offset_delta for batch in batches], counts)
    if (offset_deltas < 0).any() or (offset_deltas > last_offset_deltas).any():
        raise CorruptRecord("a record has an offset that is not the batch's")
    log_append_time = np.repeat([batch.attributes & LOG_APPEND_TIME_FLAG != 0 for batch in batches], counts)
    timestamps = np.repeat(_int64s(batch.base_timestamp for batch in batches), counts) + timestamp_deltas
    if log_append_time.any():
        max_timestamps = np.repeat(_int64s(batch.max_timestamp for batch in batches), counts)
        timestamps = np.where(log_append_time, max_timestamps, timestamps)
    return [
        pa.array(np.repeat(_int64s(batch.base_offset for batch in batches), counts) + offset_deltas),
        pa.array(timestamps),
        pa.array(log_append_time.view(np.int8)),
        fields.binary(key_at, key_sizes),
        fields.binary(value_at, value_sizes),
        headers,
    ]


def record_bounds(
    data: bytes, batches: list[RecordBatch], sections: Sequence[bytes | memoryview]
) -> tuple[Int64s, Int64s]:
    """Where each record's length stands in the joined sections, and where the record ends."""
    positions: list[int] = []
    start = 0
    for batch, section in zip(batches, sections, strict=True):
        _walk_records(data, start, start + len(section), batch.count, positions)
        start += len(section)
    starts = np.array(positions, np.int64)
    return starts, np.append(starts[1:], start)


def _walk_records(data: bytes, position: int, end: int, count: int, positions: list[int]) -> None:
    """Add where each record's length stands; the one step that has to go from record to record.

    But for records of the same size, of which there are often many in a row: a slice with that step shows the lengths
    of all of them, and if they are equal, the records are where they were looked for.
    """
    if not 0 <= count <= (end - position) // RECORD_BYTES_MIN:
        raise CorruptRecord(f"{count} records cannot be in {end - position} bytes")
    left = count
    try:
        while left:
            together = min(left, _TOGETHER)
            left -= together
            size = _short_size(data, position)
            stop = position + size * together
            first, second = data[position : position + 1], data[position + 1 : position + 2]
            if (
                size
                and stop <= end
                and data[position:stop:size] == first * together
                and data[position + 1 : stop : size] == second * together
            ):
                positions += range(position, stop, size)
                position = stop
            else:
                position = _walk_one_by_one(data, position, together, positions)
    except IndexError:
        position = len(data)
    if position != end:
        raise CorruptRecord(f"the {count} records of a batch do not end where their bytes do")


def _short_size(data: bytes, position: int) -> int:
    """How many bytes a record takes with its length, if that has one or two bytes; else 0."""
    number = data[position]
    if number < 128:
        return 1 + (number >> 1)
    byte = data[position + 1]
    return 2 + (number - 128 >> 1) + (byte << 6) if byte < 128 else 0


def _walk_one_by_one(data: bytes, position: int, count: int, positions: list[int]) -> int:
    append = positions.append
    for _ in range(count):
        append(position)
        number = data[position]
        if number < 128:
            position += 1 + (number >> 1)
        elif (byte := data[position + 1]) < 128:
            position += 2 + (number - 128 >> 1) + (byte << 6)
        else:
            number, position = finish_varint(data, position + 1, number)
            position += number >> 1
    return position


def _read_records(batches: list[RecordBatch], sections: Sequence[bytes | memoryview]) -> list[pa.Array]:
    """The same columns by way of records, for headers that would take too many steps."""
    rows = []
    for batch, section in zip(batches, sections, strict=True):
        log_append_time = batch.max_timestamp if batch.attributes & LOG_APPEND_TIME_FLAG else None
        records = read_section(
            bytes(section),
            batch.count,
            batch.base_offset,
            batch.last_offset_delta,
            batch.base_timestamp,
            log_append_time,
        )
        rows += [
            (*record[:2], int(batch.timestamp_type), *record[2:4], arrow_headers(record.headers)) for record in records
        ]
    return [pa.array(column, field.type) for column, field in zip(zip(*rows, strict=True), SCHEMA, strict=True)]


def _int64s(numbers: Iterable[int]) -> Int64s:
    return np.array(list(numbers), np.int64)
