"""Statements about idempotence and transactions: book 2, 20 to 25; corrections 1, `000` 6, 8, `001` 7 and `004` 3, 4.

What needs several brokers, and the copy that is killed at any point (`000` 7), have tests of their own.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import count

import pytest

from moldau.base.error_codes import ErrorCode
from moldau.protocol.messages.init_producer_id import InitProducerIdRequest
from moldau.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic
from moldau.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from moldau.records.batch import Producer
from moldau.testing.local_cluster import LocalCluster
from tests.broker.requests_to_broker import Broker, records
from tests.compat.transactional_reading import committed_values
from tests.unit.coordinator.transaction.transactional_requests import Transactional, read, read_committed

NONE = ErrorCode.NONE
_numbers = count()


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    settings = {
        "transaction.state.log.num.partitions": "50",
        "offsets.topic.num.partitions": "3",
        "transaction.abort.timed.out.transaction.cleanup.interval.ms": "50",
    }
    with LocalCluster(settings) as cluster:
        yield cluster


@pytest.fixture
def topic(cluster: LocalCluster) -> str:
    name = f"topic-{next(_numbers)}"
    cluster.create_topic(name, 2)
    return name


def begun(cluster: LocalCluster, transactional_id: str, topic: str, value: bytes = b"x") -> Transactional:
    producer = Transactional(cluster, transactional_id)
    assert producer.init().code is NONE
    assert producer.add(topic, 0) is NONE
    assert producer.produce(topic, value) is NONE
    return producer


def test_book_2_statement_20_a_retry_of_an_idempotent_produce_is_written_once(
    cluster: LocalCluster, topic: str
) -> None:
    batch = records(b"once", timestamp=int(time.time() * 1000), producer=Producer(900_001, 0, 0))
    broker = Broker(cluster)
    first, again = broker.produce(topic, batch), broker.produce(topic, batch)
    assert (first.error_code, again.error_code, again.base_offset) == (0, 0, first.base_offset)
    assert read(cluster, topic) == ["once"]


def test_book_2_statement_21_the_sequence_is_in_the_log_and_outlives_the_broker(
    cluster: LocalCluster, topic: str
) -> None:
    batch = records(b"once", timestamp=int(time.time() * 1000), producer=Producer(900_002, 0, 0))
    Broker(cluster).produce(topic, batch)
    cluster.restart()
    deadline = time.monotonic() + 20
    not_yet = (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    while (again := Broker(cluster).produce(topic, batch)).error_code in not_yet:
        assert time.monotonic() < deadline
    assert again.error_code == 0
    assert read(cluster, topic) == ["once"]


def test_book_2_statement_22_producers_without_a_transactional_id_have_nothing_in_common(
    cluster: LocalCluster, topic: str
) -> None:
    ids = [cluster.request(InitProducerIdRequest()).producer_id for _ in range(2)]
    assert ids[0] != ids[1]
    now_ms = int(time.time() * 1000)
    for producer_id in ids:
        batch = records(b"same", timestamp=now_ms, producer=Producer(producer_id, 0, 0))
        assert Broker(cluster).produce(topic, batch).error_code == 0
    assert read(cluster, topic) == ["same", "same"]


@pytest.mark.parametrize("committed", [True, False])
def test_book_2_statement_23_a_transaction_over_two_partitions_is_all_or_nothing(
    cluster: LocalCluster, topic: str, committed: bool
) -> None:
    producer = begun(cluster, f"statement-23-{committed}", topic)
    producer.add(topic, 1)
    producer.produce(topic, b"y", 1)
    assert producer.end(committed) is NONE
    producer.wait_for("CompleteCommit", "CompleteAbort")
    marker = "commit" if committed else "abort"
    assert [read(cluster, topic, partition) for partition in (0, 1)] == [["x", marker], ["y", marker]]
    expected = [["x"], ["y"]] if committed else [[], []]
    assert [read_committed(cluster, topic, partition) for partition in (0, 1)] == expected


def test_book_2_statement_24_a_second_producer_fences_the_first_and_resolves_its_transaction(
    cluster: LocalCluster, topic: str
) -> None:
    first = begun(cluster, "statement-24", topic)
    assert Transactional(cluster, "statement-24").init().code is NONE
    assert first.end(True) is ErrorCode.PRODUCER_FENCED
    assert read(cluster, topic) == ["x", "abort"]


def commit_offset(producer: Transactional, topic: str, group_id: str, offset: int) -> ErrorCode:
    one = TxnOffsetCommitRequestPartition(partition_index=0, committed_offset=offset)
    request = TxnOffsetCommitRequest(
        transactional_id=producer.transactional_id,
        group_id=group_id,
        producer_id=producer.producer_id,
        producer_epoch=producer.producer_epoch,
        topics=[TxnOffsetCommitRequestTopic(name=topic, partitions=[one])],
    )
    deadline = time.monotonic() + 20
    while True:
        code = ErrorCode(producer.cluster.request(request, 2).topics[0].partitions[0].error_code)
        passing = (ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        if code not in passing or time.monotonic() > deadline:
            return code
        Transactional(producer.cluster, group_id).find(group=True)


def committed_offset(cluster: LocalCluster, topic: str, group_id: str) -> int:
    asked = [OffsetFetchRequestTopic(name=topic, partition_indexes=[0])]
    answer = cluster.request(OffsetFetchRequest(group_id=group_id, topics=asked), 5)
    offset: int = answer.topics[0].partitions[0].committed_offset
    return offset


def test_book_2_statement_25_offsets_of_an_aborted_transaction_do_not_count(cluster: LocalCluster, topic: str) -> None:
    for offset, committed, expected in ((7, True, 7), (9, False, 7)):
        producer = begun(cluster, "statement-25", topic)
        assert producer.add_offsets("group-25") is NONE
        assert commit_offset(producer, topic, "group-25", offset) is NONE
        producer.end(committed)
        producer.wait_for("CompleteCommit", "CompleteAbort")
        assert committed_offset(cluster, topic, "group-25") == expected


def test_corrections_1_000_6_what_is_never_committed_is_aborted_after_the_timeout(
    cluster: LocalCluster, topic: str
) -> None:
    producer = Transactional(cluster, "demo-1")
    producer.init(timeout_ms=300)
    producer.add(topic, 0)
    for value in (b"1", b"2", b"3"):
        assert producer.produce(topic, value) is NONE
    assert (len(read_committed(cluster, topic)), read(cluster, topic)[:3]) == (0, ["1", "2", "3"])
    producer.wait_for("CompleteAbort")
    assert read(cluster, topic) == ["1", "2", "3", "abort"]
    Broker(cluster).produce(topic, records(b"4", timestamp=int(time.time() * 1000)))
    assert read_committed(cluster, topic) == ["4"]


def test_corrections_1_000_8_readers_stop_before_an_open_transaction_and_then_see_all_in_order(
    cluster: LocalCluster, topic: str
) -> None:
    producer = begun(cluster, "order", topic, b"1")
    Broker(cluster).produce(topic, records(b"2", timestamp=int(time.time() * 1000)))
    assert read_committed(cluster, topic) == []
    producer.end(True)
    producer.wait_for("CompleteCommit")
    assert read_committed(cluster, topic) == ["1", "2"]


def test_corrections_1_001_7_interleaved_transactions_are_told_apart(cluster: LocalCluster, topic: str) -> None:
    one, other = Transactional(cluster, "interleaved-1"), Transactional(cluster, "interleaved-2")
    for producer in (one, other):
        producer.init()
    for number, committed in ((0, True), (1, False), (2, True)):
        for producer in (one, other):
            producer.add(topic, 0)
        for producer in (one, other, one, other):
            assert producer.produce(topic, f"{producer.transactional_id}-{number}".encode()) is NONE
        assert one.end(committed) is NONE
        assert other.end(not committed) is NONE
    one.wait_for("CompleteCommit")
    other.wait_for("CompleteAbort")
    expected = ["interleaved-1-0"] * 2 + ["interleaved-2-1"] * 2 + ["interleaved-1-2"] * 2
    assert read_committed(cluster, topic) == expected
    through_librdkafka = committed_values(cluster.bootstrap_servers, topic, 2, expected=6)
    assert [value.decode() for value in through_librdkafka] == expected


def test_corrections_1_004_3_a_transactional_id_has_one_producer_id_and_the_next_epoch(
    cluster: LocalCluster, topic: str
) -> None:
    first = begun(cluster, "two-runs", topic)
    assert first.end(True) is NONE
    second = Transactional(cluster, "two-runs")
    second.init()
    assert (second.producer_id, second.producer_epoch) == (first.producer_id, first.producer_epoch + 1)
    second.add(topic, 0)
    second.produce(topic, b"open")
    Transactional(cluster, "two-runs").init()
    assert read(cluster, topic) == ["x", "commit", "open", "abort"]


def test_corrections_1_004_4_an_old_epoch_writes_neither_records_nor_offsets(cluster: LocalCluster, topic: str) -> None:
    zombie = begun(cluster, "zombie", topic)
    assert zombie.add_offsets("group-zombie") is NONE
    assert commit_offset(zombie, topic, "group-zombie", 5) is NONE
    Transactional(cluster, "zombie").init()
    assert zombie.produce(topic, b"late") is ErrorCode.INVALID_PRODUCER_EPOCH
    assert commit_offset(zombie, topic, "group-zombie", 6) is ErrorCode.INVALID_PRODUCER_EPOCH
    assert committed_offset(cluster, topic, "group-zombie") == -1
    assert read_committed(cluster, topic) == []


def test_corrections_1_b25_the_coordinator_of_an_id_is_found_by_its_hash(cluster: LocalCluster) -> None:
    assert cluster.run_in_loop(lambda node: node.transactions.partition_of("my_tx_id")) == 3
