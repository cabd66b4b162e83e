"""What a leader checks and changes in the records that it is given, before they become part of its log.

A batch that needs no change is stored as the bytes that came: it gets its offsets and epoch in place, where the
checksum does not reach. Records are decoded only if they must be: for a compacted topic, which needs keys, for
timestamps that the topic bounds, and to convert message sets of clients older than 0.11. Another codec than the
producer's is the topic's to ask for.
"""

from __future__ import annotations

from typing import TypeAlias

from moldau.base.clock import Clock
from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError, CorruptRecord
from moldau.records.batch import HEADER_BYTES, LOG_OVERHEAD_BYTES, MAGIC_V2, Buffer, RecordBatch
from moldau.records.compression import CompressionType
from moldau.records.convert import as_batch, up_convert
from moldau.records.legacy import LegacyEntry
from moldau.records.reader import read_batch
from moldau.records.rebuild import recompress
from moldau.records.record import NO_TIMESTAMP, TimestampType
from moldau.records.walk import Span, spans
from moldau.storage.log_settings import INT64_MAX, LogSettings
from moldau.storage.producer_append import AppendOrigin

ValidBatches: TypeAlias = tuple[Buffer, list[RecordBatch], int]
"""Bytes ready to be appended, the batches that they are, and the log append time: -1 where records keep their own."""

_CLIENT = AppendOrigin.CLIENT  # looking up a member of an enum costs more than the comparison


class LeaderValidation:
    """The checks of one log's settings, worked out once."""

    __slots__ = ("_clock", "_is_changing", "_is_stamped", "_needs_look", "_settings", "length_max", "plain_length_max")

    def __init__(self, settings: LogSettings, clock: Clock) -> None:
        self._settings = settings
        self._clock = clock
        self.length_max = settings.max_message_bytes - LOG_OVERHEAD_BYTES
        self._is_stamped = settings.message_timestamp_type is TimestampType.LOG_APPEND_TIME
        bounded = min(settings.message_timestamp_before_max_ms, settings.message_timestamp_after_max_ms) < INT64_MAX
        self._needs_look = settings.compact or (bounded and not self._is_stamped)
        self._is_changing = self._is_stamped or settings.compression_type is not None
        self.plain_length_max = -1 if self._needs_look or self._is_changing else self.length_max
        """What the length of a client's batch may be if the header is all that there is to check or to change."""

    def batches(self, data: Buffer, origin: AppendOrigin, next_offset: int, leader_epoch: int) -> ValidBatches:
        """The batches of a produce request with their offsets; `data` is changed in place if it can be."""
        data, batches = self._find(data)
        log_append_time = NO_TIMESTAMP
        length_max, is_client = self.length_max, origin is _CLIENT
        for batch in batches:
            if batch.length > length_max:
                raise self._too_large(batch)
            if is_client:
                batch.check_produced()
            else:
                batch.check()
        if is_client and self._needs_look:
            self._look(batches)
        if is_client and self._is_changing:
            log_append_time = self._clock.now_ms() if self._is_stamped else NO_TIMESTAMP
            data, batches = self._changed(data, batches, log_append_time)
        for batch in batches:
            batch.assign(next_offset, leader_epoch)
            next_offset += batch.last_offset_delta + 1
        return data, batches, log_append_time

    def _find(self, data: Buffer) -> tuple[Buffer, list[RecordBatch]]:
        """The batches in what a client sent, in a buffer that may be changed."""
        kind = type(data)
        if kind is not bytearray and (kind is bytes or (isinstance(data, memoryview) and data.readonly)):
            data = bytearray(data)
        size_bytes = len(data)
        if size_bytes >= HEADER_BYTES:
            batch = RecordBatch(data)
            if batch.length == size_bytes - LOG_OVERHEAD_BYTES and batch.magic == MAGIC_V2:
                return data, [batch]  # as every client since 0.11 sends it
        found = list(spans(data))
        if not found or sum(span.size_bytes for span in found) != len(data):
            raise CorruptRecord("the records end in the middle of a batch, or there are none")
        if found[0].magic < MAGIC_V2:
            data = bytearray(up_convert(data, self._settings.compression_level))
            found = list(spans(data))
        return data, [RecordBatch(data, span.position) for span in found]

    def _look(self, batches: list[RecordBatch]) -> None:
        """What can be told from the records alone."""
        settings, now_ms = self._settings, self._clock.now_ms()
        for batch in batches:
            if settings.compact and any(record.key is None for record in read_batch(batch)):
                raise ApiError(ErrorCode.INVALID_RECORD, "a record of a compacted topic needs a key")
            if not self._is_stamped:
                _check_timestamps(batch, settings, now_ms)

    def _changed(
        self, data: Buffer, batches: list[RecordBatch], log_append_time: int
    ) -> tuple[Buffer, list[RecordBatch]]:
        """The batches in the topic's codec and with its time, where it asks for them."""
        settings = self._settings
        if settings.compression_type is not None:
            data, batches = _recompressed(data, batches, settings.compression_type, settings.compression_level)
        for batch in batches:
            if batch.length > self.length_max:
                raise self._too_large(batch)
            if log_append_time != NO_TIMESTAMP:
                batch.set_log_append_time(log_append_time)
        return data, batches

    def _too_large(self, batch: RecordBatch) -> ApiError:
        return ApiError(
            ErrorCode.MESSAGE_TOO_LARGE,
            f"the record batch has {batch.size_bytes} bytes, max.message.bytes is {self._settings.max_message_bytes}",
        )


