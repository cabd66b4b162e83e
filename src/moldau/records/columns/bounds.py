"""Where each record begins and ends: the one thing that has to be read from record to record.

But for records of the same size, of which there are often many in a row: looking where they would be shows the lengths
of all of them, and if they are equal, the records are where they were looked for. Small batches are looked at together,
the records of larger ones some at a time, since an offset delta takes a byte more from the 64th record on.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from moldau.base.errors import CorruptRecord
from moldau.records.columns.batches import Batches
from moldau.records.columns.cells import Int64s
from moldau.records.columns.fields import Fields
from moldau.records.varint import finish_varint

_TOGETHER = 64


def record_bounds(batches: Batches, counts: Int64s, fields: Fields) -> tuple[Int64s, Int64s]:
    """Where each record's length stands in the batches' data, and where the record ends."""
    ends_of_rows = np.cumsum(counts)
    first_rows = ends_of_rows - counts
    starts, are_known = _starts_of_equal_records(batches, counts, first_rows, fields)
    for index in np.flatnonzero(~are_known).tolist():
        start, end = int(batches.starts[index]), int(batches.ends[index])
        positions = _walk(bytes(batches.data[start:end]), int(counts[index]))
        starts[first_rows[index] : ends_of_rows[index]] = np.array(positions, np.int64) + start
    ends = np.empty_like(starts)
    ends[:-1] = starts[1:]
    have_records = counts > 0
    ends[ends_of_rows[have_records] - 1] = batches.ends[have_records]
    return starts, ends


def _starts_of_equal_records(
    batches: Batches, counts: Int64s, first_rows: Int64s, fields: Fields
) -> tuple[Int64s, NDArray[np.bool_]]:
    """Where records begin if those of a batch have the size of its first, and of which batches that is so."""
    words = fields.words(batches.starts)
    first, second = words & 255, words >> 8 & 255
    is_long = first > 127
    lengths = np.where(is_long, first & 127 | second << 7, first)
    sizes = (lengths >> 1).view(np.int64) + 1 + is_long
    are_known = (batches.starts + sizes * counts == batches.ends) & ~(is_long & (second > 127))
    sizes[~are_known] = 0  # nothing is looked for where it may be outside of the batch
    rows = np.arange(int(first_rows[-1] + counts[-1]))
    starts = np.repeat(batches.starts - first_rows * sizes, counts) + rows * np.repeat(sizes, counts)
    masks = np.where(is_long, np.uint64(0xFFFF), np.uint64(0xFF))
    are_equal = fields.words(starts) & np.repeat(masks, counts) == np.repeat(words & masks, counts)
    if not are_equal.all():
        are_known[np.searchsorted(first_rows, np.flatnonzero(~are_equal), "right") - 1] = False
    return starts, are_known


def _walk(data: bytes, count: int) -> list[int]:
    """Where each record's length stands in the records of one batch."""
    positions: list[int] = []
    position, end, left = 0, len(data), count
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
        position = -1
    if position != end:
        raise CorruptRecord(f"the {count} records of a batch do not end where their bytes do")
    return positions


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
