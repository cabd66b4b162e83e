"""Many records at once: what numpy can read for all of them is read so, and Python only puts them together.

Record by record costs twice as much. The checks are those of `records.reader`: whatever the bytes say, what comes out
is records or `CorruptRecord`. Imported only when a consumer has read enough for the import of numpy to pay.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from itertools import chain, repeat

import numpy as np

from moldau.base.errors import CorruptRecord
from moldau.clients.consumer.consumer_record import ConsumerRecord
from moldau.records.batch import LOG_APPEND_TIME_FLAG, NO_LEADER_EPOCH, RecordBatch
from moldau.records.columns.cells import Int64s
from moldau.records.columns.decode import record_bounds
from moldau.records.columns.fields import PADDING, Fields
from moldau.records.reader import uncompressed_section
from moldau.records.varint import VARLONG_BYTES_MAX

_new_record = partial(tuple.__new__, ConsumerRecord)


def decode_together(topic: str, partition: int, batches: list[RecordBatch]) -> list[ConsumerRecord] | None:
    """The records of batches without headers; None if a record has some, since those are read one by one."""
    sections = [uncompressed_section(batch) for batch in batches]
    data = b"".join((*sections, PADDING))
    starts, ends = record_bounds(data, batches, sections)
    fields = Fields(data)
    _, at = fields.varints(starts, ends)
    timestamp_deltas, at = fields.varints(at + 1, ends, VARLONG_BYTES_MAX)
    offset_deltas, at = fields.varints(at, ends)
    key_sizes, key_at, at = fields.lengths(at, ends)
    value_sizes, value_at, at = fields.lengths(at, ends)
    header_counts, at = fields.varints(at, ends)
    if header_counts.any():
        return None
    counts = [batch.count for batch in batches]
    last_offset_deltas = np.repeat([batch.last_offset_delta for batch in batches], counts)
    if (at != ends).any() or (offset_deltas < 0).any() or (offset_deltas > last_offset_deltas).any():
        raise CorruptRecord("a record does not end where it says, or has an offset that is not its batch's")
    base_offsets = np.repeat(np.array([batch.base_offset for batch in batches], np.int64), counts)
    epochs = (None if batch.leader_epoch == NO_LEADER_EPOCH else batch.leader_epoch for batch in batches)
    rows = zip(
        repeat(topic),
        repeat(partition),
        (base_offsets + offset_deltas).tolist(),
        _timestamps(batches, counts, timestamp_deltas),
        chain.from_iterable(map(repeat, (batch.timestamp_type for batch in batches), counts)),
        _slices(data, key_at, key_sizes),
        _slices(data, value_at, value_sizes),
        repeat(()),
        chain.from_iterable(map(repeat, epochs, counts)),
        strict=False,  # constants go on for ever
    )
    return list(map(_new_record, rows))


def _timestamps(batches: Sequence[RecordBatch], counts: list[int], deltas: Int64s) -> list[int]:
    timestamps = np.repeat(np.array([batch.base_timestamp for batch in batches], np.int64), counts) + deltas
    if any(batch.attributes & LOG_APPEND_TIME_FLAG for batch in batches):
        appended = [batch.attributes & LOG_APPEND_TIME_FLAG != 0 for batch in batches]
        times = np.array([batch.max_timestamp for batch in batches], np.int64)
        timestamps = np.where(np.repeat(appended, counts), np.repeat(times, counts), timestamps)
    read: list[int] = timestamps.tolist()
    return read


def _slices(data: bytes, at: Int64s, sizes: Int64s) -> Iterable[bytes | None]:
    """The bytes of each record; sizes of -1 are null."""
    ends = (at + sizes).tolist()
    nulls = int((sizes < 0).sum())
    if nulls == len(sizes):
        return repeat(None)
    if nulls:
        return [data[start:end] if end >= start else None for start, end in zip(at.tolist(), ends, strict=True)]
    return [data[start:end] for start, end in zip(at.tolist(), ends, strict=True)]
