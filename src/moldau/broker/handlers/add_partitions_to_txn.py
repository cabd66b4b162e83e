"""AddPartitionsToTxn: make partitions part of a transaction, all of them or none.

Up to version 3 a producer asks for its own transaction; before version 2 a fenced one hears INVALID_PRODUCER_EPOCH.
From version 4 brokers ask for many transactions at once, and mostly only whether the partitions are part of them
already (KIP-890): what a leader must know before it writes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError
from moldau.broker.call import Call
from moldau.broker.handlers import handles
from moldau.broker.producer_fencing import told_code
from moldau.coordinator.transaction.transaction import ProducerIdAndEpoch
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopicResult,
    AddPartitionsToTxnTransaction,
)
from moldau.storage.log_directory import TopicPartition

if TYPE_CHECKING:
    from moldau.broker.node import Node

PRODUCER_FENCED_VERSION = 2
BATCHED_VERSION = 4
Outcomes = Mapping[TopicPartition, ErrorCode]


def refused(request: AddPartitionsToTxnRequest, code: ErrorCode, _message: str) -> AddPartitionsToTxnResponse:
    keys = [(topic.name, partition) for topic in request.v3_and_below_topics for partition in topic.partitions]
    return AddPartitionsToTxnResponse(
        error_code=code, results_by_topic_v3_and_below=_by_topic(dict.fromkeys(keys, code))
    )


@handles(ApiKey.ADD_PARTITIONS_TO_TXN, "0-5", on_error=refused)
def add_partitions_to_txn(node: Node, request: AddPartitionsToTxnRequest, call: Call) -> None:
    if call.version >= BATCHED_VERSION:
        transactions = request.transactions
    else:
        transactions = [
            AddPartitionsToTxnTransaction(
                transactional_id=request.v3_and_below_transactional_id,
                producer_id=request.v3_and_below_producer_id,
                producer_epoch=request.v3_and_below_producer_epoch,
                topics=request.v3_and_below_topics,
            )
        ]
    call.park()
    _Adding(node, call, transactions).begin()


class _Adding:
    """The transactions of one request; answered when all of them are."""

    def __init__(self, node: Node, call: Call, transactions: list[AddPartitionsToTxnTransaction]) -> None:
        self.node = node
        self.call = call
        self.transactions = transactions
        self.outcomes: dict[int, Outcomes] = {}

    def begin(self) -> None:
        if not self.transactions:
            self._answer()
        for index, transaction in enumerate(self.transactions):
            self._begin_one(index, transaction)

    def _begin_one(self, index: int, transaction: AddPartitionsToTxnTransaction) -> None:
        keys = [(topic.name, partition) for topic in transaction.topics for partition in topic.partitions]
        missing = [key for key in keys if self.node.metadata.partition(*key) is None]

        def done(outcome: Outcomes | ErrorCode | ApiError) -> None:
            if isinstance(outcome, Mapping):
                self._ended(index, outcome)
                return
            code = outcome.code if isinstance(outcome, ApiError) else outcome
            code = told_code(self.call, code, since_version=PRODUCER_FENCED_VERSION)
            self._ended(index, dict.fromkeys(keys, code))

        if missing:
            codes = dict.fromkeys(keys, ErrorCode.OPERATION_NOT_ATTEMPTED)
            self._ended(index, codes | dict.fromkeys(missing, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
            return
        coordinator = self.node.transactions
        run = coordinator.verify_partitions if transaction.verify_only else coordinator.add_partitions
        producer = ProducerIdAndEpoch(transaction.producer_id, transaction.producer_epoch)
        run(transaction.transactional_id, producer, keys, done)

    def _ended(self, index: int, outcomes: Outcomes) -> None:
        self.outcomes[index] = outcomes
        if len(self.outcomes) == len(self.transactions):
            self._answer()

    def _answer(self) -> None:
        if self.call.version < BATCHED_VERSION:
            response = AddPartitionsToTxnResponse(results_by_topic_v3_and_below=_by_topic(self.outcomes[0]))
        else:
            results = [
                AddPartitionsToTxnResult(
                    transactional_id=transaction.transactional_id, topic_results=_by_topic(self.outcomes[index])
                )
                for index, transaction in enumerate(self.transactions)
            ]
            response = AddPartitionsToTxnResponse(results_by_transaction=results)
        self.call.respond(response)


def _by_topic(outcomes: Outcomes) -> list[AddPartitionsToTxnTopicResult]:
    topics: dict[str, AddPartitionsToTxnTopicResult] = {}
    for (topic, partition), code in outcomes.items():
        result = AddPartitionsToTxnPartitionResult(partition_index=partition, partition_error_code=code)
        topics.setdefault(topic, AddPartitionsToTxnTopicResult(name=topic)).results_by_partition.append(result)
    return list(topics.values())
