"""Markers: whatever brokers answer, each transaction is completed once, and only with all of its markers written."""

from __future__ import annotations

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from moldau.base.error_codes import ErrorCode
from moldau.coordinator.transaction.markers import TRANSACTIONS_PER_REQUEST_MAX, Markers, Sent
from moldau.coordinator.transaction.states import TransactionState
from moldau.coordinator.transaction.transaction import Transaction
from moldau.protocol.messages.write_txn_markers import (
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)

Key = tuple[str, int]
PASSING = [ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.UNKNOWN_SERVER_ERROR]


def prepared(number: int, partitions: frozenset[Key]) -> Transaction:
    return Transaction(f"tx-{number}", number, 0, 1_000, TransactionState.PREPARE_COMMIT, partitions, 0, 0)


def respond(request: WriteTxnMarkersRequest, codes: dict[tuple[int, Key], ErrorCode]) -> WriteTxnMarkersResponse:
    results = []
    for marker in request.markers:
        topics = []
        for topic in marker.topics:
            partitions = [
                WritableTxnMarkerPartitionResult(
                    partition_index=index,
                    error_code=codes.get((marker.producer_id, (topic.name, index)), ErrorCode.NONE),
                )
                for index in topic.partition_indexes
            ]
            topics.append(WritableTxnMarkerTopicResult(name=topic.name, partitions=partitions))
        results.append(WritableTxnMarkerResult(producer_id=marker.producer_id, topics=topics))
    return WriteTxnMarkersResponse(markers=results)


class Brokers:
    """Three brokers whose partitions wander, and which answer as chance has it until they are well again."""

    def __init__(self, wanted: list[frozenset[Key]], random: Random) -> None:
        self.wanted = wanted
        self.random = random
        self.leaders: dict[Key, int] = {}
        self.is_well = False
        self.completed: list[str] = []
        self.written: dict[int, set[Key]] = {number: set() for number in range(len(wanted))}
        self.markers = Markers(self.leader_of, self.complete)

    def leader_of(self, key: Key) -> int:
        if self.is_well:
            return 1
        return self.leaders.setdefault(key, self.random.randint(-1, 2))

    def complete(self, _shard: int, transaction: Transaction) -> None:
        assert self.written[transaction.producer_id] == self.wanted[transaction.producer_id]
        self.completed.append(transaction.transactional_id)

    def work(self) -> None:
        for broker_id in self.markers.brokers:
            taken = self.markers.take(broker_id)
            assert taken is not None
            request, sent = taken
            is_lost = not self.is_well and self.random.random() < 0.3
            self.markers.answered(sent, None if is_lost else respond(request, self.write(sent)))
        if self.random.random() < 0.5:
            self.leaders.clear()
        self.markers.retry()

    def write(self, sent: Sent) -> dict[tuple[int, Key], ErrorCode]:
        refused: dict[tuple[int, Key], ErrorCode] = {}
        for ending, partitions in sent:
            producer_id = ending.transaction.producer_id
            for key in partitions:
                if not self.is_well and self.random.random() < 0.5:
                    refused[producer_id, key] = self.random.choice(PASSING)
                else:
                    self.written[producer_id].add(key)
        return refused


@settings(deadline=None)
@given(
    st.lists(st.frozensets(st.tuples(st.sampled_from("ab"), st.integers(0, 3)), max_size=5), min_size=1, max_size=6),
    st.integers(0, 2**32),
)
def test_every_transaction_is_completed_once_with_all_of_its_markers(wanted: list[frozenset[Key]], seed: int) -> None:
    brokers = Brokers(wanted, Random(seed))
    for number, partitions in enumerate(wanted):
        brokers.markers.add(0, prepared(number, partitions), 3)
    for _ in range(brokers.random.randint(0, 10)):
        brokers.work()
    brokers.is_well = True
    for _ in range(3):
        brokers.work()
    assert sorted(brokers.completed) == sorted(f"tx-{number}" for number in range(len(wanted)))
    assert not len(brokers.markers)


def test_what_is_under_way_is_not_begun_again() -> None:
    markers = Markers(lambda _key: 1, lambda _shard, _transaction: None)
    transaction = prepared(1, frozenset((("t", 0),)))
    markers.add(0, transaction, 3)
    markers.add(0, transaction, 3)
    taken = markers.take(1)
    assert taken is not None
    assert len(taken[0].markers) == 1
    assert markers.take(1) is None


def test_a_request_has_a_limit() -> None:
    markers = Markers(lambda _key: 1, lambda _shard, _transaction: None)
    for number in range(TRANSACTIONS_PER_REQUEST_MAX + 1):
        markers.add(0, prepared(number, frozenset((("t", 0),))), 3)
    first, second = markers.take(1), markers.take(1)
    assert first is not None
    assert second is not None
    assert [len(taken[0].markers) for taken in (first, second)] == [TRANSACTIONS_PER_REQUEST_MAX, 1]


def test_what_another_broker_coordinates_is_forgotten_also_while_it_is_under_way() -> None:
    completed: list[str] = []
    markers = Markers(lambda _key: 1, lambda _shard, transaction: completed.append(transaction.transactional_id))
    markers.add(0, prepared(1, frozenset((("t", 0),))), 3)
    markers.add(7, prepared(2, frozenset((("t", 0),))), 3)
    taken = markers.take(1)
    assert taken is not None
    markers.forget(0)
    markers.answered(taken[1], respond(taken[0], {}))
    assert completed == ["tx-2"]
    assert not len(markers)
