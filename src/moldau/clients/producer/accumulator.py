"""Records that wait to be sent, in batches, by partition.

Theory of operation. Any thread appends, under one lock that is held for about a microsecond; the loop takes batches
out. A batch is ready when it is full or another waits behind it, when it has lingered, when somebody waits for memory,
or when everything is to go out (flush, close). The sender tells how long it means to sleep, and is woken if there is
reason to look earlier.

An open batch takes `batch.size` of `buffer.memory`, as in Kafka, a closed one what it needs, until it is done. Who
finds no room for a new batch waits, in a thread with `wait_for_memory` or in the loop with `memory_freed`.
"""

from __future__ import annotations

import asyncio
import random
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from itertools import takewhile

from moldau.base.clock import Clock
from moldau.clients.network.metadata import Topic
from moldau.clients.producer.batch import FULL, Callback, ProducerBatch
from moldau.clients.producer.futures import RecordFuture
from moldau.clients.producer.partitioners import StickyPartition
from moldau.clients.records import TopicPartition
from moldau.records.batch import HEADER_BYTES
from moldau.records.compression import CompressionType
from moldau.records.record import Headers

NEVER_MS = float("inf")
CROWD_BATCHES = 10
RECORD_OVERHEAD_BYTES = 21 + HEADER_BYTES  # what a record has beside its key, value and headers, at most
# How fast the expected compression of a topic follows what is seen, as in the Java client.
_RATIO_WORSE = 0.05
_RATIO_BETTER = 0.005
# Stands for the batch of a queue that has none.
NO_BATCH = ProducerBatch(TopicPartition("", -1), 0, 0.0)
NO_BATCH.closed = True


@dataclass(frozen=True, slots=True, kw_only=True)
class AccumulatorLimits:
    """Settings that the accumulator obeys."""

    batch_bytes: int = 16384  # batch.size
    linger_ms: float = 0  # linger.ms
    memory_bytes: int = 33554432  # buffer.memory
    compression_type: CompressionType = CompressionType.NONE
    compression_level: int | None = None
    adaptive: bool = True  # partitioner.adaptive.partitioning.enable
    awaitable: bool = False  # whether futures are awaited in the loop


class PartitionQueue:
    """The batches of one partition, oldest first; the last one may still be open."""

    __slots__ = ("batches", "in_flight", "topic_partition")

    def __init__(self, topic_partition: TopicPartition) -> None:
        self.topic_partition = topic_partition
        self.batches: deque[ProducerBatch] = deque()
        self.in_flight = 0


class TopicQueues:
    """What the accumulator knows of a topic."""

    __slots__ = ("leaderless", "name", "queues", "ratio", "sticky", "sticky_batch", "used_ms")

    def __init__(self, topic: Topic, drawn_from: random.Random) -> None:
        self.name = topic.name
        self.ratio = 1.0
        self.used_ms = 0.0  # when a batch was last begun
        self.sticky = StickyPartition(drawn_from)
        self.sticky_batch = NO_BATCH  # the last one that was begun in a sticky partition
        self.queues: list[PartitionQueue] = []
        self.leaderless: frozenset[int] = frozenset()
        self.learn(topic)
        self.sticky.draw([(number, 0) for number in range(len(self.queues))], 1)

    def learn(self, topic: Topic) -> None:
        """Take what metadata says now; partitions are only ever added."""
        for number in range(len(self.queues), len(topic.partitions)):
            self.queues.append(PartitionQueue(TopicPartition(topic.name, number)))
        self.leaderless = frozenset(each.partition for each in topic.partitions if each.leader < 0)


