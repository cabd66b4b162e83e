"""One v2 batch made from another: with another codec, or with some of its records gone.

Offsets, timestamps, producer and leader epoch stay as they were, since followers, consumers and the producer's own
state refer to them. A topic's `compression.type` needs the first, the log cleaner the second.
"""

from __future__ import annotations

from moldau.records.batch import CONTROL_FLAG, LOG_APPEND_TIME_FLAG, TRANSACTIONAL_FLAG, RecordBatch
from moldau.records.builder import build_batch, encode_header
from moldau.records.compression import DECOMPRESSED_BYTES_MAX, CompressionType, compress
from moldau.records.reader import decompress_section
from moldau.records.record import NO_TIMESTAMP, Record

_CODEC_BITS = 0x07


def recompress(
    batch: RecordBatch,
    compression_type: CompressionType,
    level: int | None = None,
    limit_bytes: int = DECOMPRESSED_BYTES_MAX,
) -> bytes:
    """The same batch with its records compressed by another codec; they are not decoded for it."""
    if not batch.count:
        return bytes(batch.data)
    section = compress(compression_type, decompress_section(batch, limit_bytes), level)
    header = encode_header(
        section,
        attributes=batch.attributes & ~_CODEC_BITS | compression_type,
        count=batch.count,
        last_offset_delta=batch.last_offset_delta,
        base_timestamp=batch.base_timestamp,
        max_timestamp=batch.max_timestamp,
        base_offset=batch.base_offset,
        leader_epoch=batch.leader_epoch,
        producer=batch.producer,
    )
    return header + section


def retain_records(
    batch: RecordBatch,
    records: list[Record],
    level: int | None = None,
    *,
    delete_horizon_ms: int | None = None,
) -> bytes:
    """The batch with only these of its records, from its base offset to its last offset as before.

    With none it still says how far its producer's sequence has come, which is why it is kept at all. A delete horizon
    that the batch has stays unless another is given (KIP-534).
    """
    if not records:
        return encode_header(
            b"",
            attributes=batch.attributes & (LOG_APPEND_TIME_FLAG | TRANSACTIONAL_FLAG | CONTROL_FLAG),
            count=0,
            last_offset_delta=batch.last_offset_delta,
            base_timestamp=NO_TIMESTAMP,
            max_timestamp=batch.max_timestamp,
            base_offset=batch.base_offset,
            leader_epoch=batch.leader_epoch,
            producer=batch.producer,
        )
    return build_batch(
        records,
        batch.compression_type,
        level,
        base_offset=batch.base_offset,
        last_offset=batch.last_offset,
        leader_epoch=batch.leader_epoch,
        producer=batch.producer,
        transactional=batch.is_transactional,
        control=batch.is_control,
        log_append_time_ms=batch.max_timestamp if batch.attributes & LOG_APPEND_TIME_FLAG else None,
        delete_horizon_ms=batch.delete_horizon_ms if delete_horizon_ms is None else delete_horizon_ms,
    )
