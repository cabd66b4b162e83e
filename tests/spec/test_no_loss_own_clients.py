"""Statement 36 of the first book with our clients: nothing acknowledged is lost, out of order or, if wanted, doubled.

With kills, and the book's one request in flight: tests/examples/test_producer_programs.py,
test_nothing_that_was_acknowledged_is_lost_when_brokers_are_killed. Here the default, which is five and idempotence,
under restarts; and the loop that reads, changes and writes in transactions, under kills and with mishaps of its own.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Thread

import pytest

from moldau import Consumer, OffsetAndMetadata, Producer, TopicPartition
from moldau.base.errors import ApiError
from moldau.clients.consumer.consumer_record import ConsumerRecord
from moldau.clients.producer.futures import RecordFuture
from moldau.clients.records import RecordMetadata
from moldau.testing.local_cluster import LocalCluster

pytestmark = pytest.mark.slow

PATIENCE_S = 90.0
PARTITIONS = 2
SETTINGS = {
    "min.insync.replicas": "2",
    "default.replication.factor": "3",
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
}


@pytest.fixture
def cluster() -> Iterator[LocalCluster]:
    with LocalCluster(SETTINGS, brokers=3) as cluster:
        yield cluster


@contextmanager
def one_after_the_other(cluster: LocalCluster, end: Callable[[int], None]) -> Iterator[Thread]:
    """End and start each broker in turn, while something else goes on."""

    def disturb() -> None:
        for broker_id in range(3):
            time.sleep(0.3)
            end(broker_id)
            time.sleep(0.3)
            cluster.start_broker(broker_id)

    thread = Thread(target=disturb)
    thread.start()
    try:
        yield thread
    finally:
        thread.join()


def read(cluster: LocalCluster, topic: str) -> list[list[bytes]]:
    """The committed values of each partition."""
    places = [TopicPartition(topic, number) for number in range(PARTITIONS)]
    values: list[list[bytes]] = [[] for _ in places]
    with Consumer(bootstrap_servers=cluster.bootstrap_servers, isolation_level="read_committed") as consumer:
        consumer.assign(places)
        consumer.seek_to_beginning()
        ends = consumer.end_offsets(places)
        deadline = time.monotonic() + PATIENCE_S
        while any(consumer.position(place) < ends[place] for place in places):
            assert time.monotonic() < deadline, "it cannot be read"
            for record in consumer.poll(0.5):
                values[record.partition].append(record.value)
    return values


def test_statement_36_every_acknowledged_record_is_there_once_and_in_order(cluster: LocalCluster) -> None:
    cluster.create_topic("t", PARTITIONS, replication_factor=3)
    fates: list[list[RecordMetadata]] = [[] for _ in range(PARTITIONS)]
    errors: list[Exception] = []

    def note(metadata: RecordMetadata | None, error: Exception | None) -> None:
        if error is not None:
            errors.append(error)
        elif metadata is not None:
            fates[metadata.partition].append(metadata)

    sent: list[list[bytes]] = [[] for _ in range(PARTITIONS)]
    with Producer(bootstrap_servers=cluster.bootstrap_servers, acks="all", batch_size=500) as producer:
        number = 0
        with one_after_the_other(cluster, cluster.stop_broker) as restarting:
            while restarting.is_alive():
                value = b"%d" % number
                producer.send("t", value, partition=number % PARTITIONS, on_delivery=note)
                sent[number % PARTITIONS].append(value)
                number += 1
                time.sleep(0.0005)
        producer.flush(PATIENCE_S)
    assert errors == []
    assert [[each.offset for each in of_one] for of_one in fates] == [list(range(len(of_one))) for of_one in sent]
    assert read(cluster, "t") == sent


class Mishap(Exception):
    """Of the application, in the middle of a transaction."""


class Copier:
    """Reads `input`, and writes it to the same partition of `output`, in transactions; every third turn goes wrong."""

    def __init__(self, cluster: LocalCluster) -> None:
        settings = {"bootstrap.servers": cluster.bootstrap_servers, "group.id": "copiers", "max.poll.records": 20}
        self.consumer = Consumer(
            settings, enable_auto_commit=False, auto_offset_reset="earliest", isolation_level="read_committed"
        )
        self.producer = Producer(bootstrap_servers=cluster.bootstrap_servers, transactional_id="copier")
        self.copied = 0
        self._turn = 0
        self.consumer.subscribe(["input"])
        self.producer.init_transactions()

    def copy_some(self) -> None:
        """All of what a poll brings, or nothing of it; then it will come again."""
        records = self.consumer.poll(0.1)
        if not records:
            return
        offsets = {TopicPartition("input", each.partition): OffsetAndMetadata(each.offset + 1) for each in records}
        self.producer.begin_transaction()
        try:
            self._write(records, offsets)
        except (ApiError, Mishap):
            self.producer.abort_transaction()
            for partition, committed in self.consumer.committed(list(offsets)).items():
                self.consumer.seek(partition, 0 if committed is None else committed)
        else:
            self.copied += len(records)

    def _write(self, records: list[ConsumerRecord], offsets: dict[TopicPartition, OffsetAndMetadata]) -> None:
        for record in records:
            self.producer.send("output", record.value, partition=record.partition)
        self.producer.send_offsets_to_transaction(offsets, self.consumer.group_metadata())
        self._turn += 1
        if self._turn % 3 == 0:
            raise Mishap
        self.producer.commit_transaction()

    def close(self) -> None:
        self.producer.close(10)
        self.consumer.close()


def test_statement_36_what_is_copied_in_transactions_is_there_exactly_once(cluster: LocalCluster) -> None:
    for topic in ("input", "output"):
        cluster.create_topic(topic, PARTITIONS, replication_factor=3)
    futures: list[RecordFuture] = []
    copier = Copier(cluster)
    with Producer(bootstrap_servers=cluster.bootstrap_servers) as source:
        with one_after_the_other(cluster, cluster.kill_broker) as killing:
            while killing.is_alive():
                number = len(futures)
                futures += [source.send("input", b"%d" % (number + n), partition=n % PARTITIONS) for n in range(10)]
                copier.copy_some()
        source.flush(PATIENCE_S)
    assert [future.exception(0) for future in futures] == [None] * len(futures)
    deadline = time.monotonic() + PATIENCE_S
    while copier.copied < len(futures):
        assert time.monotonic() < deadline, f"{copier.copied} of {len(futures)} are copied"
        copier.copy_some()
    copier.close()
    written = read(cluster, "input")
    assert sum(map(len, written)) == len(futures)
    assert read(cluster, "output") == written
