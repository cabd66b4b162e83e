"""Transactions of librdkafka: all or nothing, fenced, timed out, with offsets."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

from moldau.testing.local_cluster import LocalCluster
from tests.compat.transactional_reading import committed_values

pytestmark = pytest.mark.slow

SETTINGS = {
    "transaction.state.log.num.partitions": "5",
    "offsets.topic.num.partitions": "5",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "100",
}
PATIENCE_S = 30.0


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    with LocalCluster(SETTINGS) as cluster:
        yield cluster


def producer_of(cluster: LocalCluster, transactional_id: str, **more: object) -> Producer:
    settings = {"bootstrap.servers": cluster.bootstrap_servers, "transactional.id": transactional_id, "linger.ms": 0}
    producer = Producer({**settings, **more})
    producer.init_transactions(PATIENCE_S)
    return producer


def test_commit_shows_all_and_abort_shows_nothing(cluster: LocalCluster) -> None:
    cluster.create_topic("both", 3)
    producer = producer_of(cluster, "both")
    for number in range(6):
        producer.begin_transaction()
        for partition in range(3):
            producer.produce("both", f"{number}-{partition}", partition=partition)
        if number % 2:
            producer.abort_transaction(PATIENCE_S)
        else:
            producer.commit_transaction(PATIENCE_S)
    expected = {f"{number}-{partition}".encode() for number in (0, 2, 4) for partition in range(3)}
    found = committed_values(cluster.bootstrap_servers, "both", 3, expected=9)
    assert len(found) == 9
    assert set(found) == expected


def test_a_waiting_reader_hears_of_the_commit_at_once(cluster: LocalCluster) -> None:
    cluster.create_topic("waiting", 1)
    producer = producer_of(cluster, "waiting")
    consumer = Consumer(
        {
            "bootstrap.servers": cluster.bootstrap_servers,
            "group.id": "waiting",
            "isolation.level": "read_committed",
            "fetch.wait.max.ms": 10_000,
            "socket.timeout.ms": 20_000,
        }
    )
    consumer.assign([TopicPartition("waiting", 0, 0)])
    producer.begin_transaction()
    producer.produce("waiting", b"x", partition=0)
    producer.flush(PATIENCE_S)
    assert consumer.poll(0.7) is None
    started = time.monotonic()
    producer.commit_transaction(PATIENCE_S)
    message = consumer.poll(PATIENCE_S)
    assert message is not None
    assert message.value() == b"x"
    assert time.monotonic() - started < 5
    consumer.close()


def test_the_first_producer_is_fenced_by_the_second_and_its_transaction_aborted(cluster: LocalCluster) -> None:
    cluster.create_topic("fenced", 1)
    first = producer_of(cluster, "fenced")
    first.begin_transaction()
    first.produce("fenced", b"first", partition=0)
    first.flush(PATIENCE_S)
    second = producer_of(cluster, "fenced")
    with pytest.raises(KafkaException) as failure:
        first.commit_transaction(PATIENCE_S)
    error = failure.value.args[0]
    assert error.fatal()
    assert error.code() in (KafkaError._FENCED, KafkaError.INVALID_PRODUCER_EPOCH, KafkaError.PRODUCER_FENCED)
    second.begin_transaction()
    second.produce("fenced", b"second", partition=0)
    second.commit_transaction(PATIENCE_S)
    assert committed_values(cluster.bootstrap_servers, "fenced", expected=1) == [b"second"]


def test_a_transaction_that_takes_too_long_is_aborted(cluster: LocalCluster) -> None:
    cluster.create_topic("slow", 1)
    producer = producer_of(cluster, "slow", **{"transaction.timeout.ms": 1_000, "message.timeout.ms": 1_000})
    producer.begin_transaction()
    producer.produce("slow", b"late", partition=0)
    producer.flush(PATIENCE_S)
    time.sleep(1.5)
    with pytest.raises(KafkaException):
        producer.commit_transaction(PATIENCE_S)
    heir = producer_of(cluster, "slow")
    heir.begin_transaction()
    heir.produce("slow", b"in time", partition=0)
    heir.commit_transaction(PATIENCE_S)
    assert committed_values(cluster.bootstrap_servers, "slow", expected=1) == [b"in time"]


def test_offsets_count_with_the_commit_and_not_with_the_abort(cluster: LocalCluster) -> None:
    cluster.create_topic("input", 1)
    cluster.create_topic("output", 1)
    consumer = Consumer(
        {
            "bootstrap.servers": cluster.bootstrap_servers,
            "group.id": "app",
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
        }
    )
    consumer.subscribe(["input"])
    deadline = time.monotonic() + PATIENCE_S
    while not consumer.assignment() and time.monotonic() < deadline:
        consumer.poll(0.2)
    producer = producer_of(cluster, "app")
    partition = TopicPartition("input", 0)
    found = []
    for offset, committed in ((5, True), (9, False), (7, True)):
        producer.begin_transaction()
        producer.produce("output", str(offset), partition=0)
        producer.send_offsets_to_transaction(
            [TopicPartition("input", 0, offset)], consumer.consumer_group_metadata(), PATIENCE_S
        )
        if committed:
            producer.commit_transaction(PATIENCE_S)
        else:
            producer.abort_transaction(PATIENCE_S)
        found.append(consumer.committed([partition], PATIENCE_S)[0].offset)
    assert found == [5, 5, 7]
    assert committed_values(cluster.bootstrap_servers, "output", expected=2) == [b"5", b"7"]
    consumer.close()


def test_a_transaction_survives_a_restart_of_the_broker(cluster: LocalCluster) -> None:
    cluster.create_topic("restarted", 1)
    producer = producer_of(cluster, "restarted")
    producer.begin_transaction()
    producer.produce("restarted", b"before", partition=0)
    producer.flush(PATIENCE_S)
    cluster.restart()
    producer.produce("restarted", b"after", partition=0)
    producer.commit_transaction(PATIENCE_S)
    assert committed_values(cluster.bootstrap_servers, "restarted", expected=2) == [b"before", b"after"]
