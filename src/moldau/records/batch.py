"""A v2 record batch as the broker sees it: 61 bytes of header over bytes that belong to somebody else.

    offset  bytes  field
    0       8      base offset               set by the broker, outside the checksum
    8       4      batch length              what follows this field
    12      4      partition leader epoch    set by the broker, outside the checksum
    16      1      magic                     2; in v0 and v1 entries the byte at 16 is the magic too
    17      4      CRC-32C of everything from 21 on
    21      2      attributes                codec 0-2, log append time 3, transactional 4, control 5, delete horizon 6
    23      4      last offset delta
    27      8      base timestamp            or the delete horizon (KIP-534); record deltas count from it either way
    35      8      max timestamp
    43      8      producer id
    51      2      producer epoch
    53      4      base sequence
    57      4      record count              may be less than last offset delta + 1 after compaction, even 0
    61             records, compressed as one

`RecordBatch` reads the header with one `unpack_from` and never copies: a produce request's batch is checked, given
its offsets and epoch in place and handed on as the same bytes. It holds the buffer it was given, so a mapped file
stays mapped as long as a batch over it is alive.
"""

from __future__ import annotations

import mmap
from struct import Struct
from typing import NamedTuple, TypeAlias

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import CorruptRecord
from moldau.records.checksum import crc32c
from moldau.records.compression import CompressionType, compression_type_of
from moldau.records.record import TimestampType

Buffer: TypeAlias = bytes | bytearray | memoryview | mmap.mmap

MAGIC_V2 = 2
MAGIC_AT = 16  # in every format
LOG_OVERHEAD_BYTES = 12  # base offset and length, which every format begins with
HEADER_BYTES = 61

LOG_APPEND_TIME_FLAG = 0x08
TRANSACTIONAL_FLAG = 0x10
CONTROL_FLAG = 0x20
DELETE_HORIZON_FLAG = 0x40
BROKERS_FLAGS = LOG_APPEND_TIME_FLAG | CONTROL_FLAG | DELETE_HORIZON_FLAG  # what no client may set

NO_PRODUCER_ID = -1
NO_SEQUENCE = -1
NO_LEADER_EPOCH = -1

_INT32_MAX = (1 << 31) - 1
_INT64_MAX = (1 << 63) - 1

HEADER = Struct(">qiibIhiqqqhii")
HEADER_HEAD = Struct(">qiibI")  # up to the checksum
HEADER_TAIL = Struct(">hiqqqhii")  # what it covers of the header
ASSIGNED = Struct(">qii")  # what a broker sets, and the length between
ATTRIBUTES_AT = HEADER_HEAD.size  # from here on the checksum covers a batch


class Producer(NamedTuple):
    """Whose batch it is and where in that producer's sequence; -1 where a producer is not idempotent."""

    producer_id: int = NO_PRODUCER_ID
    producer_epoch: int = -1
    base_sequence: int = NO_SEQUENCE


NO_PRODUCER = Producer()


