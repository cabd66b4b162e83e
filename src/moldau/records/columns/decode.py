"""Batches to columns: only the lengths of the records are walked, all else is read for all records at once.

The records of all batches are read together, so that many small batches cost no more than a large one. Every check of
`reader` is made here too, and what it reads is what the columns hold.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from moldau.base.errors import CorruptRecord
from moldau.records.batch import LOG_APPEND_TIME_FLAG, RecordBatch
from moldau.records.columns.batches import Batches
from moldau.records.columns.bounds import record_bounds
from moldau.records.columns.cells import Int64s
from moldau.records.columns.fields import Fields
from moldau.records.columns.header_lists import HEADERS_TYPE, TooManyHeaders, arrow_headers, read_header_lists
from moldau.records.compression import DECOMPRESSED_BYTES_MAX
from moldau.records.reader import read_section
from moldau.records.varint import VARLONG_BYTES_MAX

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


class RecordFields(NamedTuple):
    """What many records have, and where the rest of them is."""

    counts: Int64s  # of each batch, how many of them are its records
    offsets: Int64s
    timestamps: Int64s
    key_sizes: Int64s
    key_at: Int64s
    value_sizes: Int64s
    value_at: Int64s
    headers_at: Int64s
    ends: Int64s


def columns_from_batches(batches: Iterable[RecordBatch], limit_bytes: int = DECOMPRESSED_BYTES_MAX) -> pa.Table:
    """The records of batches whose headers have been checked; control batches are passed over.

    Timestamps are in milliseconds, `timestamp_type` is 0 for create time and 1 for log append time. `limit_bytes` is
    for all batches together.
    """
    return pa.Table.from_batches([record_columns(Batches.of(list(batches)), limit_bytes)])


def record_columns(batches: Batches, limit_bytes: int = DECOMPRESSED_BYTES_MAX) -> pa.RecordBatch:
    """The same of batches that are known together."""
    shown = batches.shown().unfolded(limit_bytes)
    if not len(shown.headers):
        return pa.RecordBatch.from_pylist([], SCHEMA)
    fields = Fields(shown.data)
    read = read_fields(shown, fields)
    try:
        headers, at = read_header_lists(fields, read.headers_at, read.ends)
    except TooManyHeaders:
        return _read_records(shown)
    if (at != read.ends).any():
        raise CorruptRecord("a record ends before its length says")
    columns = [
        pa.array(read.offsets),
        pa.array(read.timestamps),
        pa.array(np.repeat(shown.has_flag(LOG_APPEND_TIME_FLAG).view(np.int8), read.counts)),
        fields.binary(read.key_at, read.key_sizes),
        fields.binary(read.value_at, read.value_sizes),
        headers,
    ]
    return pa.RecordBatch.from_arrays(columns, schema=SCHEMA)


def read_fields(batches: Batches, fields: Fields) -> RecordFields:
    """All but the headers of the records of batches that are unfolded."""
    counts = batches.counts()
    starts, ends = record_bounds(batches, counts, fields)
    sizes, at = fields.varints(starts, ends)
    if (at + sizes != ends).any():
        raise CorruptRecord("a record has a negative length")
    timestamp_deltas, at = fields.varints(at + 1, ends, VARLONG_BYTES_MAX)
    offset_deltas, at = fields.varints(at, ends)
    key_sizes, key_at, at = fields.lengths(at, ends)
    value_sizes, value_at, at = fields.lengths(at, ends)
    offsets = batches.offsets(offset_deltas, counts)
    timestamps = batches.timestamps(timestamp_deltas, counts)
    return RecordFields(counts, offsets, timestamps, key_sizes, key_at, value_sizes, value_at, at, ends)


def _read_records(batches: Batches) -> pa.RecordBatch:
    """The same columns by way of records, for headers that would take too many steps."""
    rows = []
    for header, start, end in zip(batches.headers, batches.starts.tolist(), batches.ends.tolist(), strict=True):
        batch = RecordBatch(header.tobytes())
        log_append_time = batch.max_timestamp if batch.attributes & LOG_APPEND_TIME_FLAG else None
        records = read_section(
            bytes(batches.data[start:end]),
            batch.count,
            batch.base_offset,
            batch.last_offset_delta,
            batch.base_timestamp,
            log_append_time,
        )
        rows += [
            (*record[:2], int(batch.timestamp_type), *record[2:4], arrow_headers(record.headers)) for record in records
        ]
    columns = [pa.array(column, field.type) for column, field in zip(zip(*rows, strict=True), SCHEMA, strict=True)]
    return pa.RecordBatch.from_arrays(columns, schema=SCHEMA)
