"""zstd frames (RFC 8878). The Java client streams them, so most do not state the length of what they hold.

What states it instead is their structure: every block header says how many bytes follow, and a block decompresses
to at most 128 KiB (a raw one to its size, a run of one byte to the run's length). Adding these up is one
step a block and gives the buffer to decompress into in one go.
"""

from __future__ import annotations

from struct import Struct

import cramjam

from moldau.base.errors import CorruptRecord

_UINT32 = Struct("<I")
_FRAME_MAGIC = 0xFD2FB528
_SKIPPABLE_FRAME_MAGIC = 0x184D2A50  # and the 15 numbers after it
_BLOCK_BYTES_MAX = 128 << 10
_RAW_BLOCK, _RUN_BLOCK = 0, 1


def compress(data: bytes, level: int) -> bytes:
    """One frame, which states its content's length."""
    return bytes(cramjam.zstd.compress(data, level))


def decompress(data: bytes | memoryview, limit_bytes: int) -> bytes:
    """What the frames hold; zstd writes into a buffer no larger than the limit, and fails at its end."""
    output = bytearray(min(_frames_bound(data), limit_bytes))
    return bytes(memoryview(output)[: cramjam.zstd.decompress_into(data, output)])


def _frames_bound(data: bytes | memoryview) -> int:
    """The most bytes that all frames together can hold."""
    position = bound_bytes = 0
    while position < len(data):
        (frame_magic,) = _UINT32.unpack_from(data, position)
        if frame_magic & ~15 == _SKIPPABLE_FRAME_MAGIC:
            position += 8 + _UINT32.unpack_from(data, position + 4)[0]
            continue
        if frame_magic != _FRAME_MAGIC:
            raise CorruptRecord("zstd data does not begin with a frame's magic number")
        descriptor = data[position + 4]
        single_segment = descriptor >> 5 & 1  # the window descriptor is left out then
        content_size_bytes = (single_segment, 2, 4, 8)[descriptor >> 6]
        position += 6 - single_segment + (0, 1, 2, 4)[descriptor & 3] + content_size_bytes
        last = 0
        while not last:
            header = int.from_bytes(data[position : position + 3], "little")
            last, kind, size = header & 1, header >> 1 & 3, header >> 3
            bound_bytes += size if kind in (_RAW_BLOCK, _RUN_BLOCK) else _BLOCK_BYTES_MAX
            position += 3 + (1 if kind == _RUN_BLOCK else size)
            if position > len(data):
                raise CorruptRecord("zstd data ends in the middle")
        position += 4 * (descriptor >> 2 & 1)  # the content's checksum
    return bound_bytes