def _check_timestamps(batch: RecordBatch, settings: LogSettings, now_ms: int) -> None:
    """Timestamps too far from the broker's clock, where the topic bounds them."""
    earliest = now_ms - settings.message_timestamp_before_max_ms
    latest = now_ms + settings.message_timestamp_after_max_ms
    if batch.max_timestamp > latest:
        raise _too_far(batch.max_timestamp, earliest, latest)
    if settings.message_timestamp_before_max_ms == INT64_MAX:
        return
    for record in read_batch(batch):
        if NO_TIMESTAMP < record.timestamp < earliest or record.timestamp > latest:
            raise _too_far(record.timestamp, earliest, latest)


def _too_far(timestamp: int, earliest: int, latest: int) -> ApiError:
    return ApiError(
        ErrorCode.INVALID_TIMESTAMP,
        f"timestamp {timestamp} is not within [{earliest}, {latest}], which message.timestamp.before.max.ms and "
        "message.timestamp.after.max.ms allow now",
    )


def _recompressed(
    data: Buffer, batches: list[RecordBatch], codec: CompressionType, level: int | None
) -> tuple[Buffer, list[RecordBatch]]:
    """The batches in the codec of the topic."""
    if all(batch.compression_type is codec for batch in batches):
        return data, batches
    parts = [bytes(b.data) if b.compression_type is codec else recompress(b, codec, level) for b in batches]
    rebuilt = bytearray(b"".join(parts))
    return rebuilt, [RecordBatch(rebuilt, span.position) for span in spans(rebuilt)]


def follower_batches(data: Buffer, next_offset: int) -> list[RecordBatch]:
    """The whole batches that a leader sent, with the offsets that they have; a partial last one is left out."""
    batches = []
    for span in spans(data):
        if span.magic == MAGIC_V2:
            batch = RecordBatch(data, span.position)
            batch.check()
        else:
            batch = _old_entry(data, span)
        if batch.base_offset < next_offset:
            raise ApiError(
                ErrorCode.UNKNOWN_SERVER_ERROR,
                f"the leader sent offset {batch.base_offset} where {next_offset} or a later one was expected",
            )
        next_offset = batch.next_offset
        batches.append(batch)
    return batches


def _old_entry(data: Buffer, span: Span) -> RecordBatch:
    """An entry of a log that an old Kafka began: a batch's view of its offsets and times, at the entry's own place."""
    batch = as_batch(LegacyEntry(data, span))
    batch.position, batch.length = span.position, span.size_bytes - LOG_OVERHEAD_BYTES
    return batch
