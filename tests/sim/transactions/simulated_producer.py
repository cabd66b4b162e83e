"""A transactional producer in the simulation: it keeps to the protocol, tries again, and notes what it was told."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

from moldau.base.clock import LoopClock
from moldau.base.error_codes import ErrorCode
from moldau.base.errors import Disconnected
from moldau.net.channel import Channel
from moldau.net.client_options import ClientOptions
from moldau.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from moldau.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from moldau.protocol.messages.end_txn import EndTxnRequest
from moldau.protocol.messages.find_coordinator import FindCoordinatorRequest
from moldau.protocol.messages.init_producer_id import InitProducerIdRequest
from moldau.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from moldau.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from moldau.protocol.schema import Message
from moldau.records.batch import Producer
from moldau.records.builder import build_batch
from moldau.records.record import Record
from tests.sim.groups.simulated_broker import HOST, PORT

TOPIC, PARTITIONS = "t", 2
GROUP_TYPE, TRANSACTION_TYPE = 0, 1
TIMEOUT_MS = 8_000
OPTIONS = ClientOptions(request_timeout_ms=3_000, reconnect_backoff_max_ms=500)
PASSING = frozenset(
    (
        ErrorCode.CONCURRENT_TRANSACTIONS,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.LEADER_NOT_AVAILABLE,
    )
)
FENCED = frozenset((ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.INVALID_TXN_STATE))


class Refused(Exception):
    """The producer has been fenced, or its transaction is over."""

    def __init__(self, code: ErrorCode) -> None:
        super().__init__(code.name)
        self.code = code


@dataclass
class Attempt:
    """One transaction, as far as its producer knows."""

    name: str
    transactional_id: str
    number: int
    written: list[tuple[int, str]] = field(default_factory=list)  # acknowledged: partition and value
    has_offset: bool = False
    outcome: str = "unknown"  # or committed, aborted


@dataclass
class History:
    """All transactions of a run, in the order in which they began."""

    attempts: dict[str, Attempt] = field(default_factory=dict)
    violations: list[str] = field(default_factory=list)

    def begin(self, transactional_id: str) -> Attempt:
        number = len(self.attempts)
        attempt = Attempt(f"{transactional_id}.{number}", transactional_id, number)
        self.attempts[attempt.name] = attempt
        return attempt


class SimulatedProducer:
    """To be made and run on a host of its own."""

    ends_with = FENCED  # what may end it; any other refusal is a violation

    def __init__(self, name: str, transactional_id: str, history: History, random: Random) -> None:
        self.name = name
        self.transactional_id = transactional_id
        self.is_leaving = False
        self._history = history
        self._random = random
        self._channel = Channel(HOST, PORT, OPTIONS)
        self._producer_id = self._epoch = -1
        self._sequences: dict[int, int] = {}

    async def run(self) -> None:
        """Transactions until it is told to leave, or is fenced."""
        try:
            await self._init()
            while not self.is_leaving:
                await self._transaction(self._history.begin(self.transactional_id))
                await self._pause()
        except Refused as refusal:
            if refusal.code not in self.ends_with:
                self._history.violations.append(f"{self.name} was refused: {refusal.code.name}")
        finally:
            self._channel.close()

    async def _pause(self) -> None:
        await asyncio.sleep(self._random.choice((0.0, 0.0, 0.02, 0.5)))

    async def _ask(self, request: Message, version: int, code_of: Callable[[Any], int]) -> Any:
        """Ask until there is an answer that lasts; whoever is fenced hears it as `Refused`."""
        while True:
            try:
                answer = await self._channel.request(request, version)
            except Disconnected:
                await asyncio.sleep(max(0.05, self._channel.retry_in_ms / 1000))
                continue
            code = ErrorCode(code_of(answer))
            if code is ErrorCode.NONE:
                return answer
            if code not in PASSING:
                raise Refused(code)
            await asyncio.sleep(0.05)

    # -- the protocol

    async def _init(self) -> None:
        for key, kind in ((self.transactional_id, TRANSACTION_TYPE), (self.transactional_id, GROUP_TYPE)):
            await self._ask(FindCoordinatorRequest(key=key, key_type=kind), 3, lambda answer: answer.error_code)
        request = InitProducerIdRequest(transactional_id=self.transactional_id, transaction_timeout_ms=TIMEOUT_MS)
        answer = await self._ask(request, 4, lambda answer: answer.error_code)
        self._producer_id, self._epoch = answer.producer_id, answer.producer_epoch

    async def _transaction(self, attempt: Attempt) -> None:
        committed = self._random.random() < 0.7
        for partition in self._random.sample(range(PARTITIONS), self._random.randint(1, PARTITIONS)):
            await self._add(partition)
            for index in range(self._random.randint(1, 3)):
                await self._write(partition, f"{attempt.name}/{partition}/{index}", attempt)
                await self._pause()
        if self._random.random() < 0.5:
            await self._commit_offset(attempt)
        await self._end(committed)
        attempt.outcome = "committed" if committed else "aborted"

    async def _add(self, partition: int) -> None:
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self.transactional_id,
            v3_and_below_producer_id=self._producer_id,
            v3_and_below_producer_epoch=self._epoch,
            v3_and_below_topics=[AddPartitionsToTxnTopic(name=TOPIC, partitions=[partition])],
        )
        await self._ask(
            request,
            3,
            lambda answer: answer.results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code,
        )

    async def _write(self, partition: int, value: str, attempt: Attempt) -> None:
        sequence = self._sequences.get(partition, 0)
        now_ms = LoopClock(asyncio.get_running_loop()).now_ms()
        batch = build_batch(
            [Record(0, now_ms, None, value.encode())],
            producer=Producer(self._producer_id, self._epoch, sequence),
            transactional=True,
        )
        data = PartitionProduceData(index=partition, records=bytes(batch))
        request = ProduceRequest(
            transactional_id=self.transactional_id,
            acks=-1,
            timeout_ms=3_000,
            topic_data=[TopicProduceData(name=TOPIC, partition_data=[data])],
        )
        await self._ask(request, 9, lambda answer: answer.responses[0].partition_responses[0].error_code)
        self._sequences[partition] = sequence + 1
        attempt.written.append((partition, value))

    async def _commit_offset(self, attempt: Attempt) -> None:
        """The offset is the number of the transaction, so that it says whose it was."""
        add = AddOffsetsToTxnRequest(
            transactional_id=self.transactional_id,
            producer_id=self._producer_id,
            producer_epoch=self._epoch,
            group_id=self.transactional_id,
        )
        await self._ask(add, 3, lambda answer: answer.error_code)
        one = TxnOffsetCommitRequestPartition(partition_index=0, committed_offset=attempt.number)
        commit = TxnOffsetCommitRequest(
            transactional_id=self.transactional_id,
            group_id=self.transactional_id,
            producer_id=self._producer_id,
            producer_epoch=self._epoch,
            topics=[TxnOffsetCommitRequestTopic(name=TOPIC, partitions=[one])],
        )
        await self._ask(commit, 2, lambda answer: answer.topics[0].partitions[0].error_code)
        attempt.has_offset = True

    async def _end(self, committed: bool) -> None:
        request = EndTxnRequest(
            transactional_id=self.transactional_id,
            producer_id=self._producer_id,
            producer_epoch=self._epoch,
            committed=committed,
        )
        await self._ask(request, 3, lambda answer: answer.error_code)
