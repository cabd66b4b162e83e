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

from moldau.base.collector import collector_resting
from moldau.base.errors import CorruptRecord
from moldau.clients.consumer.consumer_record import ConsumerRecord
from moldau.records.batch import NO_LEADER_EPOCH, RecordBatch
from moldau.records.columns.batches import Batches
from moldau.records.columns.cells import Int64s
from moldau.records.columns.decode import read_fields
from moldau.records.columns.fields import Fields
from moldau.records.compression import DECOMPRESSED_BYTES_MAX

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
    together = Batches.of(batches).unfolded(DECOMPRESSED_BYTES_MAX)
    fields = Fields(together.data)
    read = read_fields(together, fields)
    header_counts, at = fields.varints(read.headers_at, read.ends)
    if header_counts.any():
        return None
    if (at != read.ends).any():
        raise CorruptRecord("a record does not end where it says")
    data = bytes(together.data)
    counts = read.counts.tolist()
    epochs = [None if batch.leader_epoch == NO_LEADER_EPOCH else batch.leader_epoch for batch in batches]
    columns = (
        _constant(topic),
        _constant(partition),
        read.offsets.tolist().__getitem__,
        read.timestamps.tolist().__getitem__,
        _of_batches([batch.timestamp_type for batch in batches], counts),
        _bytes(data, read.key_at, read.key_sizes),
        _bytes(data, read.value_at, read.value_sizes),
        _constant(()),
        _of_batches(epochs, counts),
    )
    return DecodedTogether(len(read.offsets), columns)


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
