"""Asking the controller for other in-sync replicas (AlterPartition, KIP-497), and hearing what it says.

Proposals of all partitions go together, one request at a time; those that come up meanwhile wait for the next. What
becomes of a proposal is the partition's to decide: it takes over what the controller answers, sends it again, or waits
to hear of the partition by LeaderAndIsr.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError
from moldau.base.supervision import OnFailure, Supervisor
from moldau.protocol.messages.alter_partition import (
    AlterPartitionRequest,
    AlterPartitionResponse,
    BrokerState,
    RequestPartitionData,
    RequestTopicData,
    ResponsePartitionData,
)
from moldau.protocol.schema import ZERO_UUID
from moldau.replication.in_sync_replicas import IsrProposal
from moldau.replication.partition_state import Moved
from moldau.replication.remote_replica import UNKNOWN_BROKER_EPOCH
from moldau.replication.replicas import LogPartition, Replicas
from moldau.storage.log_directory import TopicPartition

logger = logging.getLogger(__name__)

RETRY_BACKOFF_MS = 50

Send = Callable[[AlterPartitionRequest], Awaitable[AlterPartitionResponse]]


class IsrUpdates:
    """`send` asks the controller, and raises `ApiError` if there is no answer."""

    def __init__(self, replicas: Replicas, send: Send, supervisor: Supervisor, broker_epoch: Callable[[], int]) -> None:
        self._replicas = replicas
        self._send = send
        self._supervisor = supervisor
        self._broker_epoch = broker_epoch
        self._waiting: dict[TopicPartition, IsrProposal] = {}
        self._is_asking = False
        replicas.on_proposal = self.propose

    def propose(self, key: TopicPartition, proposal: IsrProposal) -> None:
        self._waiting[key] = proposal
        if not self._is_asking:
            self._is_asking = True
            self._supervisor.start("alter-partition", self._ask, OnFailure.RESTART)

    def review(self) -> None:
        """Every half of `replica.lag.time.max.ms`: propose to leave out who has not kept up, or to have one back."""
        now_ms = self._replicas.clock.monotonic_ms()
        for key, partition in self._replicas.partitions.items():
            proposal = partition.propose_to_shrink(now_ms)
            if proposal is not None:
                logger.info("%s: shrinking ISR from %s to %s", partition.name, partition.isr.committed, proposal.isr)
                self.propose(key, proposal)
            else:
                self._have_back(key, partition, now_ms)

    def _have_back(self, key: TopicPartition, partition: LogPartition, now_ms: float) -> None:
        proposal = partition.propose_to_rejoin(now_ms)
        if proposal is not None:
            self.propose(key, proposal)

    async def _ask(self) -> None:
        try:
            while self._waiting:
                asked, self._waiting = self._waiting, {}
                try:
                    answer = await self._send(self._request(asked))
                except ApiError as error:
                    logger.warning("in-sync replicas of %d partitions are not settled yet: %s", len(asked), error)
                    self._again(asked, error.code)
                else:
                    self._hear(asked, answer)
                if self._waiting:
                    await asyncio.sleep(RETRY_BACKOFF_MS / 1000)
        finally:
            self._is_asking = False

    def _request(self, asked: Mapping[TopicPartition, IsrProposal]) -> AlterPartitionRequest:
        topics: dict[str, RequestTopicData] = {}
        for (topic, index), proposal in asked.items():
            topic_id = self._replicas.topic_ids.get(topic, ZERO_UUID)
            data = topics.setdefault(topic, RequestTopicData(topic_name=topic, topic_id=topic_id))
            partition = self._replicas.partitions.get((topic, index))
            isr = [
                BrokerState(broker_id=broker_id, broker_epoch=self._epoch_of(partition, broker_id))
                for broker_id in proposal.isr
            ]
            data.partitions.append(
                RequestPartitionData(
                    partition_index=index,
                    leader_epoch=proposal.leader_epoch,
                    new_isr_with_epochs=isr,
                    partition_epoch=proposal.partition_epoch,
                )
            )
        return AlterPartitionRequest(
            broker_id=self._replicas.broker_id, broker_epoch=self._broker_epoch(), topics=list(topics.values())
        )

    def _epoch_of(self, partition: LogPartition | None, broker_id: int) -> int:
        if broker_id == self._replicas.broker_id:
            return self._broker_epoch()
        replica = partition.remote_replicas.get(broker_id) if partition is not None else None
        return replica.broker_epoch if replica is not None else UNKNOWN_BROKER_EPOCH

    def _hear(self, asked: Mapping[TopicPartition, IsrProposal], answer: AlterPartitionResponse) -> None:
        if answer.error_code:
            self._again(asked, ErrorCode(answer.error_code))
            return
        names = {topic_id: topic for topic, topic_id in self._replicas.topic_ids.items()}
        for topic in answer.topics:
            name = topic.topic_name or names.get(topic.topic_id, "")
            for outcome in topic.partitions:
                key = name, outcome.partition_index
                if key in asked:
                    self._settle(key, asked[key], outcome)

    def _settle(self, key: TopicPartition, proposal: IsrProposal, outcome: ResponsePartitionData) -> None:
        partition = self._replicas.partitions.get(key)
        if partition is None:
            return
        if outcome.error_code:
            self._again({key: proposal}, ErrorCode(outcome.error_code))
            return
        moved: Moved = partition.on_isr_accepted(
            proposal,
            outcome.leader_epoch,
            tuple(outcome.isr),
            outcome.partition_epoch,
            self._replicas.clock.monotonic_ms(),
        )
        logger.info("%s: ISR is %s, partition epoch %d", partition.name, outcome.isr, outcome.partition_epoch)
        self._replicas.produces.touch(key)  # fewer in-sync replicas than needed end a wait as well
        self._replicas.moved(key, moved)
        self._have_back(key, partition, self._replicas.clock.monotonic_ms())

    def _again(self, asked: Mapping[TopicPartition, IsrProposal], error: ErrorCode) -> None:
        for key, proposal in asked.items():
            partition = self._replicas.partitions.get(key)
            again = partition.on_isr_refused(proposal, error) if partition is not None else None
            if again is not None:
                self._waiting.setdefault(key, again)