class RecordAccumulator:
    """All waiting records of a producer."""

    def __init__(
        self, limits: AccumulatorLimits, clock: Clock, wake: Callable[[], None], drawn_from: random.Random | None = None
    ) -> None:
        self.limits = limits
        self.lock = threading.Lock()
        self.topics: dict[str, TopicQueues] = {}
        self.waiting: dict[PartitionQueue, None] = {}  # queues that have batches
        self.used_bytes = 0
        self.waiting_for_memory = 0
        self.flushing = 0
        self.incomplete: dict[ProducerBatch, None] = {}  # without a fate, oldest first
        # Whether the partition of the newest batch has more of them than a few requests take: let the sender run.
        self.crowded = False
        self.hurry: Callable[[], int] | None = None  # what batches that are awaited in the loop call
        self.refusal: Exception | None = None  # why nothing is taken any more
        self.finished = 0  # batches that had their fate, and so gave memory back
        # The sender's: until when it sleeps. It is woken at most once, by whoever has reason first.
        self.sleeps_until_ms = NEVER_MS
        self._last_number = 0
        self._monotonic_ms = clock.monotonic_ms
        self._wake = wake
        self._wake_wanted = False
        self._random = drawn_from or random.Random()
        self._memory_freed = threading.Condition(self.lock)
        self._memory_waiters: deque[asyncio.Future[None]] = deque()

    # -- any thread

    def topic(self, topic: Topic) -> TopicQueues:
        """The queues of a topic, made when it is first written to."""
        with self.lock:
            queues = self.topics.get(topic.name)
            if queues is None:
                queues = self.topics[topic.name] = TopicQueues(topic, self._random)
                queues.used_ms = self._monotonic_ms()
            else:
                queues.learn(topic)
            return queues

    def append(
        self,
        topic: TopicQueues,
        partition: int | None,
        timestamp: int,
        key: bytes | None,
        value: bytes | None,
        headers: Headers,
        callback: Callback | None,
    ) -> RecordFuture | None:
        """The record's future; None if there is no memory for it now."""
        key_size = len(key) if key is not None else -1
        value_size = len(value) if value is not None else -1
        with self.lock:
            batches = topic.queues[topic.sticky.number if partition is None else partition].batches
            batch = batches[-1] if batches else NO_BATCH
            index = FULL if batch.closed else batch.append(timestamp, key, value, headers)
            if index == FULL:
                if self.refusal is not None:
                    raise self.refusal
                size = max(self.limits.batch_bytes, key_size + value_size + RECORD_OVERHEAD_BYTES)
                if self.used_bytes + size > self.limits.memory_bytes and self.used_bytes:
                    return None
                batch = self._next_batch(topic, partition, batch, size)
                index = batch.append(timestamp, key, value, headers)
                if index == FULL:  # the batch that waits in the next sticky partition has no room either
                    batch = topic.sticky_batch = self._new_batch(topic, topic.queues[topic.sticky.number], size)
                    index = batch.append(timestamp, key, value, headers)
            if callback is not None:
                batch.add_callback(index, callback, (timestamp, key_size, value_size))
        if self._wake_wanted:
            self._wake_if_wanted()
        return RecordFuture(batch, index, timestamp, key_size, value_size)

    def _new_batch(self, topic: TopicQueues, queue: PartitionQueue, size: int) -> ProducerBatch:
        limits = self.limits
        now_ms = self._monotonic_ms()
        batch = ProducerBatch(
            queue.topic_partition,
            limits.batch_bytes,
            now_ms,
            limits.compression_type,
            limits.compression_level,
            topic.ratio,
            awaitable=limits.awaitable,
        )
        batch.hurry = self.hurry
        batch.reserved_bytes = size
        self.used_bytes += size
        topic.used_ms = now_ms
        queue.batches.append(batch)
        self.crowded = len(queue.batches) > CROWD_BATCHES
        self.waiting[queue] = None
        self._enlist(batch)
        # With another batch before it, that one is ready now, and the sender may sleep for its lingering.
        ready_at_ms = now_ms if len(queue.batches) > 1 else now_ms + limits.linger_ms
        self.wake_by(ready_at_ms)
        return batch

    def _next_batch(self, topic: TopicQueues, partition: int | None, last: ProducerBatch, size: int) -> ProducerBatch:
        """A batch with room, after there was none in `last`."""
        if partition is None:
            sticky = topic.sticky
            # The last batch is full, or was sent as it was: then its bytes count, and it may be this partition again.
            sticky.left_bytes -= topic.sticky_batch.records_bytes
            if not last.closed or sticky.left_bytes <= 0:
                self._draw_sticky(topic)
            partition = sticky.number
            batches = topic.queues[partition].batches
            if batches and not batches[-1].closed and batches[-1] is not last:
                topic.sticky_batch = batches[-1]
            else:
                topic.sticky_batch = self._new_batch(topic, topic.queues[partition], size)
            return topic.sticky_batch
        return self._new_batch(topic, topic.queues[partition], size)

    def _draw_sticky(self, topic: TopicQueues) -> None:
        queues = topic.queues
        usable = [queue for queue in queues if queue.topic_partition.partition not in topic.leaderless] or queues
        adaptive = self.limits.adaptive
        waiting = [(each.topic_partition.partition, len(each.batches) if adaptive else 0) for each in usable]
        topic.sticky.draw(waiting, max(1, self.limits.batch_bytes))

    def _reserve(self, batch: ProducerBatch, size: int) -> None:
        self.used_bytes += size - batch.reserved_bytes
        batch.reserved_bytes = size

    def _enlist(self, batch: ProducerBatch) -> None:
        self._last_number += 1
        batch.number = (self._last_number,)
        self.incomplete[batch] = None

    def refuse(self, error: Exception) -> None:
        """Take nothing from now on, also from threads that are already on their way here."""
        with self.lock:
            self.refusal = error
            for queue in self.waiting:
                queue.batches[-1].closed = True

    def wake_by(self, when_ms: float) -> None:
        """The sender has something to do at that time: it is to be woken if it would sleep longer."""
        if when_ms < self.sleeps_until_ms:
            self.sleeps_until_ms = when_ms
            self._wake_wanted = True

    def _wake_if_wanted(self) -> None:
        """To be called without the lock, or the first thing that the sender did would be to wait for it."""
        if self._wake_wanted:
            self._wake_wanted = False
            self._wake()

    def wait_for_memory(self, seen: int, timeout_s: float) -> bool:
        """Wait, in another thread than the loop's, until `finished` is not `seen`; False if that took too long."""
        with self.lock:
            self.waiting_for_memory += 1
            self.wake_by(0.0)
        self._wake_if_wanted()
        with self._memory_freed:
            try:
                return self._memory_freed.wait_for(lambda: self.finished != seen, timeout_s)
            finally:
                self.waiting_for_memory -= 1

    async def memory_freed(self) -> None:
        """Wait, in the loop, until a batch is done."""
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        with self.lock:
            self._memory_waiters.append(waiter)
            self.waiting_for_memory += 1
            self.wake_by(0.0)
        self._wake_if_wanted()
        try:
            await waiter
        finally:
            with self.lock:
                self.waiting_for_memory -= 1

    # -- the loop

    def is_ready(self, queue: PartitionQueue, now_ms: float) -> bool:
        """Whether the oldest batch of a queue is to be sent now."""
        batch = queue.batches[0]
        if batch.attempts:
            return now_ms >= batch.retry_at_ms
        return (
            batch.closed
            or len(queue.batches) > 1
            or batch.is_full
            or now_ms - batch.created_ms >= self.limits.linger_ms
            or self.flushing > 0
            or self.waiting_for_memory > 0
        )

    def ready_at_ms(self, queue: PartitionQueue) -> float:
        """When the oldest batch of a queue that is not ready will be."""
        batch = queue.batches[0]
        return batch.retry_at_ms if batch.attempts else batch.created_ms + self.limits.linger_ms

    def take(self, queue: PartitionQueue) -> ProducerBatch:
        """The oldest batch, closed; of the memory it reserved it keeps what it needs."""
        with self.lock:
            batch = queue.batches.popleft()
            if not batch.closed:
                batch.closed = True
                self._reserve(batch, batch.size_bytes)
            if not queue.batches:
                del self.waiting[queue]
        return batch

    def put_back(self, queue: PartitionQueue, batch: ProducerBatch) -> None:
        """A batch that is to be sent again, before those that were made after it."""
        with self.lock:
            self._insert(queue, batch)

    def _insert(self, queue: PartitionQueue, batch: ProducerBatch) -> None:
        place = 0
        for other in queue.batches:
            if other.number > batch.number:
                break
            place += 1
        queue.batches.insert(place, batch)
        self.waiting[queue] = None

    def put_split(self, queue: PartitionQueue, whole: ProducerBatch, pieces: list[ProducerBatch]) -> None:
        """What a batch was split into, in its place."""
        with self.lock:
            self.incomplete.pop(whole, None)
            for index, piece in enumerate(pieces):
                piece.number = (*whole.number, index)
                self.incomplete[piece] = None
                self._insert(queue, piece)
            self._reserve(whole, 0)
            for piece in pieces:
                self._reserve(piece, piece.size_bytes)

    def add_closed(self, topic: TopicQueues, batch: ProducerBatch) -> bool:
        """A batch that came filled; the open one before it, if any, goes first. False if there is no memory for it now.

        Without a partition it goes to the sticky one, and the next one is drawn.
        """
        with self.lock:
            if self.refusal is not None:
                raise self.refusal
            if self.used_bytes + batch.size_bytes > self.limits.memory_bytes and self.used_bytes:
                return False
            if batch.topic_partition.partition < 0:
                self._draw_sticky(topic)
                batch.topic_partition = topic.queues[topic.sticky.number].topic_partition
            queue = topic.queues[batch.topic_partition.partition]
            queue.batches.append(batch)
            self.waiting[queue] = None
            self._enlist(batch)
            self._reserve(batch, batch.size_bytes)
            self.wake_by(0.0)
        self._wake_if_wanted()
        return True

    def compressed(self, batch: ProducerBatch) -> None:
        """Learn from a batch how well its topic compresses: quickly that it got worse, slowly that it got better."""
        topic = self.topics[batch.topic_partition.topic]
        ratio = batch.compression_ratio
        step = _RATIO_WORSE if ratio > topic.ratio else -_RATIO_BETTER
        topic.ratio = max(topic.ratio + step, ratio)

    def done(self, batch: ProducerBatch) -> None:
        """A batch has its fate: its memory is free."""
        with self.lock:
            self.incomplete.pop(batch, None)
            self._reserve(batch, 0)
            self.finished += 1
            if self.waiting_for_memory:
                self._memory_freed.notify_all()
                for waiter in self._memory_waiters:
                    if not waiter.done():
                        waiter.set_result(None)
                self._memory_waiters.clear()

    def queues_waiting(self) -> list[PartitionQueue]:
        with self.lock:
            return [*self.waiting]

    def topics_used(self, since_ms: float) -> list[str]:
        """Topics that have been written to since a moment."""
        with self.lock:
            return [name for name, topic in self.topics.items() if topic.used_ms >= since_ms]

    def overdue(self, created_before_ms: float) -> list[ProducerBatch]:
        """The batches without a fate that were made before a moment."""
        with self.lock:
            return list(takewhile(lambda batch: batch.created_ms <= created_before_ms, self.incomplete))

    def oldest_ms(self) -> float:
        """When the oldest batch without a fate was made; never if there is none."""
        with self.lock:
            return next((batch.created_ms for batch in self.incomplete), NEVER_MS)

    def withdraw(self, batch: ProducerBatch) -> bool:
        """Take a batch out wherever it waits; False if it does not wait but is in flight."""
        topic, partition = batch.topic_partition
        queue = self.topics[topic].queues[partition]
        with self.lock:
            if batch not in queue.batches:
                return False
            batch.closed = True
            queue.batches.remove(batch)
            if not queue.batches:
                del self.waiting[queue]
        return True
