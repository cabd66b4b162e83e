"""The hash of every key of a column at once, as the Java client hashes them one by one (murmur2)."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from moldau.base.hashing import murmur2

UInt32s = NDArray[np.uint32]

_M = np.uint32(0x5BD1E995)
_SEED = np.uint32(0x9747B28C)
# Each four bytes are a step for all rows; longer keys are hashed on their own.
_LENGTH_MAX = 256


def partitions_of_keys(keys: pa.Array, partitions: int) -> NDArray[np.int64]:
    """The partition of each key; where there is none, the number means nothing."""
    return (murmur2_column(keys) & np.uint32(0x7FFFFFFF)).astype(np.int64) % partitions


def murmur2_column(keys: pa.Array) -> UInt32s:
    """murmur2 of each row of a plain binary column."""
    rows = len(keys)
    offsets = np.frombuffer(keys.buffers()[1], np.int32, rows + 1, 4 * keys.offset).astype(np.int64)
    data_buffer = keys.buffers()[2]
    start, end = int(offsets[0]), int(offsets[-1])
    data = np.zeros(end - start + 4, np.uint8)
    if end > start:
        data[: end - start] = np.frombuffer(data_buffer, np.uint8, end - start, start)
    starts = offsets[:-1] - start
    sizes = np.diff(offsets)
    hashes = _hashed(data, starts, np.minimum(sizes, _LENGTH_MAX))
    for row in np.flatnonzero(sizes > _LENGTH_MAX).tolist():
        hashes[row] = murmur2(keys[row].as_py()) & 0xFFFFFFFF
    return hashes


def _hashed(data: NDArray[np.uint8], starts: NDArray[np.int64], sizes: NDArray[np.int64]) -> UInt32s:
    if not len(sizes):
        return np.zeros(0, np.uint32)
    shortest, longest = int(sizes.min()), int(sizes.max())
    hashes: UInt32s = _SEED ^ sizes.astype(np.uint32)
    for at in range(0, longest - longest % 4, 4):
        if at + 4 <= shortest:
            hashes = _mixed(hashes, _words(data, starts + at))
        else:
            rows = np.flatnonzero(sizes >= at + 4)
            hashes[rows] = _mixed(hashes[rows], _words(data, starts[rows] + at))
    left = sizes % 4
    if left.any():
        rows = np.flatnonzero(left)
        # What is left are the low bytes of a word, of which the others do not count.
        words = _words(data, starts[rows] + sizes[rows] - left[rows])
        words &= (np.uint32(1) << (left[rows].astype(np.uint32) << np.uint32(3))) - np.uint32(1)
        hashes[rows] = (hashes[rows] ^ words) * _M
    hashes ^= hashes >> np.uint32(13)
    hashes *= _M
    hashes ^= hashes >> np.uint32(15)
    return hashes


def _mixed(hashes: UInt32s, words: UInt32s) -> UInt32s:
    words = words * _M
    words ^= words >> np.uint32(24)
    words *= _M
    return hashes * _M ^ words


def _words(data: NDArray[np.uint8], at: NDArray[np.int64]) -> UInt32s:
    """The four bytes at each position, the first the lowest."""
    words: UInt32s = data[at].astype(np.uint32)
    for index in range(1, 4):
        words |= data[at + index].astype(np.uint32) << np.uint32(8 * index)
    return words
