"""snappy, in the framing of snappy-java, which Kafka's clients expect, and raw, which librdkafka writes.

The framing is a header of 16 bytes (a magic string, version, oldest compatible version) and then blocks of at most
32 KiB of input, each compressed on its own and preceded by its compressed size as a big-endian int32. Readers
of snappy-java's kind also accept such streams one after the other. A raw block states the length of what it holds.
"""

from __future__ import annotations

from struct import Struct

import cramjam

from moldau.base.errors import CorruptRecord

_INT32 = Struct(">i")
_MAGIC = b"\x82SNAPPY\0"
_HEADER = _MAGIC + _INT32.pack(1) + _INT32.pack(1)
_BLOCK_BYTES = 32 << 10


def compress(data: bytes) -> bytes:
    """The data in snappy-java's framing; snappy has no levels."""
    parts = [_HEADER]
    view = memoryview(data)
    for start in range(0, len(data), _BLOCK_BYTES):
        block = bytes(cramjam.snappy.compress_raw(view[start : start + _BLOCK_BYTES]))
        parts += _INT32.pack(len(block)), block
    return b"".join(parts)


def decompress(data: bytes | memoryview, limit_bytes: int) -> bytes:
    """What framed or raw data holds; the lengths that the blocks state are added up before any is decompressed."""
    view = memoryview(data)
    blocks = _framed_blocks(view) if view[: len(_MAGIC)] == _MAGIC else [view]
    if sum(cramjam.snappy.decompress_raw_len(block) for block in blocks) > limit_bytes:
        raise CorruptRecord(f"snappy data decompresses to more than {limit_bytes} bytes")
    return b"".join([bytes(cramjam.snappy.decompress_raw(block)) for block in blocks])


def _framed_blocks(view: memoryview) -> list[memoryview]:
    blocks = []
    position = 0
    while position < len(view):
        if view[position : position + len(_MAGIC)] == _MAGIC:
            position += len(_HEADER)
            continue
        (size,) = _INT32.unpack_from(view, position)
        position += _INT32.size
        if not 0 < size <= len(view) - position:
            raise CorruptRecord(f"a snappy block claims {size} bytes, {len(view) - position} are left")
        blocks.append(view[position : position + size])
        position += size
    if position > len(view):
        raise CorruptRecord("snappy data ends in the middle of its header")
    return blocks
