"""lz4's frame format, with the header checksum that clients before 0.10 got wrong (KIP-57).

Frames are written with independent blocks of 64 KiB, since the Java client refuses linked blocks; both are read.
The byte that checks the frame's descriptor was once computed over the frame's magic number as well. Message
magic 0 keeps that: the wrong byte is written for it, and when read, the byte is not looked at.
"""

from __future__ import annotations

from struct import Struct

import cramjam

from moldau.base.errors import CorruptRecord

_UINT32 = Struct("<I")
_FRAME_MAGIC = 0x184D2204
_BLOCK_BYTES = {4: 64 << 10, 5: 256 << 10, 6: 1 << 20, 7: 4 << 20}
_RATIO_MAX = 255
_UNCOMPRESSED_BLOCK = 1 << 31

_FLAG_DICTIONARY, _FLAG_CONTENT_CHECKSUM, _FLAG_CONTENT_SIZE, _FLAG_BLOCK_CHECKSUM = 0x01, 0x04, 0x08, 0x10

# Kafka's default level means lz4's fast compressor. Every other one means high compression, which begins at 3
# in lz4's own numbers.
KAFKA_DEFAULT_LEVEL = 9
_HIGH_COMPRESSION_LEVEL_MIN = 3


def compress(data: bytes, level: int, magic: int) -> bytes:
    """One frame, as a client that writes message format `magic` makes it."""
    lz4_level = 0 if level == KAFKA_DEFAULT_LEVEL else max(level, _HIGH_COMPRESSION_LEVEL_MIN)
    stream = cramjam.lz4.Compressor(level=lz4_level, content_checksum=False, block_linked=False)
    stream.compress(data)
    frame = bytes(stream.finish())
    return frame if magic else frame[:6] + _descriptor_checksum(frame[:6]) + frame[7:]


def decompress(data: bytes | memoryview, limit_bytes: int, magic: int) -> bytes:
    """What the one frame holds; lz4 writes into a buffer no larger than the limit, and fails at its end."""
    bound_bytes, descriptor_end = _frame_bound(data)
    if not magic:
        frame = bytearray(data)
        frame[descriptor_end : descriptor_end + 1] = _descriptor_checksum(bytes(frame[4:descriptor_end]))
        data = bytes(frame)
    output = bytearray(min(bound_bytes, limit_bytes))
    return bytes(memoryview(output)[: cramjam.lz4.decompress_into(data, output)])


def _frame_bound(data: bytes | memoryview) -> tuple[int, int]:
    """The most bytes that the frame can hold, and where its descriptor's checksum is; nothing may follow it."""
    (frame_magic,) = _UINT32.unpack_from(data)
    if frame_magic != _FRAME_MAGIC:
        raise CorruptRecord("lz4 data does not begin with a frame's magic number")
    flags = data[4]
    block_bytes = _BLOCK_BYTES.get(data[5] >> 4 & 7)
    if block_bytes is None:
        raise CorruptRecord(f"lz4 has no block size {data[5] >> 4 & 7}")
    descriptor_end = 6 + (8 if flags & _FLAG_CONTENT_SIZE else 0) + (4 if flags & _FLAG_DICTIONARY else 0)
    checksum_bytes = 4 if flags & _FLAG_BLOCK_CHECKSUM else 0
    position = descriptor_end + 1
    bound_bytes = 0
    while True:
        (block,) = _UINT32.unpack_from(data, position)
        position += 4
        if not block:
            break
        size = block & ~_UNCOMPRESSED_BLOCK
        bound_bytes += size if block & _UNCOMPRESSED_BLOCK else min(size * _RATIO_MAX, block_bytes)
        position += size + checksum_bytes
    position += 4 if flags & _FLAG_CONTENT_CHECKSUM else 0
    if position != len(data):
        raise CorruptRecord(f"the lz4 frame ends at byte {position} of {len(data)}")
    return bound_bytes, descriptor_end


def _descriptor_checksum(descriptor: bytes) -> bytes:
    """The second byte of XXH32 with seed 0, here of fewer than 16 bytes: the part of XXH32 without stripes."""
    prime1, prime2, prime3, prime4, prime5 = 2654435761, 2246822519, 3266489917, 668265263, 374761393
    mask = 0xFFFFFFFF
    value = prime5 + len(descriptor)
    words_end = len(descriptor) & ~3
    for position in range(0, words_end, 4):
        value = value + int.from_bytes(descriptor[position : position + 4], "little") * prime3 & mask
        value = (value << 17 | value >> 15) * prime4 & mask
    for byte in descriptor[words_end:]:
        value = value + byte * prime5 & mask
        value = (value << 11 | value >> 21) * prime1 & mask
    value = (value ^ value >> 15) * prime2 & mask
    value = (value ^ value >> 13) * prime3 & mask
    return bytes(((value ^ value >> 16) >> 8 & 0xFF,))
