"""The question of a partition's leader: is this partition part of an open transaction of this producer? (KIP-890)

It goes to the coordinator of the transactional id, as an AddPartitionsToTxn that only verifies; a coordinator on this
broker is asked without one, which saves a fifth of a small transaction's work. One request at a time is under way to
each other broker, with everything that was asked meanwhile; a transactional id is in it once, since the answer tells
transactions apart by their ids alone.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial
from typing import Final

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError
from moldau.cluster.internal_topics import TRANSACTION_STATE
from moldau.cluster.metadata_cache import NO_LEADER, MetadataCache
from moldau.coordinator.transaction.broker_links import BrokerLinks
from moldau.coordinator.transaction.coordinator import TransactionCoordinator
from moldau.coordinator.transaction.transaction import ProducerIdAndEpoch
from moldau.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from moldau.storage.log_directory import TopicPartition

TRANSACTIONS_PER_REQUEST_MAX: Final = 1_000

Verified = Callable[[dict[TopicPartition, ErrorCode]], None]
"""Called once, with what the coordinator says of each partition, or why it said nothing."""


class Question:
    """What is asked of one transaction, by everybody who asked before it was sent."""

    __slots__ = ("asked", "partitions", "producer", "transactional_id")

    def __init__(self, transactional_id: str, producer: ProducerIdAndEpoch) -> None:
        self.transactional_id = transactional_id
        self.producer = producer
        self.partitions: dict[TopicPartition, None] = {}
        self.asked: list[tuple[Collection[TopicPartition], Verified]] = []

    def add(self, partitions: Collection[TopicPartition], verified: Verified) -> None:
        self.partitions.update(dict.fromkeys(partitions))
        self.asked.append((partitions, verified))

    def answer(self, codes: dict[TopicPartition, ErrorCode], otherwise: ErrorCode) -> None:
        for partitions, verified in self.asked:
            verified({key: codes.get(key, otherwise) for key in partitions})

    def message(self) -> AddPartitionsToTxnTransaction:
        topics: dict[str, AddPartitionsToTxnTopic] = {}
        for topic, partition in self.partitions:
            topics.setdefault(topic, AddPartitionsToTxnTopic(name=topic)).partitions.append(partition)
        return AddPartitionsToTxnTransaction(
            transactional_id=self.transactional_id,
            producer_id=self.producer.producer_id,
            producer_epoch=self.producer.producer_epoch,
            verify_only=True,
            topics=list(topics.values()),
        )


class TransactionVerifier:
    """`coordinator` is the one of this broker."""

    def __init__(
        self, broker_id: int, metadata: MetadataCache, links: BrokerLinks, coordinator: TransactionCoordinator
    ) -> None:
        self._broker_id = broker_id
        self._metadata = metadata
        self._links = links
        self._coordinator = coordinator
        self._queues: dict[int, dict[tuple[str, ProducerIdAndEpoch], Question]] = {}
        self._in_flight: set[int] = set()

    def verify(
        self,
        transactional_id: str,
        producer: ProducerIdAndEpoch,
        partitions: Collection[TopicPartition],
        verified: Verified,
    ) -> None:
        known = self._metadata.partition(TRANSACTION_STATE, self._coordinator.partition_of(transactional_id))
        if known is None or known.leader == NO_LEADER:
            verified(dict.fromkeys(partitions, ErrorCode.COORDINATOR_NOT_AVAILABLE))
            return
        if known.leader == self._broker_id:

            def done(outcome: dict[TopicPartition, ErrorCode] | ApiError) -> None:
                verified(dict.fromkeys(partitions, outcome.code) if isinstance(outcome, ApiError) else outcome)

            self._coordinator.verify_partitions(transactional_id, producer, partitions, done)
            return
        queue = self._queues.setdefault(known.leader, {})
        question = queue.get((transactional_id, producer))
        if question is None:
            question = queue[transactional_id, producer] = Question(transactional_id, producer)
        question.add(partitions, verified)
        self._send(known.leader)

    def _send(self, broker_id: int) -> None:
        if broker_id in self._in_flight:
            return
        taken = self._take(broker_id)
        if taken:
            request = AddPartitionsToTxnRequest(transactions=[question.message() for question in taken.values()])
            self._in_flight.add(broker_id)
            self._links.send(broker_id, request, partial(self._answered, broker_id, taken))

    def _take(self, broker_id: int) -> dict[str, Question]:
        queue = self._queues.get(broker_id, {})
        taken: dict[str, Question] = {}
        for key, question in list(queue.items()):
            if len(taken) >= TRANSACTIONS_PER_REQUEST_MAX:
                break
            if question.transactional_id not in taken:
                taken[question.transactional_id] = queue.pop(key)
        return taken

    def _answered(
        self, broker_id: int, asked: dict[str, Question], response: AddPartitionsToTxnResponse | None
    ) -> None:
        self._in_flight.discard(broker_id)
        otherwise = ErrorCode.NETWORK_EXCEPTION
        results = {}
        if response is not None:
            otherwise = ErrorCode(response.error_code) or otherwise
            results = {each.transactional_id: each for each in response.results_by_transaction}
        for transactional_id, question in asked.items():
            result = results.get(transactional_id)
            codes = {
                (topic.name, one.partition_index): ErrorCode(one.partition_error_code)
                for topic in (result.topic_results if result is not None else ())
                for one in topic.results_by_partition
            }
            question.answer(codes, otherwise)
        self._send(broker_id)
