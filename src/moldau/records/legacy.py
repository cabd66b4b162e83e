"""Message sets of magic 0 and 1, which clients before 0.11 write and read.

    offset: 8 | size: 4 | CRC-32 of what follows: 4 | magic: 1 | attributes: 1 | timestamp: 8, in magic 1 |
    key length: 4, -1 null | key | value length: 4, -1 null | value

There are no batches: a message set is entry after entry. Compressed, it is one wrapper entry, whose value is a whole
message set and whose offset is that of the last message in it. Inside a wrapper of magic 1 offsets count from 0, so
that a broker can move the set without compressing it again; in magic 0 they are absolute. The wrapper's timestamp is
the largest of its messages'; if it is a log append time, it is the timestamp of each (KIP-31, KIP-32).
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from struct import Struct

from moldau.base.errors import CorruptRecord
from moldau.records.batch import LOG_APPEND_TIME_FLAG, LOG_OVERHEAD_BYTES, Buffer
from moldau.records.compression import (
    DECOMPRESSED_BYTES_MAX,
    CompressionType,
    compress,
    compression_type_of,
    decompress,
)
from moldau.records.record import NO_TIMESTAMP, Record, RecordFields, TimestampType
from moldau.records.varint import wrap_int64
from moldau.records.walk import LEGACY_ENTRY_BYTES_MIN, Span, spans

_INT32 = Struct(">i")
_ENTRY = Struct(">qi")
_MESSAGE = (Struct(">bb"), Struct(">bbq"))  # by magic: what the checksum covers, up to the key
_CRC_AT = LOG_OVERHEAD_BYTES
_MAGIC_AT = LOG_OVERHEAD_BYTES + 4


class LegacyEntry:
    """One entry of a message set: a message, or a wrapper around a compressed message set."""

    __slots__ = ("attributes", "key", "magic", "offset", "timestamp", "value")

    def __init__(self, buffer: Buffer, span: Span) -> None:
        """The entry that `walk.spans` found; its checksum and lengths are checked."""
        data = bytes(memoryview(buffer)[span.position : span.position + span.size_bytes])
        self.magic = span.magic
        self.offset: int = _ENTRY.unpack_from(data)[0]
        if self.magic not in (0, 1):
            raise self._corrupt(f"a message set has no messages of magic {self.magic}")
        layout = _MESSAGE[self.magic]
        if len(data) < _MAGIC_AT + layout.size + 2 * _INT32.size:
            raise self._corrupt(f"{len(data)} bytes are too few for magic {self.magic}")
        crc, stored_crc = zlib.crc32(memoryview(data)[_MAGIC_AT:]), int.from_bytes(data[_CRC_AT:_MAGIC_AT], "big")
        if crc != stored_crc:
            raise self._corrupt(f"its checksum is {stored_crc}, its contents' is {crc}")
        self.timestamp = NO_TIMESTAMP
        self.attributes: int
        if self.magic:
            _, self.attributes, self.timestamp = layout.unpack_from(data, _MAGIC_AT)
        else:
            _, self.attributes = layout.unpack_from(data, _MAGIC_AT)
        self.key, position = self._read_bytes(data, _MAGIC_AT + layout.size)
        self.value, position = self._read_bytes(data, position)
        if position != len(data):
            raise self._corrupt(f"it ends at byte {position} of {len(data)}")

    @property
    def compression_type(self) -> CompressionType:
        return compression_type_of(self.attributes)

    @property
    def timestamp_type(self) -> TimestampType:
        if not self.magic:
            return TimestampType.NO_TIMESTAMP_TYPE
        log_append_time = self.attributes & LOG_APPEND_TIME_FLAG
        return TimestampType.LOG_APPEND_TIME if log_append_time else TimestampType.CREATE_TIME

    @property
    def data(self) -> bytes:
        """The entry as it is in a message set: there is only one way to write it."""
        return _encode_entry(self.offset, self.magic, self.attributes, self.timestamp, self.key, self.value)

    def records(self, limit_bytes: int = DECOMPRESSED_BYTES_MAX) -> list[Record]:
        """The message itself, or the messages in the wrapper."""
        return self.resolve(self.messages(limit_bytes))

    def messages(self, limit_bytes: int = DECOMPRESSED_BYTES_MAX, *, any_magic: bool = False) -> list[LegacyEntry]:
        """The entry itself, or those in the wrapper as they are written there, which are all of its magic or of any."""
        codec = self.compression_type
        if codec is CompressionType.NONE:
            return [self]
        if self.value is None:
            raise self._corrupt("it is compressed and has no value")
        inner = list(entries(decompress(codec, self.value, limit_bytes, self.magic), whole=True))
        if not inner:
            raise self._corrupt("there is no message in the wrapper")
        for entry in inner:
            if (not any_magic and entry.magic != self.magic) or entry.compression_type is not CompressionType.NONE:
                raise self._corrupt("a message in the wrapper is of another magic or compressed itself")
        return inner

    def resolve(self, messages: list[LegacyEntry]) -> list[Record]:
        """What `messages` gave as records, with the offsets and times that the wrapper says they have."""
        if messages[0] is self:
            return [Record(self.offset, self.timestamp, self.key, self.value)]
        base_offset = self._base_offset(messages[-1].offset)
        log_append_time = self.timestamp_type is TimestampType.LOG_APPEND_TIME
        return [
            Record(
                wrap_int64(base_offset + message.offset),
                self.timestamp if log_append_time else message.timestamp,
                message.key,
                message.value,
            )
            for message in messages
        ]

    def _base_offset(self, last_inner_offset: int) -> int:
        # Some versions of librdkafka produce wrappers with offset 0; the broker assigns offsets anyway.
        if not self.magic or not self.offset:
            return 0
        if self.offset < last_inner_offset:
            raise self._corrupt(f"the last message in the wrapper has the larger offset {last_inner_offset}")
        return self.offset - last_inner_offset

    def _read_bytes(self, data: bytes, position: int) -> tuple[bytes | None, int]:
        """The bytes whose length is at `position`, and the position after them."""
        start = position + _INT32.size
        if start > len(data):
            raise self._corrupt(f"its {len(data)} bytes end before its value")
        (size,) = _INT32.unpack_from(data, position)
        if size == -1:
            return None, start
        if not 0 <= size <= len(data) - start:
            raise self._corrupt(f"a key or value of length {size} is not in {len(data) - start} bytes")
        return data[start : start + size], start + size

    def _corrupt(self, problem: str) -> CorruptRecord:
        return CorruptRecord(f"message at offset {self.offset}: {problem}")


def entries(buffer: Buffer, *, whole: bool = False) -> Iterator[LegacyEntry]:
    """The entries of a message set, up to a partial last one; there must be none if the set is `whole`."""
    end = 0
    for span in spans(buffer):
        yield LegacyEntry(buffer, span)
        end = span.position + span.size_bytes
    if whole and end != len(buffer):
        raise CorruptRecord(f"{len(buffer) - end} bytes follow the last message of a set")


def read_message_set(message_set: Iterable[LegacyEntry], limit_bytes: int = DECOMPRESSED_BYTES_MAX) -> list[Record]:
    """All messages of a set, also those in wrappers; `limit_bytes` is for all of them together."""
    records: list[Record] = []
    for entry in message_set:
        messages = entry.records(limit_bytes)
        limit_bytes -= sum(
            LEGACY_ENTRY_BYTES_MIN + len(message.key or b"") + len(message.value or b"") for message in messages
        )
        if limit_bytes < 0:
            raise CorruptRecord(f"the message set is {-limit_bytes} bytes larger than it may be")
        records += messages
    return records


def build_message_set(
    records: Iterable[RecordFields],
    magic: int,
    compression_type: CompressionType = CompressionType.NONE,
    level: int | None = None,
    *,
    log_append_time_ms: int | None = None,
) -> bytes:
    """A message set of records that have their offsets; headers, which the format does not have, are left out."""
    rows = list(records)
    flag = LOG_APPEND_TIME_FLAG if log_append_time_ms is not None and magic else 0
    if not compression_type or not rows:
        return b"".join(
            _encode_entry(
                offset, magic, flag, timestamp if log_append_time_ms is None else log_append_time_ms, key, value
            )
            for offset, timestamp, key, value, _ in rows
        )
    base_offset = rows[0][0] if magic else 0
    inner = b"".join(
        _encode_entry(offset - base_offset, magic, 0, timestamp, key, value)
        for offset, timestamp, key, value, _ in rows
    )
    timestamp = max(row[1] for row in rows) if log_append_time_ms is None else log_append_time_ms
    wrapped = compress(compression_type, inner, level, magic)
    return _encode_entry(rows[-1][0], magic, flag | compression_type, timestamp, None, wrapped)


def _encode_entry(
    offset: int, magic: int, attributes: int, timestamp: int, key: bytes | None, value: bytes | None
) -> bytes:
    fields = (magic, attributes, timestamp) if magic else (magic, attributes)
    message = b"".join(
        (
            _MESSAGE[magic].pack(*fields),
            _INT32.pack(-1 if key is None else len(key)),
            key or b"",
            _INT32.pack(-1 if value is None else len(value)),
            value or b"",
        )
    )
    return _ENTRY.pack(offset, len(message) + 4) + zlib.crc32(message).to_bytes(4, "big") + message
