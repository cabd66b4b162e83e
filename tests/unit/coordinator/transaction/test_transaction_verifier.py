"""The leader's question to the coordinator: grouped, in order, and answered for each who asked."""

from __future__ import annotations

from collections.abc import Iterable
from types import SimpleNamespace
from typing import cast

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError
from moldau.cluster.internal_topics import TRANSACTION_STATE
from moldau.cluster.metadata_cache import MetadataCache
from moldau.coordinator.runtime.active_shard import Done
from moldau.coordinator.transaction.broker_links import Answered, BrokerLinks
from moldau.coordinator.transaction.coordinator import TransactionCoordinator
from moldau.coordinator.transaction.transaction import ProducerIdAndEpoch
from moldau.coordinator.transaction.verification import TransactionVerifier
from moldau.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopicResult,
)

Key = tuple[str, int]
Codes = dict[tuple[str, int], ErrorCode]
OWN = 9
PRODUCER = ProducerIdAndEpoch(7, 0)
NONE = ErrorCode.NONE


class Coordinators:
    """Brokers that answer when the test says so."""

    def __init__(self) -> None:
        self.leaders = {0: 1, 1: 2, 2: -1, 4: OWN}
        self.sent: list[tuple[int, AddPartitionsToTxnRequest, Answered]] = []
        metadata = SimpleNamespace(partition=self._partition)
        links = SimpleNamespace(send=lambda *sent: self.sent.append(sent))
        coordinator = SimpleNamespace(partition_of=lambda transactional_id: len(transactional_id) % 5, **self.own())
        self.verifier = TransactionVerifier(
            OWN,
            cast(MetadataCache, metadata),
            cast(BrokerLinks, links),
            cast(TransactionCoordinator, coordinator),
        )
        self.heard: list[tuple[str, Codes]] = []

    @staticmethod
    def own() -> dict[str, object]:
        """The coordinator of the broker itself knows producer 7 alone, and partition 0 as part of its transaction."""

        def verify(_transactional_id: str, producer: ProducerIdAndEpoch, keys: Iterable[Key], done: Done) -> None:
            if producer.producer_id != 7:
                done(ApiError(ErrorCode.PRODUCER_FENCED))
            else:
                done({key: NONE if key[1] == 0 else ErrorCode.TRANSACTION_ABORTABLE for key in keys})

        return {"verify_partitions": verify}

    def _partition(self, topic: str, number: int) -> object:
        assert topic == TRANSACTION_STATE
        return SimpleNamespace(leader=self.leaders[number]) if number in self.leaders else None

    def ask(self, transactional_id: str, *partitions: int, producer: ProducerIdAndEpoch = PRODUCER) -> None:
        keys = [("t", number) for number in partitions]
        self.verifier.verify(
            transactional_id, producer, keys, lambda codes: self.heard.append((transactional_id, codes))
        )

    def answer(self, *refused: tuple[str, int]) -> None:
        _, request, answered = self.sent.pop(0)
        results = []
        for transaction in request.transactions:
            assert transaction.verify_only
            partitions = [
                AddPartitionsToTxnPartitionResult(
                    partition_index=number,
                    partition_error_code=ErrorCode.TRANSACTION_ABORTABLE
                    if (transaction.transactional_id, number) in refused
                    else NONE,
                )
                for number in transaction.topics[0].partitions
            ]
            topics = [AddPartitionsToTxnTopicResult(name="t", results_by_partition=partitions)]
            results.append(
                AddPartitionsToTxnResult(transactional_id=transaction.transactional_id, topic_results=topics)
            )
        answered(AddPartitionsToTxnResponse(results_by_transaction=results))


def test_questions_that_come_while_one_is_under_way_go_together() -> None:
    brokers = Coordinators()
    brokers.ask("aaaaa", 0)
    brokers.ask("bbbbb", 0)
    brokers.ask("aaaaa", 1)
    assert [len(request.transactions) for _, request, _ in brokers.sent] == [1]
    brokers.answer()
    assert [[each.transactional_id for each in request.transactions] for _, request, _ in brokers.sent] == [
        ["bbbbb", "aaaaa"]
    ]
    brokers.answer(("aaaaa", 1))
    assert brokers.heard == [
        ("aaaaa", {("t", 0): NONE}),
        ("bbbbb", {("t", 0): NONE}),
        ("aaaaa", {("t", 1): ErrorCode.TRANSACTION_ABORTABLE}),
    ]


def test_the_same_question_is_asked_once_and_both_hear_the_answer() -> None:
    brokers = Coordinators()
    brokers.ask("bbbbb", 9)
    brokers.ask("aaaaa", 0)
    brokers.ask("aaaaa", 0, 1)
    brokers.answer()
    assert brokers.sent[0][1].transactions[0].topics[0].partitions == [0, 1]
    brokers.answer()
    assert brokers.heard[1:] == [("aaaaa", {("t", 0): NONE}), ("aaaaa", {("t", 0): NONE, ("t", 1): NONE})]


def test_two_producers_of_one_id_are_not_asked_for_in_one_request() -> None:
    brokers = Coordinators()
    brokers.ask("bbbbb", 9)
    brokers.ask("aaaaa", 0)
    brokers.ask("aaaaa", 0, producer=ProducerIdAndEpoch(7, 1))
    brokers.answer()
    assert [each.producer_epoch for each in brokers.sent[0][1].transactions] == [0]
    brokers.answer()
    assert [each.producer_epoch for each in brokers.sent[0][1].transactions] == [1]


def test_each_coordinator_is_asked_by_itself() -> None:
    brokers = Coordinators()
    brokers.ask("aaaaa", 0)
    brokers.ask("a", 0)
    assert [broker_id for broker_id, _, _ in brokers.sent] == [1, 2]


def test_without_a_coordinator_the_answer_comes_at_once() -> None:
    brokers = Coordinators()
    brokers.ask("aa", 0)
    brokers.ask("aaa", 0)
    assert [codes for _, codes in brokers.heard] == [{("t", 0): ErrorCode.COORDINATOR_NOT_AVAILABLE}] * 2


def test_a_coordinator_that_does_not_answer() -> None:
    brokers = Coordinators()
    brokers.ask("aaaaa", 0)
    brokers.sent.pop()[2](None)
    brokers.ask("aaaaa", 0)
    brokers.sent.pop()[2](AddPartitionsToTxnResponse(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED))
    assert [codes["t", 0] for _, codes in brokers.heard] == [
        ErrorCode.NETWORK_EXCEPTION,
        ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
    ]


def test_the_coordinator_of_the_same_broker_is_asked_directly() -> None:
    brokers = Coordinators()
    brokers.ask("aaaa", 0, 1)
    brokers.ask("aaaa", 0, producer=ProducerIdAndEpoch(8, 0))
    assert brokers.sent == []
    assert brokers.heard == [
        ("aaaa", {("t", 0): NONE, ("t", 1): ErrorCode.TRANSACTION_ABORTABLE}),
        ("aaaa", {("t", 0): ErrorCode.PRODUCER_FENCED}),
    ]
