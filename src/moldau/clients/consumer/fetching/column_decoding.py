"""Many records at once: what numpy can read for all of them is read so, and Python only puts them together.

Record by record costs twice as much. The checks are those of `records.reader`: whatever the bytes say, what comes out
is records or `CorruptRecord`. Imported only when a consumer has read enough for the import of numpy to pay.

Records are made when they are taken, and not all at once: by then those of the poll before are mostly gone, so that the
collector sees a few hundred that are new at a time and does not think of looking at them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import repeat
from typing import Any, TypeAlias

import numpy as np

from moldau.base.collector import collector_resting
from moldau.base.errors import CorruptRecord
from moldau.clients.consumer.consumer_record import ConsumerRecord
from moldau.records.batch import LOG_APPEND_TIME_FLAG, NO_LEADER_EPOCH, RecordBatch
from moldau.records.columns.cells import Int64s
from moldau.records.columns.decode import record_bounds
from moldau.records.columns.fields import PADDING, Fields
from moldau.records.reader import uncompressed_section
from moldau.records.varint import VARLONG_BYTES_MAX

_new_record = partial(tuple.__new__, ConsumerRecord)

# What some rows have in one field; of constants there is no end.
Column: TypeAlias = Callable[[slice], Iterable[Any]]


class DecodedTogether:
    """Records whose fields are known. A slice of it is a list of them."""

    __slots__ = ("_columns", "_count")

    def __init__(self, count: int, columns: Sequence[Column]) -> None:
        self._count = count
        self._columns = columns

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, rows: slice) -> list[ConsumerRecord]:
        with collector_resting():
            return list(map(_new_record, zip(*[column(rows) for column in self._columns], strict=False)))


def decode_together(topic: str, partition: int, batches: list[RecordBatch]) -> DecodedTogether | None:
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
    epochs = [None if batch.leader_epoch == NO_LEADER_EPOCH else batch.leader_epoch for batch in batches]
    columns = (
        _constant(topic),
        _constant(partition),
        (base_offsets + offset_deltas).tolist().__getitem__,
        _timestamps(batches, counts, timestamp_deltas).__getitem__,
        _of_batches([batch.timestamp_type for batch in batches], counts),
        _bytes(data, key_at, key_sizes),
        _bytes(data, value_at, value_sizes),
        _constant(()),
        _of_batches(epochs, counts),
    )
    return DecodedTogether(len(starts), columns)


def _constant(value: object) -> Column:
    return lambda _rows: repeat(value)


def _of_batches(values: list[Any], counts: list[int]) -> Column:
    """What all records of a batch have; mostly those of all batches have the same."""
    first = values[0]
    if values.count(first) == len(values):
        return _constant(first)
    each: list[Any] = []
    for value, count in zip(values, counts, strict=True):
        each += [value] * count
    return each.__getitem__


def _timestamps(batches: Sequence[RecordBatch], counts: list[int], deltas: Int64s) -> list[int]:
    timestamps = np.repeat(np.array([batch.base_timestamp for batch in batches], np.int64), counts) + deltas
    if any(batch.attributes & LOG_APPEND_TIME_FLAG for batch in batches):
        appended = [batch.attributes & LOG_APPEND_TIME_FLAG != 0 for batch in batches]
        times = np.array([batch.max_timestamp for batch in batches], np.int64)
        timestamps = np.where(np.repeat(appended, counts), np.repeat(times, counts), timestamps)
    read: list[int] = timestamps.tolist()
    return read


def _bytes(data: bytes, at: Int64s, sizes: Int64s) -> Column:
    """The bytes of each record; sizes of -1 are null."""
    nulls = int((sizes < 0).sum())
    if nulls == len(sizes):
        return _constant(None)
    return partial(_some_slices if nulls else _slices, data, at.tolist(), (at + sizes).tolist())


def _slices(data: bytes, starts: list[int], ends: list[int], rows: slice) -> list[bytes]:
    return [data[start:end] for start, end in zip(starts[rows], ends[rows], strict=True)]


def _some_slices(data: bytes, starts: list[int], ends: list[int], rows: slice) -> list[bytes | None]:
    return [data[start:end] if end >= start else None for start, end in zip(starts[rows], ends[rows], strict=True)]