class RecordBatch:
    """The header of the batch at a position of a buffer; setters write to the buffer, which must then be writable."""

    __slots__ = (
        "attributes",
        "base_offset",
        "base_sequence",
        "base_timestamp",
        "buffer",
        "count",
        "crc",
        "last_offset_delta",
        "leader_epoch",
        "length",
        "magic",
        "max_timestamp",
        "position",
        "producer_epoch",
        "producer_id",
    )

    buffer: Buffer
    position: int
    base_offset: int
    length: int
    leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    count: int

    def __init__(self, buffer: Buffer, position: int = 0) -> None:
        """`buffer` must hold at least the 61 bytes of the header; nothing else is checked until asked for."""
        self.buffer = buffer
        self.position = position
        (
            self.base_offset,
            self.length,
            self.leader_epoch,
            self.magic,
            self.crc,
            self.attributes,
            self.last_offset_delta,
            self.base_timestamp,
            self.max_timestamp,
            self.producer_id,
            self.producer_epoch,
            self.base_sequence,
            self.count,
        ) = HEADER.unpack_from(buffer, position)

    @property
    def size_bytes(self) -> int:
        return LOG_OVERHEAD_BYTES + self.length

    @property
    def last_offset(self) -> int:
        return self.base_offset + self.last_offset_delta

    @property
    def next_offset(self) -> int:
        return self.base_offset + self.last_offset_delta + 1

    @property
    def last_sequence(self) -> int:
        if self.base_sequence == NO_SEQUENCE:
            return NO_SEQUENCE
        return add_to_sequence(self.base_sequence, self.last_offset_delta)

    @property
    def compression_type(self) -> CompressionType:
        return compression_type_of(self.attributes)

    @property
    def timestamp_type(self) -> TimestampType:
        log_append_time = self.attributes & LOG_APPEND_TIME_FLAG
        return TimestampType.LOG_APPEND_TIME if log_append_time else TimestampType.CREATE_TIME

    @property
    def is_transactional(self) -> bool:
        return bool(self.attributes & TRANSACTIONAL_FLAG)

    @property
    def is_control(self) -> bool:
        return bool(self.attributes & CONTROL_FLAG)

    @property
    def producer(self) -> Producer:
        return Producer(self.producer_id, self.producer_epoch, self.base_sequence)

    @property
    def delete_horizon_ms(self) -> int | None:
        """When the cleaner may drop this batch's tombstones and markers, if it has said so (KIP-534)."""
        return self.base_timestamp if self.attributes & DELETE_HORIZON_FLAG else None

    @property
    def data(self) -> memoryview:
        """The whole batch."""
        return memoryview(self.buffer)[self.position : self.position + self.size_bytes]

    @property
    def records_section(self) -> memoryview:
        """The records as they are in the batch, compressed or not."""
        return memoryview(self.buffer)[self.position + HEADER_BYTES : self.position + self.size_bytes]

    def check(self) -> None:
        """`CorruptRecord` unless size, magic, checksum and counts agree: true of every batch in a log."""
        position, view = self.position, memoryview(self.buffer)
        size = LOG_OVERHEAD_BYTES + self.length
        if size < HEADER_BYTES:
            raise self._corrupt(f"its size {size} is less than a header's {HEADER_BYTES} bytes")
        if position + size > len(view):
            raise self._corrupt(f"its size is {size} bytes, but {len(view) - position} are there")
        if self.magic != MAGIC_V2:
            raise self._corrupt(f"its magic is {self.magic}, not {MAGIC_V2}")
        crc = crc32c(view[position + ATTRIBUTES_AT : position + size])
        if crc != self.crc:
            raise self._corrupt(f"its checksum is {self.crc}, its contents' is {crc}")
        last_offset_delta = self.last_offset_delta
        if last_offset_delta < 0 or not 0 <= self.count <= last_offset_delta + 1:
            raise self._corrupt(f"it has {self.count} records and last offset delta {last_offset_delta}")
        if not 0 <= self.base_offset <= _INT64_MAX - 1 - last_offset_delta:
            raise self._corrupt(f"its base offset is {self.base_offset}")

    def check_produced(self) -> None:
        """Beyond `check`, what holds for a batch that comes from a producer; the error codes are Kafka's."""
        self.check()
        if (
            self.attributes & BROKERS_FLAGS == 0
            and self.count == self.last_offset_delta + 1
            and (self.producer_id < 0 or self.base_sequence >= 0)
        ):
            return
        if self.attributes & LOG_APPEND_TIME_FLAG:
            raise self._corrupt("clients may not set a log append time", ErrorCode.INVALID_TIMESTAMP)
        if self.count != self.last_offset_delta + 1:
            problem = f"it has {self.count} records and last offset delta {self.last_offset_delta}"
        elif self.attributes & CONTROL_FLAG:
            problem = "clients may not write control records"
        elif self.attributes & DELETE_HORIZON_FLAG:
            problem = "clients may not set a delete horizon"
        else:
            problem = f"its base sequence is {self.base_sequence} with producer id {self.producer_id}"
        raise self._corrupt(problem, ErrorCode.INVALID_RECORD)

    def assign(self, base_offset: int, leader_epoch: int) -> None:
        """Give the batch its place in the log; the checksum does not cover these fields, so it stays right."""
        self.base_offset = base_offset
        self.leader_epoch = leader_epoch
        ASSIGNED.pack_into(self.buffer, self.position, base_offset, self.length, leader_epoch)

    def set_log_append_time(self, timestamp_ms: int) -> None:
        """Make the broker's time the time of all records; the checksum is computed again."""
        self.attributes |= LOG_APPEND_TIME_FLAG
        self.max_timestamp = timestamp_ms
        self._rewrite()

    def set_max_timestamp(self, timestamp_ms: int) -> None:
        """Correct the largest timestamp; the checksum is computed again."""
        self.max_timestamp = timestamp_ms
        self._rewrite()

    def set_producer(self, producer: Producer) -> None:
        """Change whose batch this is, as a producer does after its epoch was raised (KIP-360)."""
        self.producer_id, self.producer_epoch, self.base_sequence = producer
        self._rewrite()

    def _rewrite(self) -> None:
        """Write all that the checksum covers, then what goes before it."""
        start = self.position
        HEADER_TAIL.pack_into(
            self.buffer,
            start + ATTRIBUTES_AT,
            self.attributes,
            self.last_offset_delta,
            self.base_timestamp,
            self.max_timestamp,
            self.producer_id,
            self.producer_epoch,
            self.base_sequence,
            self.count,
        )
        self.crc = crc32c(memoryview(self.buffer)[start + ATTRIBUTES_AT : start + self.size_bytes])
        HEADER_HEAD.pack_into(
            self.buffer, start, self.base_offset, self.length, self.leader_epoch, self.magic, self.crc
        )

    def _corrupt(self, problem: str, code: ErrorCode = ErrorCode.CORRUPT_MESSAGE) -> CorruptRecord:
        return CorruptRecord(f"record batch at {self.position}, base offset {self.base_offset}: {problem}", code)

    def __repr__(self) -> str:
        return (
            f"RecordBatch(offsets=[{self.base_offset}, {self.last_offset}], count={self.count}, "
            f"size_bytes={self.size_bytes}, attributes={self.attributes:#x}, leader_epoch={self.leader_epoch}, "
            f"producer=({self.producer_id}, {self.producer_epoch}, {self.base_sequence}), "
            f"max_timestamp={self.max_timestamp})"
        )


def add_to_sequence(sequence: int, increment: int) -> int:
    """Sequence numbers wrap from 2^31 - 1 to 0."""
    return sequence + increment & _INT32_MAX
