"""Keys and values as Arrow's compute functions want them."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

Int32s: TypeAlias = NDArray[np.int32]

_BINARY, _STRING = pa.binary(), pa.string()
SEPARATOR = pa.scalar(b"", _BINARY)


def payload(column: pa.Array, start: int, rows: int) -> pa.BinaryArray:
    """Some rows of a binary or string column, empty where they are null."""
    piece = as_binary(column.slice(start, rows))
    return pc.fill_null(piece, b"") if piece.null_count else piece


def as_binary(column: pa.Array) -> pa.BinaryArray:
    """The column as Arrow's plain binary; asking costs less than a cast that changes nothing."""
    return column if column.type == _BINARY else column.cast(_BINARY)


def lengths(column: pa.Array) -> Int32s:
    """Bytes of each row, -1 where it is null."""
    if column.type not in (_BINARY, _STRING) or not len(column):
        return np.asarray(pc.fill_null(pc.binary_length(column), -1), np.int32)
    offsets = np.frombuffer(column.buffers()[1], np.int32, len(column) + 1, 4 * column.offset)
    sizes = offsets[1:] - offsets[:-1]
    if column.null_count:
        sizes[np.asarray(column.is_null())] = -1
    return sizes
