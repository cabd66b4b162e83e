"""Reading fields at many positions of foreign bytes at once.

The bytes are followed by padding of zeros. Where something is read, the position is at most the end of its record,
which is checked after every step, and the longest read is shorter than the padding. So whatever the bytes say, nothing
outside them is touched, and Arrow is shown no position that has not been checked.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from moldau.base.errors import CorruptRecord
from moldau.records.columns.cells import Int64s
from moldau.records.varint import VARINT_BYTES_MAX

PADDING = bytes(16)
_INLINE_BYTES_MAX = 12
_VIEW = np.dtype([("size", "<u4"), ("low", "<u8"), ("high", "<u4")])
# Which bits of its first eight bytes and of its next four belong to a value of 0 to 12 bytes.
_LOW_MASKS = np.array([(1 << 8 * min(size, 8)) - 1 for size in range(_INLINE_BYTES_MAX + 1)], np.uint64)
_HIGH_MASKS = np.array([(1 << 8 * max(size - 8, 0)) - 1 for size in range(_INLINE_BYTES_MAX + 1)], np.uint64)
_PREFIX_MASK = 0xFFFFFFFF


class Fields:
    """The bytes of many records, with padding."""

    def __init__(self, data: bytes) -> None:
        self._buffer = pa.py_buffer(data)
        self._bytes = np.frombuffer(data, np.uint8)
        # The eight bytes from each position on, as one integer.
        self._words = np.ndarray((len(data) - 7,), "<u8", data, strides=(1,))

    def varints(self, at: Int64s, ends: Int64s, bytes_max: int = VARINT_BYTES_MAX) -> tuple[Int64s, Int64s]:
        """The signed numbers at the positions and the positions after them, which are not beyond the ends."""
        first = self._bytes[at]
        at = at + 1
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
        _check_within(at, ends)
        signed = (numbers >> 1).view(np.int64) ^ -(numbers & 1).view(np.int64)
        return signed, at

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
        short = np.minimum(lengths, _INLINE_BYTES_MAX)
        inline = lengths <= _INLINE_BYTES_MAX
        words = self._words[start]
        views = np.empty(len(start), _VIEW)
        views["size"] = lengths
        views["low"] = words & np.where(inline, _LOW_MASKS[short], _PREFIX_MASK)
        views["high"] = np.where(inline, self._words[start + 8] & _HIGH_MASKS[short], start)
        valid = None
        if len(sizes) and int(sizes.min()) < 0:
            valid = pa.py_buffer(np.packbits(sizes >= 0, bitorder="little"))
        buffers = [valid, pa.py_buffer(views), self._buffer]
        return pa.Array.from_buffers(pa.binary_view(), len(start), buffers).cast(pa.binary())


def _check_within(at: Int64s, ends: Int64s) -> None:
    if (at > ends).any():
        raise CorruptRecord("a field of a record goes on after the record's end")
