"""What a Produce request may contain, by its version: Kafka's rules for the record formats."""

from __future__ import annotations

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError
from moldau.records.batch import LOG_OVERHEAD_BYTES
from moldau.records.compression import CompressionType

V2_ONLY_VERSION = 3
ZSTD_VERSION = 7
MAGIC_AT = 16
ATTRIBUTES_LOW_BYTE_AT = 22
ZSTD = CompressionType.ZSTD
CODEC_MASK = 0x07


def check_format(records: bytes | memoryview | None, version: int) -> None:
    """Refuse what the version does not allow; whether the bytes are what they say is the log's to check."""
    if records is None or len(records) <= MAGIC_AT:
        if version >= V2_ONLY_VERSION:
            raise ApiError(ErrorCode.INVALID_RECORD, "a produce request must have exactly one record batch")
        raise ApiError(ErrorCode.CORRUPT_MESSAGE, "the message set is empty")
    if version < V2_ONLY_VERSION:
        if records[MAGIC_AT] >= 2:
            raise ApiError(ErrorCode.INVALID_RECORD, f"Produce version {version} cannot carry the v2 format")
        return
    if records[MAGIC_AT] != 2:
        raise ApiError(ErrorCode.INVALID_RECORD, f"Produce version {version} takes the v2 format only")
    size_bytes = LOG_OVERHEAD_BYTES + int.from_bytes(records[8:12], "big", signed=True)
    if size_bytes < len(records):
        raise ApiError(ErrorCode.INVALID_RECORD, "a produce request must have exactly one record batch")
    if version < ZSTD_VERSION and records[ATTRIBUTES_LOW_BYTE_AT] & CODEC_MASK == ZSTD:
        raise ApiError(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, "zstd needs Produce version 7 (KIP-110)")
