"""Records of one partition that are sent together and share their fate.

A record is encoded when it is appended, so that `batch.size` means what it means in Kafka. How much room a batch that
will be compressed has is estimated from the ratio that earlier ones had.

A batch is open, closed (nothing can be appended, it is built and may be in flight) or done. A batch that the broker
found too large is split into smaller ones, and who holds a place in it finds it again through `resolve`.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from bisect import bisect_right
from collections.abc import Callable
from typing import Final, TypeAlias

from moldau.clients.records import RecordMetadata, TopicPartition
from moldau.records.batch import HEADER_BYTES, NO_PRODUCER, TRANSACTIONAL_FLAG, Producer
from moldau.records.builder import encode_record, write_header
from moldau.records.compression import CompressionType, compress
from moldau.records.record import NO_TIMESTAMP, Headers

logger = logging.getLogger(__name__)

Callback: TypeAlias = Callable[[RecordMetadata | None, Exception | None], object]
Place: TypeAlias = tuple[int, int, int]  # a record's timestamp, key size and value size

# Held for moments, when somebody begins to wait or a batch is done: one for all batches costs nothing.
_fates: Final = threading.Lock()

FULL = -1
# How much worse than the last ratio a batch may compress without outgrowing its size, as in the Java client.
_RATIO_MARGIN = 1.05
_HEADER_GAP = bytes(HEADER_BYTES)
_join = b"".join


class ProducerBatch:
    """To be filled under the accumulator's lock; once closed it belongs to the sender."""

    __slots__ = (
        "_callbacks",
        "_data",
        "_latch",
        "_starts",
        "attempts",
        "base_offset",
        "base_sequence",
        "base_timestamp",
        "closed",
        "compression_type",
        "count",
        "created_ms",
        "done",
        "error",
        "hurry",
        "level",
        "log_append_time_ms",
        "max_timestamp",
        "moment_bytes",
        "moment_ends_ns",
        "moment_indexes",
        "moment_ms",
        "moment_part",
        "number",
        "parts",
        "pieces",
        "producer_epoch",
        "producer_id",
        "records_bytes",
        "reserved_bytes",
        "retry_at_ms",
        "room_bytes",
        "sent",
        "sequence_was_reset",
        "topic_partition",
        "waiters",
    )

    def __init__(
        self,
        topic_partition: TopicPartition,
        limit_bytes: int,
        created_ms: float,
        compression_type: CompressionType = CompressionType.NONE,
        level: int | None = None,
        ratio: float = 1.0,
        *,
        awaitable: bool = False,
    ) -> None:
        self.topic_partition = topic_partition
        self.created_ms = created_ms
        self.compression_type = compression_type
        self.level = level
        self.count = 0
        self.records_bytes = 0
        self.base_timestamp = self.max_timestamp = NO_TIMESTAMP
        self.closed = False
        self.done = False
        self.sent = False  # whether it may be in the log already, whatever the answers were
        self.number: tuple[int, ...] = ()  # its place among the batches of its producer; pieces have one more digit
        self.attempts = 0
        self.retry_at_ms = 0.0
        self.base_sequence = -1
        self.producer_id = -1
        self.producer_epoch = -1
        self.sequence_was_reset = False
        self.base_offset = -1
        self.log_append_time_ms = NO_TIMESTAMP
        self.error: Exception | None = None
        self.waiters: list[asyncio.Future[None]] | None = [] if awaitable else None
        # To be called when somebody begins to await it, so that it is not sent a turn of the loop later; says for how
        # many turns it is worth while to look for the answer.
        self.hurry: Callable[[], int] | None = None
        # How many bytes of records it takes, before compression.
        self.room_bytes = limit_bytes - HEADER_BYTES
        if compression_type:
            self.room_bytes = int(self.room_bytes / (ratio * _RATIO_MARGIN))
        self.parts: list[bytes] = [_HEADER_GAP]
        # What `plain_append` knows of the millisecond in which it appends.
        self.moment_ms = self.moment_bytes = self.moment_ends_ns = 0
        self.moment_part = b""
        self.moment_indexes: tuple[bytes, ...] = ()
        self.reserved_bytes = 0  # of `buffer.memory`
        self._data: bytearray | memoryview | None = None
        self._callbacks: list[tuple[int, Callback, Place]] = []
        self._latch: threading.Lock | None = None
        self.pieces: list[ProducerBatch] = []  # what it was split into
        self._starts: list[int] = []

    # -- filling

    def append(self, timestamp: int, key: bytes | None, value: bytes | None, headers: Headers) -> int:
        """The record's place, or FULL; the first record always has room."""
        index = self.count
        delta = timestamp - self.base_timestamp if index else 0
        prefix, record = encode_record(index, delta, key, value, headers)
        records_bytes = self.records_bytes + len(prefix) + len(record)
        if index and records_bytes > self.room_bytes:
            return FULL
        self.parts += prefix, record
        self.records_bytes = records_bytes
        self.count = index + 1
        self.moment_ends_ns = 0
        if not index:
            self.base_timestamp = timestamp
        if timestamp > self.max_timestamp:
            self.max_timestamp = timestamp
        return index

    @property
    def is_full(self) -> bool:
        return self.records_bytes >= self.room_bytes

    @property
    def size_bytes(self) -> int:
        """What it is before compression."""
        return HEADER_BYTES + self.records_bytes

    # -- sending

    def build(self, producer: Producer = NO_PRODUCER, *, transactional: bool = False) -> bytearray | memoryview:
        """The bytes to be sent, with the producer's place in them.

        Built again they are a copy: nobody knows what the transport still holds of the first.
        """
        self.closed = True
        data: bytearray | memoryview
        if self._data is None:
            if self.compression_type is CompressionType.NONE:
                data = bytearray().join(self.parts)
            else:
                section = compress(self.compression_type, _join(self.parts[1:]), self.level)
                data = bytearray().join((_HEADER_GAP, section))
            self.parts = []
        else:
            data = bytearray(self._data) if self.sent else self._data
        attributes = self.compression_type | (TRANSACTIONAL_FLAG if transactional else 0)
        write_header(data, attributes, self.count, self.base_timestamp, self.max_timestamp, producer)
        self._data = data
        return data

    @property
    def compression_ratio(self) -> float:
        """What its records were compressed to, of 1; once it is built."""
        return (len(self._data) - HEADER_BYTES) / self.records_bytes if self._data is not None else 1.0

    def take_data(self, data: memoryview, count: int, base_timestamp: int, max_timestamp: int) -> None:
        """Become a batch that is encoded already, with room for its header."""
        self._data = data
        self.closed = True
        self.count = count
        self.base_timestamp = base_timestamp
        self.max_timestamp = max_timestamp
        self.records_bytes = len(data) - HEADER_BYTES

    # -- fate

    def call_when_done(self, index: int, callback: Callback, place: Place) -> None:
        """Call back with the metadata or the error of a record; `place` is what its future knows of it."""
        with _fates:
            if not self.done:
                self.add_callback(index, callback, place)
                return
        self._call(index, callback, place)

    def add_callback(self, index: int, callback: Callback, place: Place) -> None:
        """The same for a batch that cannot be done meanwhile, because it is open and the accumulator's lock held."""
        self._callbacks.append((index, callback, place))

    def metadata(self, index: int, timestamp: int, key_size: int, value_size: int) -> RecordMetadata:
        """Where a record went, once the batch is done."""
        topic, partition = self.topic_partition
        offset = self.base_offset + index if self.base_offset >= 0 else -1
        if self.log_append_time_ms != NO_TIMESTAMP:
            timestamp = self.log_append_time_ms
        return RecordMetadata(topic, partition, offset, timestamp, key_size, value_size)

    def complete(self, base_offset: int, log_append_time_ms: int, error: Exception | None) -> None:
        """Tell everybody, in the order of the records."""
        assert not self.done, "a batch has one fate"
        self.base_offset = base_offset
        self.log_append_time_ms = log_append_time_ms
        self.error = error
        self.parts = []
        self._data = None
        with _fates:
            self.done = True
            callbacks, self._callbacks = self._callbacks, []
        self._wake()
        for index, callback, place in callbacks:
            self._call(index, callback, place)

    def wait(self, timeout_s: float | None) -> bool:
        """Wait, in another thread than the loop's, until it is done or split; False if that took too long."""
        with _fates:
            if self.done or self.pieces:
                return True
            latch = self._latch
            if latch is None:
                latch = self._latch = threading.Lock()
                latch.acquire()
        if not latch.acquire(timeout=-1 if timeout_s is None else max(0.0, timeout_s)):
            return False
        latch.release()  # for the next one who waits
        return True

    def _wake(self) -> None:
        if self._latch is not None:
            self._latch.release()
        for waiter in self.waiters or ():
            if not waiter.done():
                waiter.set_result(None)
        if self.waiters:
            self.waiters = []

    def _call(self, index: int, callback: Callback, place: Place) -> None:
        try:
            if self.error is not None:
                callback(None, self.error)
            else:
                callback(self.metadata(index, *place), None)
        except Exception:
            logger.exception("A delivery callback of topic %s raised", self.topic_partition.topic)

    # -- splitting

    def split_into(self, pieces: list[ProducerBatch]) -> None:
        """Hand the places over to smaller batches that hold the same records in the same order."""
        start = 0
        for piece in pieces:
            self._starts.append(start)
            start += piece.count
        assert start == self.count, "a split keeps every record"
        with _fates:
            self.pieces = pieces
            callbacks, self._callbacks = self._callbacks, []
        for index, callback, place in callbacks:
            piece, inner = self.resolve(index)
            piece.add_callback(inner, callback, place)
        self._data = None
        self._wake()

    def resolve(self, index: int) -> tuple[ProducerBatch, int]:
        """The batch that has the record now, and the record's place in it."""
        if not self.pieces:
            return self, index
        number = bisect_right(self._starts, index) - 1
        return self.pieces[number].resolve(index - self._starts[number])
