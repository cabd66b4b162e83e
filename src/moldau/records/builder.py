"""Making v2 batches: record by record as a producer does, or from records that are all there.

A record is encoded when it is appended, so the size of a batch is always exact and `batch.size` means what it means in
Kafka: records of 12 bytes fill a batch of 16384 bytes with 819 records to 16377 bytes. Compression happens once, when
the batch is built, over all records together; until then a compressed batch's size is estimated from the ratio
that earlier batches had.
"""

from __future__ import annotations

from collections.abc import Iterable

from moldau.records.batch import (
    ATTRIBUTES_AT,
    CONTROL_FLAG,
    DELETE_HORIZON_FLAG,
    HEADER_BYTES,
    HEADER_HEAD,
    HEADER_TAIL,
    LOG_APPEND_TIME_FLAG,
    LOG_OVERHEAD_BYTES,
    MAGIC_V2,
    NO_LEADER_EPOCH,
    NO_PRODUCER,
    TRANSACTIONAL_FLAG,
    Producer,
)
from moldau.records.checksum import crc32c
from moldau.records.compression import CompressionType, compress
from moldau.records.record import HEADER_KEY_ERRORS, NO_TIMESTAMP, Headers, RecordFields
from moldau.records.varint import SMALL_VARINTS, SMALL_VARINTS_END, encode_varint, wrap_int64

# How much worse than the last ratio a batch may compress without outgrowing its size, as in the Java client.
_RATIO_MARGIN = 1.05
_join = b"".join


class BatchBuilder:
    """A producer's batch while it fills: `append` until it says None, then `build`."""

    __slots__ = (
        "_base_timestamp",
        "_level",
        "_max_timestamp",
        "_parts",
        "_ratio",
        "_size_bytes",
        "compression_type",
        "count",
        "limit_bytes",
        "records_bytes",
    )

    def __init__(
        self,
        limit_bytes: int,
        compression_type: CompressionType = CompressionType.NONE,
        level: int | None = None,
        compression_ratio: float = 1.0,
    ) -> None:
        """`limit_bytes` is `batch.size`; `compression_ratio` what compressed earlier batches to, of 1."""
        self.limit_bytes = limit_bytes
        self.compression_type = compression_type
        self.count = 0
        self.records_bytes = 0
        self._level = level
        self._ratio = compression_ratio * _RATIO_MARGIN if compression_type else 1
        self._size_bytes: float = HEADER_BYTES
        self._parts: list[bytes] = []
        self._base_timestamp = self._max_timestamp = NO_TIMESTAMP

    @property
    def size_bytes(self) -> int:
        """The size of the batch if built now: exact without compression, an estimate with it."""
        return int(self._size_bytes)

    @property
    def is_full(self) -> bool:
        return self.count > 0 and self._size_bytes >= self.limit_bytes

    def append(self, timestamp: int, key: bytes | None, value: bytes | None, headers: Headers = ()) -> int | None:
        """The record's offset in the batch, or None if the batch has no room for it; the first always has."""
        count = self.count
        base_timestamp = self._base_timestamp if count else timestamp
        length, body = encode_record(count, timestamp - base_timestamp, key, value, headers)
        size = len(length) + len(body)
        if count and self._size_bytes + size > self.limit_bytes:
            return None
        self._base_timestamp = base_timestamp
        if timestamp > self._max_timestamp:
            self._max_timestamp = timestamp
        self._parts += length, body
        self._size_bytes += size * self._ratio
        self.records_bytes += size
        self.count = count + 1
        return count

    def build(self, producer: Producer = NO_PRODUCER, *, transactional: bool = False) -> bytes:
        """The batch, with base offset 0 and no leader epoch, which the broker sets."""
        assert self.count, "a producer sends no empty batches"
        section = compress(self.compression_type, _join(self._parts), self._level)
        header = encode_header(
            section,
            attributes=self.compression_type | (TRANSACTIONAL_FLAG if transactional else 0),
            count=self.count,
            last_offset_delta=self.count - 1,
            base_timestamp=self._base_timestamp,
            max_timestamp=self._max_timestamp,
            producer=producer,
        )
        return _join((header, section))


