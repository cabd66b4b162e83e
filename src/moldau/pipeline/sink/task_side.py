"""A task's side of the sink: rows in, acknowledged records out.

The parts are the producer's own: accumulator, sender, sequences. What is different is the transaction, which stays
open, and the connections, which outlive the task. Rows are encoded in the task's thread and sent in the loop's.
"""

from __future__ import annotations

import asyncio
import os
from typing import Any, Final
from weakref import WeakSet

import pyarrow as pa

from moldau.base.config.schema import Scope
from moldau.base.errors import ApiError, MoldauError
from moldau.clients.errors import BufferExhausted, RecordTooLarge, TimedOut, TopicMissing
from moldau.clients.network.cluster import Cluster
from moldau.clients.network.metadata import ClusterMetadata
from moldau.clients.producer.accumulator import RecordAccumulator, TopicQueues
from moldau.clients.producer.batch import ProducerBatch
from moldau.clients.producer.columns import batches_of
from moldau.clients.producer.core import limits_of, sender_options
from moldau.clients.producer.delivery import Deliveries
from moldau.clients.producer.producer_ids import ProducerIds
from moldau.clients.producer.sender import Sender
from moldau.clients.producer.sequences import Sequences
from moldau.pipeline.link import Link, link_to
from moldau.pipeline.sink.driver_side import explained
from moldau.pipeline.sink.errors import SinkError
from moldau.pipeline.sink.open_transaction import OpenTransaction
from moldau.pipeline.sink.routing import pieces
from moldau.pipeline.sink.settings import SinkSettings
from moldau.pipeline.sink.transactions import TransactionRequests
from moldau.pipeline.sink.values import Transaction

# How long a topic may be unknown if nobody says how long to wait: it may just have been made.
_TOPIC_MS: Final = 10_000.0
_ABORT_S: Final = 10.0

_senders: WeakSet[Sender] = WeakSet()
_watched: WeakSet[Cluster] = WeakSet()


def task_link(settings: SinkSettings) -> Link:
    """A task's link asks for topics as Java's producer does: so that brokers may create them."""
    return link_to(settings.kafka, Scope.PRODUCER, creates_topics=True)


