"""Which codec, at which level, and never more output than the caller allows.

A batch of one megabyte can claim to be thirty gigabytes. So every codec finds out the most that its input can become
before it writes a byte, or is told where to stop; what would be larger is a `CorruptRecord`. All codecs release
the GIL while they work.
"""

from __future__ import annotations

import struct
import zlib
from enum import IntEnum
from typing import NamedTuple

import cramjam

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError, CorruptRecord
from moldau.records.codecs import gzip, lz4, snappy, zstd

# The most that the records of one batch may be when decompressed, where a caller does not know better.
DECOMPRESSED_BYTES_MAX = 128 << 20
COMPRESSION_MASK = 7  # of a batch's attributes


class CompressionType(IntEnum):
    """A codec: the low three bits of a batch's attributes; its name in lower case is Kafka's name for it."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


class LevelRange(NamedTuple):
    """The levels that Kafka allows for a codec (KIP-390); the default is allowed even if outside the range."""

    lowest: int
    highest: int
    default: int


LEVELS = {
    CompressionType.GZIP: LevelRange(1, 9, -1),
    CompressionType.LZ4: LevelRange(1, 17, lz4.KAFKA_DEFAULT_LEVEL),
    CompressionType.ZSTD: LevelRange(-131072, 22, 3),
}


def compression_type_of(attributes: int) -> CompressionType:
    """The codec that the attributes of a batch or a message name."""
    number = attributes & COMPRESSION_MASK
    if number > CompressionType.ZSTD:
        raise CorruptRecord(f"there is no compression type {number}")
    return CompressionType(number)


def compress(codec: CompressionType, data: bytes, level: int | None = None, magic: int = 2) -> bytes:
    """`data` as a producer of message format `magic` compresses it; no level means Kafka's default."""
    match codec:
        case CompressionType.NONE:
            return data
        case CompressionType.GZIP:
            return gzip.compress(data, _level(codec, level))
        case CompressionType.SNAPPY:
            return snappy.compress(data)
        case CompressionType.LZ4:
            return lz4.compress(data, _level(codec, level), magic)
        case CompressionType.ZSTD:
            if magic < 2:
                raise ApiError(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, _zstd_refusal(magic))
            return zstd.compress(data, _level(codec, level))


def decompress(
    codec: CompressionType,
    data: bytes | memoryview,
    limit_bytes: int = DECOMPRESSED_BYTES_MAX,
    magic: int = 2,
) -> bytes:
    """What was compressed; `CorruptRecord` if the data is not of that codec or holds more than `limit_bytes`."""
    try:
        match codec:
            case CompressionType.NONE:
                if len(data) > limit_bytes:
                    raise CorruptRecord(f"the records are {len(data)} bytes, more than {limit_bytes}")
                return bytes(data)
            case CompressionType.GZIP:
                return gzip.decompress(data, limit_bytes)
            case CompressionType.SNAPPY:
                return snappy.decompress(data, limit_bytes)
            case CompressionType.LZ4:
                return lz4.decompress(data, limit_bytes, magic)
            case CompressionType.ZSTD:
                if magic < 2:
                    raise CorruptRecord(_zstd_refusal(magic))
                return zstd.decompress(data, limit_bytes)
    except (cramjam.DecompressionError, zlib.error, struct.error, IndexError) as error:
        name = codec.name.lower()
        raise CorruptRecord(f"{name} data does not decompress within {limit_bytes} bytes: {error}") from None


def _level(codec: CompressionType, level: int | None) -> int:
    lowest, highest, default = LEVELS[codec]
    if level is None:
        return default
    assert lowest <= level <= highest or level == default, f"{codec.name} has no level {level}"
    return level


def _zstd_refusal(magic: int) -> str:
    return f"message format {magic} cannot be compressed with zstd (KIP-110)"
