"""Reading fields at many positions of foreign bytes at once.

The records are followed by padding: other bytes, whatever they are. Where something is read, the position is at most
the end of its record, which is checked after every step, and the longest read is shorter than the padding. So whatever
the bytes say, nothing outside them is touched, and Arrow is shown no position that has not been checked.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from moldau.base.errors import CorruptRecord
from moldau.records.columns.cells import Int64s
from moldau.records.varint import VARINT_BYTES_MAX

PADDING = bytes(16)
_INT64_MAX = (1 << 63) - 1
_INLINE_BYTES_MAX = 12
_VIEW = np.dtype([("size", "<u4"), ("low", "<u8"), ("high", "<u4")])
# Which bits of its first eight bytes and of its next four belong to a value of 0 to 12 bytes.
_LOW_MASKS = np.array([(1 << 8 * min(size, 8)) - 1 for size in range(_INLINE_BYTES_MAX + 1)], np.uint64)
_HIGH_MASKS = np.array([(1 << 8 * max(size - 8, 0)) - 1 for size in range(_INLINE_BYTES_MAX + 1)], np.uint64)
_PREFIX_MASK = 0xFFFFFFFF


class Fields:
    """The bytes of many records, with padding."""

    def __init__(self, data: bytes | memoryview) -> None:
        self._buffer = pa.py_buffer(data)
        self._bytes = np.frombuffer(data, np.uint8)
        # The eight bytes from each position on, as one integer.
        self._words: NDArray[np.uint64] = np.ndarray((len(data) - 7,), "<u8", data, strides=(1,))

    def words(self, at: Int64s) -> NDArray[np.uint64]:
        """The eight bytes from each position on, the first as the lowest."""
        return self._words[at]

    def varints(self, at: Int64s, ends: Int64s, bytes_max: int = VARINT_BYTES_MAX) -> tuple[Int64s, Int64s]:
        """The signed numbers at the positions and the positions after them, which are not beyond the ends.

        Mostly they are all of one byte, or all of two.
        """
        first = self._bytes[at]
        at = at + 1
        if not len(first) or first.max() <= 127:
            numbers = first.astype(np.int64)
        elif first.min() > 127 and (second := self._bytes[at]).max() <= 127:
            numbers = first & 127 | second.astype(np.int64) << 7
            at += 1
        else:
            numbers = self._longer_numbers(first, at, bytes_max)
        _check_within(at, ends)
        return numbers >> 1 & _INT64_MAX ^ -(numbers & 1), at

    def _longer_numbers(self, first: NDArray[np.uint8], at: Int64s, bytes_max: int) -> Int64s:
        """The numbers whose first bytes these are, unsigned; moves the positions behind them."""
        numbers = first.astype(np.uint64)
        more = np.flatnonzero(first > 127)
        numbers[more] &= 127
        shift = 7
        while len(more):
            byte = self._bytes[at[more]].astype(np.uint64)
            if shift == 7 * (bytes_max - 1) and (byte > (15 if bytes_max == VARINT_BYTES_MAX else 1)).any():
                raise CorruptRecord(f"a variable-length integer does not end within {bytes_max} bytes")
            numbers[more] |= (byte & 127) << shift
            at[more] += 1
            more = more[byte > 127]
            shift += 7
        return numbers.view(np.int64)

    def lengths(self, at: Int64s, ends: Int64s, smallest: int = -1) -> tuple[Int64s, Int64s, Int64s]:
        """Lengths of bytes (-1 is null), where the bytes begin, and the positions after them."""
        sizes, start = self.varints(at, ends)
        if len(sizes) and int(sizes.min()) < smallest:
            raise CorruptRecord(f"a length is {int(sizes.min())}")
        end = start + np.maximum(sizes, 0)
        _check_within(end, ends)
        return sizes, start, end

    def binary(self, start: Int64s, sizes: Int64s) -> pa.BinaryArray:
        """The column of the bytes that begin there and have these lengths, as checked by `lengths`.

        They are described to Arrow as binary views, up to 12 bytes in place and longer ones by their first four
        bytes and position, and copied by its cast.
        """
        if len(sizes) and int(sizes.max()) < 0:
            return pa.nulls(len(sizes), pa.binary())
        lengths = np.maximum(sizes, 0)
        views = np.empty(len(start), _VIEW)
        views["size"] = lengths
        if len(sizes) and int(sizes.min()) > _INLINE_BYTES_MAX:
            views["low"], views["high"] = self._words[start] & _PREFIX_MASK, start
        else:
            views["low"], views["high"] = self._view_words(start, lengths)
        valid = None
        if len(sizes) and int(sizes.min()) < 0:
            valid = pa.py_buffer(np.packbits(sizes >= 0, bitorder="little"))
        buffers = [valid, pa.py_buffer(views), self._buffer]
        return pa.Array.from_buffers(pa.binary_view(), len(start), buffers).cast(pa.binary())

    def _view_words(self, start: Int64s, lengths: Int64s) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
        """What stands behind the length of a view: up to 12 bytes, or the first four and where all of them are."""
        short = np.minimum(lengths, _INLINE_BYTES_MAX)
        inline = lengths <= _INLINE_BYTES_MAX
        low: NDArray[np.uint64] = self._words[start] & np.where(inline, _LOW_MASKS[short], _PREFIX_MASK)
        return low, np.where(inline, self._words[start + 8] & _HIGH_MASKS[short], start)


def _check_within(at: Int64s, ends: Int64s) -> None:
    if (at > ends).any():
        raise CorruptRecord("a field of a record goes on after the record's end")
