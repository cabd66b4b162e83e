"""Varints of a whole column at once.

A cell is what stands in front of a key or a value in a record: a few varints, at most 12 bytes. Arrow's binary view
stores values of up to 12 bytes in place, as a length and the bytes. So cells are put together as integers with
shifts and ors, and become a column by being called binary views; no byte is moved on its own.

Most columns have varints of one size: deltas of a few milliseconds, keys of ten bytes. Sizes are then one number
instead of a column, and so are the shifts.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Int64s: TypeAlias = NDArray[np.int64]

_CELL_BYTES_MAX = 12
_WORD_BYTES = 8  # enough for every length, and for timestamps that are a million years apart
_CELL = np.dtype([("size", "<u4"), ("low", "<i8"), ("high", "<u4")])


class TooLargeForCells(Exception):
    """Some number needs more bytes than a word or cell has; such records are encoded one by one."""


class Varints(NamedTuple):
    """The encodings of a column of numbers: their bytes as little-endian integers, and how many they are."""

    words: Int64s | int
    sizes: Int64s | int
    size_max: int


class Gaps(NamedTuple):
    """Rows of a cell column that leave `size` bytes free after their first `after` bytes."""

    rows: Int64s
    after: int
    size: int


ZERO_BYTE = Varints(0, 1, 1)


def varint_size(number: int) -> int:
    """How many bytes a varint of this number has."""
    return max(1, -(-((number << 1) ^ (number >> 63)).bit_length() // 7))


def varints(numbers: Int64s) -> Varints:
    """The varint of each number; those of at most two bytes, which are nearly all, come from a table."""
    smallest, largest = int(numbers.min()), int(numbers.max())
    size_max = max(varint_size(smallest), varint_size(largest))
    zigzag = numbers << 1 if smallest >= 0 else (numbers << 1) ^ (numbers >> 63)
    if size_max == 1:
        return Varints(zigzag, 1, 1)
    if size_max == 2:
        words, sizes = _TWO_BYTE_WORDS.take(zigzag, mode="clip"), (zigzag > 127) + 1
    else:
        words, sizes = _words_and_sizes(zigzag, size_max)
    return Varints(words, size_max if smallest >= 0 and varint_size(smallest) == size_max else sizes, size_max)


def _words_and_sizes(zigzag: Int64s, size_max: int) -> tuple[Int64s, Int64s]:
    if size_max > _WORD_BYTES:
        raise TooLargeForCells
    words = zigzag & 127
    sizes = np.ones(len(zigzag), np.int64)
    for index in range(1, size_max):
        rest = zigzag >> 7 * index
        more = (rest > 0).astype(np.int64)
        words |= (rest & 127) << 8 * index | more << 8 * index - 1
        sizes += more
    return words, sizes


_TWO_BYTE_WORDS, _ = _words_and_sizes(np.arange(1 << 14), 2)


def cell_column(rows: int, *fields: Varints, gaps: Gaps | None = None) -> pa.BinaryArray:
    """A column whose rows are the fields' bytes one after the other."""
    low = np.zeros(rows, np.int64)
    high: Int64s | int = 0
    size: Int64s | int = 0
    size_max = 0
    for words, sizes, field_size_max in fields:
        if size_max + field_size_max > _WORD_BYTES:
            high = high | _high_word(words, size)
        low |= words << (size << 3)  # numpy shifts by 64 and more to 0
        size = size + sizes
        size_max += field_size_max
    if size_max > _CELL_BYTES_MAX and int(np.max(size)) > _CELL_BYTES_MAX:
        raise TooLargeForCells
    if gaps is None and isinstance(size, int) and size in (1, 2, 4):
        return _column_of_one_size(low, size)
    cells = np.empty(rows, _CELL)
    cells["size"], cells["low"], cells["high"] = size, low, high
    buffers = [None, pa.py_buffer(cells)]
    if gaps is not None:
        buffers.append(pa.py_buffer(_open_gaps(cells, gaps)))
    return pa.Array.from_buffers(pa.binary_view(), rows, buffers).cast(pa.binary())


def _column_of_one_size(words: Int64s, size: int) -> pa.BinaryArray:
    data = words.astype(f"<u{size}")
    offsets = np.arange(0, size * (len(words) + 1), size, dtype=np.int32)
    return pa.Array.from_buffers(pa.binary(), len(words), [None, pa.py_buffer(offsets), pa.py_buffer(data)])


def _open_gaps(cells: NDArray[np.void], gaps: Gaps) -> NDArray[np.uint8]:
    """Replace the cells of some rows by longer ones, which lie in the buffer that is returned."""
    inline = cells.view(np.uint8).reshape(len(cells), 4 + _CELL_BYTES_MAX)[gaps.rows, 4:]
    longer = np.zeros((len(gaps.rows), _CELL_BYTES_MAX + gaps.size), np.uint8)
    longer[:, : gaps.after] = inline[:, : gaps.after]
    longer[:, gaps.after + gaps.size :] = inline[:, gaps.after :]
    views = np.zeros((len(gaps.rows), 4), np.int32)  # size, the first four bytes, which buffer, where in it
    views[:, 0] = cells["size"][gaps.rows] + gaps.size
    views[:, 1] = longer[:, :4].copy().view(np.int32)[:, 0]
    views[:, 3] = np.arange(len(gaps.rows)) * longer.shape[1]
    cells[gaps.rows] = views.view(_CELL)[:, 0]
    return longer


def _high_word(words: Int64s | int, size: Int64s | int) -> Int64s:
    """What of a field, put after `size` bytes, lies beyond the low word."""
    bits = np.asarray(size, np.int64) * 8
    high: Int64s = np.where(bits < 64, words >> np.clip(64 - bits, 0, 63), words << np.maximum(bits - 64, 0))
    return high
