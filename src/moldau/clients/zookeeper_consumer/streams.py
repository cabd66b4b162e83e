"""What a thread of an old consumer iterates over: the records of its partitions, as they come."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterable
from typing import Final

from moldau.base.errors import MoldauError
from moldau.clients.consumer.consumer_record import ConsumerRecord
from moldau.clients.records import TopicPartition

_LOOK_S: Final = 0.2


class ConsumerTimeout(MoldauError):
    """Nothing came within consumer.timeout.ms; the stream can be iterated further."""


class Stream:
    """Iterated over by one thread. Ends when the consumer is closed, or raises what ended it."""

    def __init__(self, topic: str, room: int, timeout_ms: int, failure: Callable[[], BaseException | None]) -> None:
        self.topic = topic
        self._records: queue.SimpleQueue[ConsumerRecord] = queue.SimpleQueue()
        self._room = room
        self._timeout_ms = timeout_ms
        self._failure = failure
        self._closed = threading.Event()
        self._lock = threading.Lock()
        self._next_offsets: dict[TopicPartition, int] = {}
        self._partitions: frozenset[TopicPartition] = frozenset()

    def __iter__(self) -> Stream:
        return self

    def __next__(self) -> ConsumerRecord:
        waited_ms = 0.0
        while True:
            step_ms = _LOOK_S * 1000 if self._timeout_ms < 0 else min(_LOOK_S * 1000, self._timeout_ms - waited_ms)
            try:
                record = self._records.get(timeout=max(0.0, step_ms / 1000))
            except queue.Empty:
                if (error := self._failure()) is not None:
                    raise error from None
                if self._closed.is_set():
                    raise StopIteration from None
                waited_ms += step_ms
                if 0 <= self._timeout_ms <= waited_ms:
                    raise ConsumerTimeout(f"no record of {self.topic} within {self._timeout_ms} ms") from None
                continue
            if self._handed_out(record):
                return record

    def _handed_out(self, record: ConsumerRecord) -> bool:
        """Whether the record is still the stream's to hand out; then the next one is where to go on."""
        partition = TopicPartition(record.topic, record.partition)
        with self._lock:
            if partition not in self._partitions:
                return False
            self._next_offsets[partition] = record.offset + 1
            return True

    # -- the consumer's side

    @property
    def is_full(self) -> bool:
        return self._records.qsize() >= self._room

    def start(self, partitions: Iterable[TopicPartition]) -> None:
        with self._lock:
            self._partitions = frozenset(partitions)
            self._next_offsets.clear()

    def stop(self) -> dict[TopicPartition, int]:
        """Hand out nothing more of what has come; how far each partition was handed out."""
        with self._lock:
            self._partitions = frozenset()
            offsets, self._next_offsets = self._next_offsets, {}
        while not self._records.empty():
            self._records.get()
        return offsets

    def offsets(self) -> dict[TopicPartition, int]:
        with self._lock:
            return dict(self._next_offsets)

    def put(self, record: ConsumerRecord) -> None:
        self._records.put(record)

    def close(self) -> None:
        self._closed.set()
