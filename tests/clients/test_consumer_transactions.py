"""What readers see of transactions, and consume-transform-produce, on our broker and on Apache Kafka 3.9.1."""

from __future__ import annotations

from collections.abc import Iterator

import confluent_kafka
import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from moldau import Producer
from moldau.clients.consumer.plain import Consumer
from moldau.clients.records import OffsetAndMetadata, TopicPartition
from moldau.testing.local_cluster import LocalCluster
from tests.clients.records_to_consume import new_group, take
from tests.compat.jvm_kafka import jvm_kafka

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", params=["moldau", pytest.param("kafka", marks=pytest.mark.java)])
def servers(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    if request.param == "moldau":
        with LocalCluster() as cluster:
            yield cluster.bootstrap_servers
    else:
        with jvm_kafka(tmp_path_factory.mktemp("kafka")) as kafka:
            yield kafka.bootstrap


def _create(servers: str, topic: str) -> TopicPartition:
    admin = AdminClient({"bootstrap.servers": servers, "log_level": 0})
    admin.create_topics([NewTopic(topic, 1, 1)])[topic].result(20)
    return TopicPartition(topic, 0)


def _write(servers: str, topic: str) -> None:
    """Four transactions: committed, aborted, committed, aborted."""
    producer = confluent_kafka.Producer({"bootstrap.servers": servers, "transactional.id": topic, "log_level": 0})
    producer.init_transactions(20)
    for value, commits in ((b"committed", True), (b"aborted", False), (b"committed too", True)):
        producer.begin_transaction()
        for _ in range(3):
            producer.produce(topic, value)
        producer.flush(20)
        producer.commit_transaction(20) if commits else producer.abort_transaction(20)
    producer.begin_transaction()
    producer.produce(topic, b"aborted too")
    producer.flush(20)
    producer.abort_transaction(20)


def test_read_committed_shows_what_was_committed(servers: str) -> None:
    partition = _create(servers, "seen")
    _write(servers, partition.topic)
    committed = [b"committed"] * 3 + [b"committed too"] * 3
    for level, expected in (("read_committed", 6), ("read_uncommitted", 10)):
        with Consumer(bootstrap_servers=servers, auto_offset_reset="earliest", isolation_level=level) as consumer:
            consumer.assign([partition])
            records = take(consumer, expected)
            assert len(records) == expected
            if level == "read_committed":
                assert [record.value for record in records] == committed
            consumer.seek_to_beginning()
            (batch, *_) = consumer.poll_batches(10)
            assert batch.columns["value"].to_pylist() == [record.value for record in records]
            assert consumer.poll(0.2) == []
            assert consumer.position(partition) == consumer.end_offsets([partition])[partition] == 14


def test_records_are_read_changed_and_written_once(servers: str) -> None:
    source, target = _create(servers, "source"), _create(servers, "target")
    with Producer(bootstrap_servers=servers) as producer:
        for number in range(5):
            producer.send(source.topic, b"%d" % number)
    group = new_group()
    settings = {"bootstrap.servers": servers, "group.id": group, "auto.offset.reset": "earliest"}
    with (
        Consumer(settings, enable_auto_commit=False, isolation_level="read_committed") as consumer,
        Producer(bootstrap_servers=servers, transactional_id="copy") as producer,
    ):
        producer.init_transactions()
        consumer.subscribe([source.topic])
        records = take(consumer, 5)
        producer.begin_transaction()
        for record in records:
            producer.send(target.topic, record.value)
        offsets = {source: OffsetAndMetadata(consumer.position(source))}
        producer.send_offsets_to_transaction(offsets, consumer.group_metadata())
        producer.commit_transaction()
        committed = consumer.committed([source])[source]
        assert committed is not None
        assert committed.offset == 5
        consumer.unsubscribe()
        consumer.assign([target])
        assert [record.value for record in take(consumer, 5)] == [record.value for record in records]