def build_batch(
    records: Iterable[RecordFields],
    compression_type: CompressionType = CompressionType.NONE,
    level: int | None = None,
    *,
    base_offset: int = 0,
    last_offset: int | None = None,
    leader_epoch: int = NO_LEADER_EPOCH,
    producer: Producer = NO_PRODUCER,
    transactional: bool = False,
    control: bool = False,
    log_append_time_ms: int | None = None,
    delete_horizon_ms: int | None = None,
) -> bytes:
    """One batch of records that have their offsets, from `base_offset` on; `last_offset` may lie beyond the last."""
    rows = records if isinstance(records, list) else list(records)
    base_timestamp = delete_horizon_ms
    if base_timestamp is None:
        base_timestamp = rows[0][1] if rows else NO_TIMESTAMP
    max_timestamp = log_append_time_ms
    if max_timestamp is None:
        max_timestamp = max([row[1] for row in rows], default=NO_TIMESTAMP)
    if last_offset is None:
        last_offset = rows[-1][0]
    section = compress(compression_type, encode_records(rows, base_offset, base_timestamp), level)
    header = encode_header(
        section,
        attributes=compression_type
        | (LOG_APPEND_TIME_FLAG if log_append_time_ms is not None else 0)
        | (TRANSACTIONAL_FLAG if transactional else 0)
        | (CONTROL_FLAG if control else 0)
        | (DELETE_HORIZON_FLAG if delete_horizon_ms is not None else 0),
        count=len(rows),
        last_offset_delta=last_offset - base_offset,
        base_timestamp=base_timestamp,
        max_timestamp=max_timestamp,
        base_offset=base_offset,
        leader_epoch=leader_epoch,
        producer=producer,
    )
    return _join((header, section))


def encode_header(
    section: bytes | memoryview,
    *,
    attributes: int,
    count: int,
    last_offset_delta: int,
    base_timestamp: int,
    max_timestamp: int,
    base_offset: int = 0,
    leader_epoch: int = NO_LEADER_EPOCH,
    producer: Producer = NO_PRODUCER,
) -> bytes:
    """The header of a batch whose records, compressed as the attributes say, are `section`."""
    tail = HEADER_TAIL.pack(attributes, last_offset_delta, base_timestamp, max_timestamp, *producer, count)
    length = HEADER_BYTES - LOG_OVERHEAD_BYTES + len(section)
    head = HEADER_HEAD.pack(base_offset, length, leader_epoch, MAGIC_V2, crc32c(section, crc32c(tail)))
    return head + tail


def write_header(
    batch: bytearray | memoryview,
    attributes: int,
    count: int,
    base_timestamp: int,
    max_timestamp: int,
    producer: Producer = NO_PRODUCER,
) -> None:
    """Put the header in front of records that have room for it, as a producer does: no offset is left out of them."""
    producer_id, producer_epoch, base_sequence = producer
    HEADER_TAIL.pack_into(
        batch,
        ATTRIBUTES_AT,
        attributes,
        count - 1,
        base_timestamp,
        max_timestamp,
        producer_id,
        producer_epoch,
        base_sequence,
        count,
    )
    crc = crc32c(memoryview(batch)[ATTRIBUTES_AT:])
    HEADER_HEAD.pack_into(batch, 0, 0, len(batch) - LOG_OVERHEAD_BYTES, NO_LEADER_EPOCH, MAGIC_V2, crc)


def encode_records(records: Iterable[RecordFields], base_offset: int, base_timestamp: int) -> bytes:
    """A records section, not compressed."""
    parts: list[bytes] = []
    for offset, timestamp, key, value, headers in records:
        parts += encode_record(offset - base_offset, timestamp - base_timestamp, key, value, headers)
    return _join(parts)


def encode_record(
    offset_delta: int, timestamp_delta: int, key: bytes | None, value: bytes | None, headers: Headers
) -> tuple[bytes, bytes]:
    """A record's length and its body."""
    small = SMALL_VARINTS
    if 0 <= timestamp_delta < SMALL_VARINTS_END:
        timestamp_varint = small[timestamp_delta]
    else:
        timestamp_varint = encode_varint(wrap_int64(timestamp_delta))
    if key is None:
        key_size, key = b"\1", b""
    else:
        size = len(key)
        key_size = small[size] if size < SMALL_VARINTS_END else encode_varint(size)
    if value is None:
        value_size, value = b"\1", b""
    else:
        size = len(value)
        value_size = small[size] if size < SMALL_VARINTS_END else encode_varint(size)
    body = _join(
        (
            b"\0",
            timestamp_varint,
            small[offset_delta] if offset_delta < SMALL_VARINTS_END else encode_varint(offset_delta),
            key_size,
            key,
            value_size,
            value,
            _encode_headers(headers) if headers else b"\0",
        )
    )
    size = len(body)
    return (small[size] if size < SMALL_VARINTS_END else encode_varint(size)), body


def _encode_headers(headers: Headers) -> bytes:
    parts = [_varint(len(headers))]
    for name, value in headers:
        key = name.encode("utf-8", HEADER_KEY_ERRORS)
        parts += _varint(len(key)), key
        parts += (b"\1",) if value is None else (_varint(len(value)), value)
    return _join(parts)


def _varint(size: int) -> bytes:
    return SMALL_VARINTS[size] if size < SMALL_VARINTS_END else encode_varint(size)
