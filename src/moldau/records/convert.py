"""Between the formats: up for producers before 0.11, down for consumers before 0.11.

The log holds v2 batches. A message set that is produced becomes one batch before it is appended; batches that an old
version of Fetch asks for become message sets on the way out, without what the old formats cannot say: headers,
producers and control records.
"""

from __future__ import annotations

from operator import ge

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError, CorruptRecord
from moldau.records.batch import LOG_APPEND_TIME_FLAG, Buffer, RecordBatch
from moldau.records.builder import build_batch
from moldau.records.compression import DECOMPRESSED_BYTES_MAX, CompressionType
from moldau.records.legacy import LegacyEntry, build_message_set, entries, read_message_set
from moldau.records.reader import read_batch
from moldau.records.record import Record, TimestampType
from moldau.records.walk import spans

_INT32_MAX = (1 << 31) - 1


def up_convert(message_set: Buffer, level: int | None = None, limit_bytes: int = DECOMPRESSED_BYTES_MAX) -> bytes:
    """One v2 batch of all messages that an old producer sent, with the codec that it used.

    Offsets count from 0, whatever the messages had: some old clients number the messages in a wrapper wrongly. In
    magic 0 there were no timestamps, so theirs is -1.
    """
    sent = list(entries(message_set, whole=True))
    if not sent:
        raise CorruptRecord("there is no message in the set", ErrorCode.INVALID_RECORD)
    if any(entry.magic != sent[0].magic for entry in sent):
        raise CorruptRecord("the messages of the set are of different magics", ErrorCode.INVALID_RECORD)
    if any(entry.timestamp_type is TimestampType.LOG_APPEND_TIME for entry in sent):
        raise CorruptRecord("clients may not set a log append time", ErrorCode.INVALID_TIMESTAMP)
    records = read_message_set(sent, limit_bytes)
    return build_batch(
        [record._replace(offset=index) for index, record in enumerate(records)],
        max(entry.compression_type for entry in sent),
        level,
    )


class ConvertedEntry(RecordBatch):
    """An entry of an old log as a v2 batch to look at; the entry itself is what belongs in the log."""

    __slots__ = ("entry", "is_of_one_magic")

    def __init__(self, buffer: Buffer, entry: LegacyEntry, is_of_one_magic: bool) -> None:
        super().__init__(buffer)
        self.entry = entry
        self.is_of_one_magic = is_of_one_magic
        """Brokers before 0.10.1 compacted messages of magic 0 into wrappers of magic 1 (KAFKA-4298)."""


def as_batch(entry: LegacyEntry, limit_bytes: int = DECOMPRESSED_BYTES_MAX) -> RecordBatch:
    """An entry of an old log as a `ConvertedEntry`: the same records at the same offsets, uncompressed."""
    messages = entry.messages(limit_bytes, any_magic=True)
    records = entry.resolve(messages)
    offsets = [record.offset for record in records]
    if not 0 <= entry.offset - offsets[0] <= min(entry.offset, _INT32_MAX):
        raise CorruptRecord(f"the first message of the entry at offset {entry.offset} has offset {offsets[0]}")
    if offsets[-1] > entry.offset or any(map(ge, offsets, offsets[1:])):
        raise CorruptRecord(f"the messages of the entry at offset {entry.offset} have offsets that do not ascend")
    stamped = entry.timestamp_type is TimestampType.LOG_APPEND_TIME
    data = build_batch(
        records,
        base_offset=offsets[0],
        last_offset=entry.offset,
        log_append_time_ms=entry.timestamp if stamped else None,
    )
    return ConvertedEntry(data, entry, all(message.magic == entry.magic for message in messages))


def down_convert(data: Buffer, magic: int, first_offset: int = 0, limit_bytes: int = DECOMPRESSED_BYTES_MAX) -> bytes:
    """The batches of fetched data as a message set of magic 0 or 1; what is that old already stays as it is.

    `first_offset` is where the fetch begins. Old formats have no batch that could begin before it, so records
    below it are dropped, as some clients rely on; in a wrapper they stay, since clients skip them there. Control
    batches are dropped, so the result can be empty although the data is not. Batches compressed with zstd are
    refused, as Kafka does (KIP-110). `limit_bytes` is for each batch.
    """
    converted = []
    for span in spans(data):
        if span.magic <= magic:
            converted.append(bytes(memoryview(data)[span.position : span.position + span.size_bytes]))
        elif span.magic == 1:
            converted.append(_down_convert_entry(LegacyEntry(data, span), magic, first_offset, limit_bytes))
        else:
            converted.append(_down_convert_batch(RecordBatch(data, span.position), magic, first_offset, limit_bytes))
    return b"".join(converted)


def _down_convert_batch(batch: RecordBatch, magic: int, first_offset: int, limit_bytes: int) -> bytes:
    if batch.is_control:
        return b""
    codec = batch.compression_type
    if codec is CompressionType.ZSTD:
        raise ApiError(
            ErrorCode.UNSUPPORTED_COMPRESSION_TYPE,
            f"the batch at offset {batch.base_offset} is compressed with zstd and has no older format",
        )
    records = read_batch(batch, limit_bytes)
    log_append_time_ms = batch.max_timestamp if batch.attributes & LOG_APPEND_TIME_FLAG else None
    return _message_set(records, magic, codec, log_append_time_ms, first_offset)


def _down_convert_entry(entry: LegacyEntry, magic: int, first_offset: int, limit_bytes: int) -> bytes:
    return _message_set(entry.records(limit_bytes), magic, entry.compression_type, None, first_offset)


def _message_set(
    records: list[Record],
    magic: int,
    codec: CompressionType,
    log_append_time_ms: int | None,
    first_offset: int,
) -> bytes:
    if codec is CompressionType.NONE:
        records = [record for record in records if record.offset >= first_offset]
    return build_message_set(records, magic, codec, log_append_time_ms=log_append_time_ms)