class TaskSide:
    """Writes rows, in a transaction or without. Its failure is final: make another one."""

    def __init__(self, settings: SinkSettings, transaction: Transaction | None = None) -> None:
        self.error: Exception | None = None
        self._settings = settings
        self._link = task_link(settings)
        self._cluster = self._link.cluster
        config = self._cluster.config
        self._block_ms = float(config.integer("max.block.ms"))
        self._topic_ms = self._block_ms if "max.block.ms" in config.explicit else _TOPIC_MS
        self._request_bytes_max = min(config.integer("max.request.size"), config.integer("buffer.memory"))
        self._requests = TransactionRequests(self._cluster, self._block_ms)
        self._transaction: OpenTransaction | None = None
        self._link.run(self._make(transaction))

    async def _make(self, transaction: Transaction | None) -> None:
        cluster, config = self._cluster, self._cluster.config
        self._loop = asyncio.get_running_loop()
        self._accumulator = RecordAccumulator(limits_of(cluster.settings, awaitable=False), cluster.clock, self._wake)
        sequences = None
        need_producer_id = None
        if transaction is not None:
            sequences = Sequences(transactional=True)
            sequences.begin(transaction.producer_id, transaction.epoch)
            self._transaction = OpenTransaction(
                cluster, self._requests, transaction, self._wake_in_loop, self._failed_soon
            )
        elif config.boolean("enable.idempotence"):
            sequences = Sequences()
            need_producer_id = ProducerIds(cluster, sequences, self._wake_in_loop, self._failed_soon).need
        self._deliveries = Deliveries(
            self._accumulator,
            cluster.clock,
            cluster.backoff,
            retries=config.integer("retries"),
            timeout_ms=config.integer("delivery.timeout.ms"),
            sequences=sequences,
            on_lost=self._failed_soon,
            may_send=lambda: self.error is None,
        )
        self._sender = Sender(
            cluster,
            self._accumulator,
            self._deliveries,
            sender_options(cluster.settings),
            sequences=sequences,
            need_producer_id=need_producer_id,
            transaction=self._transaction,
        )
        _senders.add(self._sender)
        if cluster not in _watched:
            _watched.add(cluster)
            cluster.on_update(_wake_senders)

    @property
    def usable(self) -> bool:
        """Whether it has not failed, and its link is still the one that this process keeps."""
        return self.error is None and task_link(self._settings) is self._link

    # -- the task's thread

    def write(self, rows: pa.RecordBatch) -> None:
        """Take rows in; waits while brokers are behind."""
        clock, limits = self._cluster.clock, self._accumulator.limits
        for topic, partition, columns in pieces(rows, self._settings.topic, self._partition_count):
            queues = self._queues(topic)
            for batch in batches_of(
                columns, queues, partition, limits, clock.now_ms(), clock.monotonic_ms, self._request_bytes_max
            ):
                self._put(queues, batch)

    def flush(self) -> None:
        """Wait until all of it is acknowledged; raises why something is not."""
        self._link.run(self._flush())

    def abort(self) -> None:
        """End the transaction of an attempt that has failed; if that fails too, the driver will."""
        self.close()
        if self._transaction is not None and self._transaction.added:
            try:
                self._link.run(self._requests.end(self._transaction.transaction, commit=False), _ABORT_S)
            except MoldauError:
                return

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._sender.stop)

    @property
    def partitions(self) -> dict[str, tuple[int, ...]]:
        """What was written to in the transaction."""
        found: dict[str, list[int]] = {}
        for topic, partition in sorted(self._transaction.added if self._transaction is not None else ()):
            found.setdefault(topic, []).append(partition)
        return {topic: tuple(numbers) for topic, numbers in found.items()}

    def _queues(self, topic: str) -> TopicQueues:
        queues = self._accumulator.topics.get(topic)
        if queues is None:
            try:
                known = self._link.run(self._cluster.topic(topic, self._topic_ms))
            except TimedOut as error:
                raise self._unknown(topic, error) from error
            except ApiError as error:
                raise explained(error, self._settings) from error
            queues = self._accumulator.topic(known)
        return queues

    def _unknown(self, topic: str, error: TimedOut) -> SinkError:
        """Why a topic cannot be written to: it does not exist, or nobody can be asked for it."""
        servers = self._settings.servers
        named = f"topic {topic} ({'option' if self._settings.topic else 'column'} topic)"
        if isinstance(error, TopicMissing):
            return SinkError(
                f"{named} does not exist at {servers}, and was not created within {self._topic_ms:.0f} ms. Create it: "
                f"kafka-topics --bootstrap-server {servers} --create --topic {topic}; or set "
                "auto.create.topics.enable=true on the brokers"
            )
        return SinkError(
            f"{named} cannot be written to: {error.message}. See whether the brokers at {servers} run and can be "
            "reached from here"
        )

    def _partition_count(self, topic: str) -> int:
        return len(self._queues(topic).queues)

    def _put(self, queues: TopicQueues, batch: ProducerBatch) -> None:
        if batch.count == 1 and batch.size_bytes > self._request_bytes_max:
            raise RecordTooLarge(
                f"a record for topic {queues.name} is {batch.size_bytes} bytes when serialized, more than "
                f"{self._request_bytes_max}, the smaller of kafka.max.request.size and kafka.buffer.memory"
            )
        accumulator = self._accumulator
        while True:
            finished = accumulator.finished
            try:
                if accumulator.add_closed(queues, batch):
                    return
            except Exception as error:
                raise self._described(error) from error
            if not accumulator.wait_for_memory(finished, self._block_ms / 1000):
                raise BufferExhausted(
                    f"the brokers of topic {queues.name} took nothing for kafka.max.block.ms={self._block_ms:.0f} ms"
                )

    def _described(self, error: Exception) -> Exception:
        return explained(error, self._settings) if type(error) is ApiError else error

    # -- the loop

    async def _flush(self) -> None:
        self._accumulator.flushing += 1
        try:
            self._sender.wake()
            while self.error is None and self._accumulator.incomplete:
                await self._sender.progress()
        finally:
            self._accumulator.flushing -= 1
        if self.error is not None:
            raise self._described(self.error)

    def _failed_soon(self, error: Exception) -> None:
        """Remember the first failure; what it means for the rest is done after whoever found it has finished."""
        if self.error is None:
            self.error = error
            self._loop.call_soon(self._give_up)

    def _give_up(self) -> None:
        assert self.error is not None
        self._accumulator.refuse(self.error)
        for batch in [*self._accumulator.incomplete]:
            self._accumulator.withdraw(batch)
            self._deliveries.give_up(batch, self.error, known=False)
        self._sender.stop()
        self._sender.tell_progress()

    def _wake(self) -> None:
        self._sender.wake_threadsafe()

    def _wake_in_loop(self) -> None:
        self._sender.wake()


def _wake_senders(_metadata: ClusterMetadata) -> None:
    for sender in list(_senders):
        sender.wake()


_kept: dict[tuple[int, Any], TaskSide] = {}


def kept_task_side(settings: SinkSettings) -> TaskSide:
    """The one of this process without transactions: its producer id and numbers go on from task to task."""
    key = (os.getpid(), settings)
    side = _kept.get(key)
    if side is None or not side.usable:
        _kept.clear()
        side = _kept[key] = TaskSide(settings)
    return side
