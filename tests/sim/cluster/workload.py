"""Clients of the simulated cluster, and everything that they were told.

Idempotent producers write values that say who wrote them and in which order; transactional producers and members of a
group are those of the other simulations; readers keep offset and value of all committed records that they see.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

from moldau.base.clock import LoopClock
from moldau.base.error_codes import ErrorCode
from moldau.base.errors import Disconnected
from moldau.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic, PartitionData
from moldau.protocol.messages.init_producer_id import InitProducerIdRequest
from moldau.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from moldau.protocol.schema import Message
from moldau.records.batch import Producer
from moldau.records.builder import build_batch
from moldau.records.reader import read_batch
from moldau.records.record import Record
from moldau.records.walk import batches
from tests.sim.cluster.cluster_channel import ClusterChannel
from tests.sim.cluster.invariants import Violated
from tests.sim.groups.simulated_member import History as GroupHistory
from tests.sim.groups.simulated_member import SimulatedMember
from tests.sim.transactions.simulated_producer import FENCED, PASSING, Refused, SimulatedProducer
from tests.sim.transactions.simulated_producer import History as TransactionHistory

logger = logging.getLogger(__name__)

TOPIC, PARTITIONS = "t", 2
READ_COMMITTED = 1
TIMEOUT_MS = 2_000
RETRY_S = 0.2
PAUSES_S = (0.01, 0.1, 0.3, 0.5)
AGAIN = PASSING | {
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    ErrorCode.REQUEST_TIMED_OUT,
    ErrorCode.KAFKA_STORAGE_ERROR,
    ErrorCode.NOT_CONTROLLER,
    ErrorCode.OFFSET_NOT_AVAILABLE,
}


@dataclass
class ClientHistory:
    """What clients were told."""

    acknowledged: dict[str, tuple[int, int]] = field(default_factory=dict)  # value → partition and offset
    transactions: TransactionHistory = field(default_factory=TransactionHistory)
    group: GroupHistory = field(default_factory=GroupHistory)
    violations: list[str] = field(default_factory=list)
    on_acknowledged: Callable[[int, int], None] = lambda _partition, _offset: None

    def check(self) -> None:
        found = self.violations + self.transactions.violations + self.group.violations
        if found:
            raise Violated("clients_told", "; ".join(found))


async def ask_until_it_lasts(
    channel: ClusterChannel, request: Message, version: int, code_of: Callable[[Any], int]
) -> Any:
    """Ask until there is an answer that is not about to change; an error that lasts is raised as `Refused`."""
    while True:
        try:
            answer = await channel.request(request, version)
        except Disconnected as error:
            logger.info("%s is asked again: %s", type(request).__name__, error)
        else:
            code = ErrorCode(code_of(answer))
            if code is ErrorCode.NONE:
                return answer
            logger.info("%s is answered with %s", type(request).__name__, code.name)
            if code not in AGAIN:
                raise Refused(code)
        channel.forget()
        await asyncio.sleep(RETRY_S)


class IdempotentProducer:
    """Writes one record after the other to one partition, each again and again until it is acknowledged."""

    def __init__(self, name: str, partition: int, brokers: int, history: ClientHistory, random: Random) -> None:
        self.name = name
        self.is_leaving = False
        self._partition = partition
        self._history = history
        self._random = random
        self._channel = ClusterChannel(brokers, random, name)

    async def run(self) -> None:
        try:
            answer = await ask_until_it_lasts(
                self._channel, InitProducerIdRequest(), 4, lambda answer: answer.error_code
            )
            sequence = 0
            while not self.is_leaving:
                await self._write(Producer(answer.producer_id, answer.producer_epoch, sequence))
                sequence += 1
                await asyncio.sleep(self._random.choice(PAUSES_S))
        except Refused as refused:
            self._history.violations.append(f"{self.name} was refused: {refused.code.name}")
        finally:
            self._channel.close()

    async def _write(self, producer: Producer) -> None:
        value = f"{self.name}:{producer.base_sequence}"
        now_ms = LoopClock(asyncio.get_running_loop()).now_ms()
        batch = build_batch([Record(0, now_ms, None, value.encode())], producer=producer)
        data = PartitionProduceData(index=self._partition, records=bytes(batch))
        request = ProduceRequest(
            acks=-1, timeout_ms=TIMEOUT_MS, topic_data=[TopicProduceData(name=TOPIC, partition_data=[data])]
        )
        answer = await ask_until_it_lasts(
            self._channel, request, 9, lambda answer: answer.responses[0].partition_responses[0].error_code
        )
        offset = answer.responses[0].partition_responses[0].base_offset
        self._history.acknowledged[value] = self._partition, offset
        self._history.on_acknowledged(self._partition, offset)


class TransactionalProducer(SimulatedProducer):
    """A coordinator that was paused for longer than its session knows nothing of the ids that its successor gave out
    meanwhile. It says so before it hears that it is no coordinator any more, as Kafka's does.
    """

    ends_with = FENCED | {ErrorCode.INVALID_PRODUCER_ID_MAPPING}

    def __init__(
        self, name: str, transactional_id: str, brokers: int, history: TransactionHistory, random: Random
    ) -> None:
        super().__init__(name, transactional_id, history, random)
        self._channel: ClusterChannel = ClusterChannel(brokers, random, name)

    async def _ask(self, request: Message, version: int, code_of: Callable[[Any], int]) -> Any:
        return await ask_until_it_lasts(self._channel, request, version, code_of)


class GroupMember(SimulatedMember):
    partitions = PARTITIONS

    def __init__(self, name: str, brokers: int, history: GroupHistory, random: Random) -> None:
        super().__init__(name, history, random)
        self._channel = ClusterChannel(brokers, random, name)


class Reader:
    """Reads committed records from the beginning; `seen` has offset and value, by partition."""

    def __init__(self, name: str, brokers: int, history: ClientHistory, random: Random) -> None:
        self.name = name
        self.seen: list[list[tuple[int, str]]] = [[] for _ in range(PARTITIONS)]
        self.offsets = [0] * PARTITIONS
        self.high_watermarks = [-1] * PARTITIONS
        self._history = history
        self._channel = ClusterChannel(brokers, random, name)

    @property
    def is_at_end(self) -> bool:
        return self.offsets == self.high_watermarks

    async def run(self) -> None:
        while True:
            for partition in range(PARTITIONS):
                await self.read(partition)
            await asyncio.sleep(RETRY_S)

    async def read(self, partition: int) -> bool:
        """What is there; whether there was anything."""
        one = FetchPartition(partition=partition, fetch_offset=self.offsets[partition], partition_max_bytes=1 << 20)
        request = FetchRequest(
            topics=[FetchTopic(topic=TOPIC, partitions=[one])],
            max_wait_ms=500,
            min_bytes=1,
            max_bytes=1 << 20,
            isolation_level=READ_COMMITTED,
        )
        try:
            answer = await self._channel.request(request, 12)
        except Disconnected:
            await asyncio.sleep(RETRY_S)
            return False
        data = answer.responses[0].partitions[0]
        if data.error_code:
            if data.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
                self._history.violations.append(f"{self.name} has read to {self.offsets}, which is not there any more")
            self._channel.forget()
            await asyncio.sleep(RETRY_S)
            return False
        self.high_watermarks[partition] = data.high_watermark
        before = self.offsets[partition]
        self._take(partition, data)
        return self.offsets[partition] > before

    def _take(self, partition: int, data: PartitionData) -> None:
        aborted = sorted((each.first_offset, each.producer_id) for each in data.aborted_transactions or ())
        skipped: set[int] = set()
        for batch in batches(bytes(data.records or b"")):
            while aborted and aborted[0][0] <= batch.last_offset:
                skipped.add(aborted.pop(0)[1])
            if batch.is_control:
                skipped.discard(batch.producer_id)
            elif batch.base_offset >= self.offsets[partition] and not (
                batch.is_transactional and batch.producer_id in skipped
            ):
                for record in read_batch(batch):
                    self.seen[partition].append((record.offset, bytes(record.value or b"").decode()))
            self.offsets[partition] = max(self.offsets[partition], batch.next_offset)

    def close(self) -> None:
        self._channel.close()
