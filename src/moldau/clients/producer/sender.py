"""Sends ready batches to the brokers that lead their partitions.

Theory of operation. `run` is a plain call in the loop: it looks at every partition that has batches, sends what can be
sent now, and says until when it may sleep. It is called when a batch becomes ready, when an answer comes, when metadata
changes and when its timer runs out. There is no task per request. A request has at most one batch of a partition and is
not larger than `max.request.size`; at most `max.in.flight.requests.per.connection` are without answer.

With one request in flight a partition is left alone until its batch is answered, so that retries keep the order. With
idempotence the sequences see to that with up to five.

Who awaits each record before the next gives the sender one batch at a time, and that goes the way which the last one of
its partition went, as long as nothing has changed: there is nobody to share a request with, and nothing to look up. A
broker on the same machine answers before a processor that has gone to sleep is awake again, so if the last answer came
that soon, whoever awaits this one lets the loop go on turning for a moment instead.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError, Disconnected, MoldauError, RequestTimedOut
from moldau.base.supervision import OnFailure
from moldau.clients.errors import error_code
from moldau.clients.network.cluster import Cluster
from moldau.clients.producer.accumulator import NEVER_MS, PartitionQueue, RecordAccumulator
from moldau.clients.producer.batch import ProducerBatch
from moldau.clients.producer.delivery import FENCED, OF_METADATA, Deliveries
from moldau.clients.producer.sequences import Sequences
from moldau.clients.producer.single_produce import VERSIONS as SINGLE_VERSIONS
from moldau.clients.producer.ways import SentTo, Way, Ways
from moldau.clients.records import TopicPartition
from moldau.net.client import ClientConnection
from moldau.protocol.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from moldau.records.batch import NO_PRODUCER
from moldau.records.convert import down_convert

# The newest version in which topics have names and partitions are added to a transaction by their own request.
PRODUCE_VERSION_MAX = 11
# Brokers before 0.11 take message sets only.
_BATCHES_SINCE = 3
_REQUEST_OVERHEAD_BYTES = 256
# How soon an answer has to come for the next to be looked for without sleep, and for how many turns of the loop that is
# done: 25 µs where nothing else happens in it.
NEARBY_MS = 0.2
TURNS_AWAKE = 30
# With one processor it would keep the broker from answering.
_PROCESSORS = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

Sent = list[tuple[PartitionQueue, ProducerBatch]]
Built = tuple[PartitionQueue, ProducerBatch, Any]  # the last is the batch's bytes


class Transaction(Protocol):
    """What the sender asks of transactions."""

    @property
    def transactional_id(self) -> str: ...

    def may_send(self, of: TopicPartition) -> bool:
        """Whether a partition is part of the transaction; if not, it is being added."""
        ...

    def failed(self, error: Exception) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SenderOptions:
    """Settings that the sender obeys."""

    acks: int = -1
    in_flight_max: int = 5
    request_bytes_max: int = 1048576
    request_timeout_ms: int = 30_000


class Sender:
    """`stopped` ends it: from then on nothing is sent."""

    def __init__(
        self,
        cluster: Cluster,
        accumulator: RecordAccumulator,
        deliveries: Deliveries,
        options: SenderOptions,
        *,
        sequences: Sequences | None = None,
        need_producer_id: Callable[[], None] | None = None,
        transaction: Transaction | None = None,
    ) -> None:
        self.stopped = False
        self.requests = 0
        self.request_latency_ms = 0.0
        self.request_latency_max_ms = 0.0
        self.on_progress: list[asyncio.Future[None]] = []
        self._cluster = cluster
        self._accumulator = accumulator
        self._deliveries = deliveries
        self._options = options
        self._sequences = sequences
        self._need_producer_id = need_producer_id
        self._transaction = transaction
        self._brokers: dict[int, SentTo] = {}
        self._has_singles = options.acks != 0 and transaction is None
        self._ways = Ways(cluster, options.acks, options.request_timeout_ms)
        # Only where no other thread appends, since what waits is looked at without the lock.
        self._sends_alone = self._has_singles and accumulator.limits.awaitable and not accumulator.limits.linger_ms
        self._loop = asyncio.get_running_loop()
        self._is_nearby = False  # whether the last answer came at once
        self._scheduled = False
        self._timer: asyncio.TimerHandle | None = None
        self._timer_ms = NEVER_MS
        self._unknown = False
        self._expiry_ms = 0.0  # nothing runs out of time before

    # -- when

    def wake(self) -> None:
        """Run soon; to be called in the loop."""
        if not self._scheduled and not self.stopped:
            self._scheduled = True
            self._loop.call_soon(self.hurry)

    def hurry(self) -> int:
        """Run now what is to run soon: somebody begins to wait for it, and need not sleep for so many turns."""
        if not self._scheduled:
            return 0
        if self._send_alone():
            return TURNS_AWAKE if self._is_nearby else 0
        self.run()
        return 0

    def wake_threadsafe(self) -> None:
        """Run soon; to be called in any thread, and at most once for each `run`."""
        try:
            self._loop.call_soon_threadsafe(self.run)
        except RuntimeError:
            self.stopped = True  # the loop was closed under it; what waits is answered by whoever closes the producer

    def run(self) -> None:
        """Send what can be sent now."""
        self._scheduled = False
        if self.stopped:
            return
        accumulator = self._accumulator
        accumulator.sleeps_until_ms = NEVER_MS  # whoever appends from here on wakes this again
        now_ms = self._cluster.clock.monotonic_ms()
        if now_ms >= self._expiry_ms:
            if self._deliveries.expire(now_ms):
                self.tell_progress()
            self._expiry_ms = self._deliveries.next_expiry_ms(now_ms)
        next_ms = self._find_ready(now_ms)
        for broker in list(self._brokers.values()):
            if broker.ready:
                next_ms = min(next_ms, self._serve(broker, now_ms))
        if self._unknown:
            self._cluster.request_update()
        self._sleep(min(next_ms, self._expiry_ms), now_ms)

    def stop(self) -> None:
        self.stopped = True
        if self._timer is not None:
            self._timer.cancel()

    def _sleep(self, until_ms: float, now_ms: float) -> None:
        with self._accumulator.lock:
            self._accumulator.sleeps_until_ms = min(self._accumulator.sleeps_until_ms, until_ms)
        if until_ms >= self._timer_ms:
            return  # it rings earlier; then the sender looks, and sets it anew
        if self._timer is not None:
            self._timer.cancel()
        self._timer_ms = until_ms
        self._timer = self._loop.call_later(max(0.001, (until_ms - now_ms) / 1000), self._ring)

    def _ring(self) -> None:
        self._timer_ms = NEVER_MS
        self.run()

    async def progress(self) -> None:
        """Wait until something was answered or given up."""
        waiter = self._loop.create_future()
        self.on_progress.append(waiter)
        await waiter

    @property
    def in_flight(self) -> int:
        return sum(broker.in_flight for broker in self._brokers.values())

    def tell_progress(self) -> None:
        """Let those who wait for fates look again."""
        waiters, self.on_progress = self.on_progress, []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)

    # -- what

    def _send_alone(self) -> bool:
        """Send the only batch there is as the last one of its partition was; False if that cannot be said."""
        accumulator = self._accumulator
        if not self._sends_alone or len(accumulator.waiting) != 1 or self._timer_ms > self._expiry_ms or self.stopped:
            return False
        (queue,) = accumulator.waiting
        way = self._ways.open(queue)
        if way is None or way.broker.in_flight >= self._options.in_flight_max:
            return False
        if queue.in_flight or len(queue.batches) > 1 or queue.batches[0].attempts or not self._may_send(queue):
            return False
        self._scheduled = False
        accumulator.sleeps_until_ms = NEVER_MS  # as in `run`
        batch = accumulator.take(queue)
        data = self._build(batch, way.single.version)
        if data is not None:
            self._write_single(way, queue, batch, data)
        self._sleep(self._expiry_ms, 0.0)  # the timer rings by then: it need not be set, and the time is not asked for
        return True

    def _find_ready(self, now_ms: float) -> float:
        """Sort the ready partitions by broker; when the next one will be ready."""
        accumulator = self._accumulator
        for broker in self._brokers.values():
            broker.ready = []
        self._unknown = False
        next_ms = NEVER_MS
        for queue in accumulator.queues_waiting():
            if not queue.batches:
                continue
            if not accumulator.is_ready(queue, now_ms):
                next_ms = min(next_ms, accumulator.ready_at_ms(queue))
                continue
            of = queue.topic_partition
            leader = self._cluster.metadata.leader(of)
            if leader is None:
                self._unknown = True
                self._cluster.add_topics([of.topic])
            elif self._may_send(queue):
                if leader.leader not in self._brokers:
                    self._brokers[leader.leader] = SentTo(leader.leader)
                self._brokers[leader.leader].ready.append(queue)
        return next_ms

    def _may_send(self, queue: PartitionQueue) -> bool:
        if self._options.in_flight_max == 1 and queue.in_flight:
            return False
        sequences = self._sequences
        if sequences is not None:
            if not sequences.has_id:
                if self._need_producer_id is not None:
                    self._need_producer_id()
                return False
            if not sequences.may_send(queue.batches[0]):
                return False
        return self._transaction is None or self._transaction.may_send(queue.topic_partition)

    def _serve(self, broker: SentTo, now_ms: float) -> float:
        """Send as many requests to a broker as it may have; when to look again."""
        channel = self._cluster.channel(broker.node_id)
        connection = channel.connected
        if connection is None:
            if not broker.connecting:
                if retry_in_ms := channel.retry_in_ms:
                    return now_ms + retry_in_ms
                broker.connecting = True
                name = f"connect to broker {broker.node_id}"
                self._cluster.supervisor.start(name, partial(self._connect, broker), OnFailure.LOG)
            return NEVER_MS
        while broker.ready and broker.in_flight < self._options.in_flight_max and connection.can_send:
            self._send(broker, connection)
            broker.ready = [each for each in broker.ready if self._is_ready_again(each, now_ms)]
        return NEVER_MS

    def _is_ready_again(self, queue: PartitionQueue, now_ms: float) -> bool:
        return bool(queue.batches) and self._accumulator.is_ready(queue, now_ms) and self._may_send(queue)

    async def _connect(self, broker: SentTo) -> None:
        try:
            await self._cluster.connection(broker.node_id)
        except MoldauError:
            self._cluster.request_update()  # it may be gone for good
        finally:
            broker.connecting = False
            self.wake()

    def _send(self, broker: SentTo, connection: ClientConnection) -> None:
        try:
            version = min(connection.version_of(ProduceRequest), PRODUCE_VERSION_MAX)
        except MoldauError as error:
            self._deliveries.give_up(self._accumulator.take(broker.ready[0]), error, known=True)
            return
        built: list[Built] = []
        size = _REQUEST_OVERHEAD_BYTES
        for queue in broker.ready:
            if built and size + queue.batches[0].size_bytes > self._options.request_bytes_max:
                break
            batch = self._accumulator.take(queue)
            data = self._build(batch, version)
            if data is None:
                continue
            size += len(data)
            built.append((queue, batch, data))
        if len(built) == 1 and self._has_singles and version in SINGLE_VERSIONS:
            self._write_single(self._ways.of(built[0][0], broker, connection, version), *built[0])
        elif built:
            self._write(broker, connection, version, built)

    def _build(self, batch: ProducerBatch, version: int) -> Any:
        producer = self._sequences.assign(batch) if self._sequences is not None else NO_PRODUCER
        try:
            data = batch.build(producer, transactional=self._transaction is not None)
            if batch.compression_type and not batch.sent:
                self._accumulator.compressed(batch)
            batch.sent = True
            return data if version >= _BATCHES_SINCE else down_convert(data, 1 if version == _BATCHES_SINCE - 1 else 0)
        except ApiError as error:
            self._deliveries.give_up(batch, error, known=True)
            return None

    def _write(
        self,
        broker: SentTo,
        connection: ClientConnection,
        version: int,
        built: list[Built],
    ) -> None:
        options = self._options
        self.requests += 1
        broker.in_flight += 1
        topics: dict[str, TopicProduceData] = {}
        for queue, _, data in built:
            queue.in_flight += 1
            name, partition = queue.topic_partition
            topic = topics.get(name)
            if topic is None:
                topic = topics[name] = TopicProduceData(name=name)
            topic.partition_data.append(PartitionProduceData(index=partition, records=data))
        request = ProduceRequest(
            acks=options.acks, timeout_ms=options.request_timeout_ms, topic_data=list(topics.values())
        )
        if self._transaction is not None:
            request.transactional_id = self._transaction.transactional_id
        if options.acks == 0:
            connection.tell(request, version)
            broker.in_flight -= 1
            for queue, batch, _ in built:
                queue.in_flight -= 1
                self._deliveries.written(batch, -1)
            self._loop.call_soon(self.tell_progress)
            return
        sent = [(queue, batch) for queue, batch, _ in built]
        sent_ms = self._cluster.clock.monotonic_ms()
        connection.send_then(request, version, partial(self._answered, broker, sent, sent_ms))

    def _write_single(self, way: Way, queue: PartitionQueue, batch: ProducerBatch, data: Any) -> None:
        single, broker, connection = way.single, way.broker, way.connection
        self.requests += 1
        broker.in_flight += 1
        queue.in_flight += 1
        sent_ms = self._cluster.clock.monotonic_ms()

        def read(frame: memoryview, correlation_id: int) -> bool:
            written = single.written(frame, correlation_id)
            if written is None:
                return False
            self._count_answer(broker, sent_ms)
            queue.in_flight -= 1
            self._deliveries.written(batch, *written)
            self._go_on()
            return True

        connection.send_known(
            single.parts(connection.next_correlation_id, data),
            ProduceResponse,
            single.version,
            read,
            partial(self._answered, broker, [(queue, batch)], sent_ms),
        )

    # -- answers

    def _answered(
        self,
        broker: SentTo,
        sent: Sent,
        sent_ms: float,
        response: ProduceResponse | None,
        failure: Exception | None,
    ) -> None:
        self._count_answer(broker, sent_ms)
        for queue, _ in sent:
            queue.in_flight -= 1
        if response is not None:
            self._settle(sent, response)
        else:
            timed_out = isinstance(failure, RequestTimedOut)
            code = ErrorCode.REQUEST_TIMED_OUT if timed_out else ErrorCode.NETWORK_EXCEPTION
            if not isinstance(failure, Disconnected):
                code = ErrorCode.UNKNOWN_SERVER_ERROR
            self._cluster.request_update()
            for queue, batch in sent:
                self._deliveries.refused(queue, batch, code, f"broker {broker.node_id}: {failure}")
        self._go_on()

    def _count_answer(self, broker: SentTo, sent_ms: float) -> None:
        broker.in_flight -= 1
        latency_ms = self._cluster.clock.monotonic_ms() - sent_ms
        self._is_nearby = latency_ms < NEARBY_MS and _PROCESSORS > 1
        self.request_latency_ms += latency_ms
        if latency_ms > self.request_latency_max_ms:
            self.request_latency_max_ms = latency_ms

    def _go_on(self) -> None:
        if self.on_progress:
            self.tell_progress()
        if self._accumulator.waiting:
            self.wake()

    def _settle(self, sent: Sent, response: ProduceResponse) -> None:
        answers: dict[tuple[str, int], PartitionProduceResponse] = {
            (topic.name, each.index): each for topic in response.responses for each in topic.partition_responses
        }
        for queue, batch in sent:
            answer = answers.get(queue.topic_partition)
            if answer is None:
                self._deliveries.refused(
                    queue, batch, ErrorCode.UNKNOWN_SERVER_ERROR, "the broker's answer is incomplete"
                )
                continue
            if not answer.error_code:
                self._deliveries.written(batch, answer.base_offset, answer.log_append_time_ms)
                continue
            code = error_code(answer.error_code)
            if code in OF_METADATA:
                self._learn_leader(queue.topic_partition, answer, response)
            self._deliveries.answered(queue, batch, answer, code)
            if code in FENCED and self._transaction is not None:
                self._transaction.failed(batch.error or ApiError(code))

    def _learn_leader(self, of: TopicPartition, answer: PartitionProduceResponse, response: ProduceResponse) -> None:
        """The broker may name the new leader with its refusal (KIP-951); else metadata has to be asked for."""
        leader = answer.current_leader
        named = leader is not None and leader.leader_id >= 0
        if not (
            named
            and leader is not None
            and self._cluster.leader_changed(of, leader.leader_id, leader.leader_epoch, response.node_endpoints)
        ):
            answer.current_leader = None
            self._cluster.request_update()
