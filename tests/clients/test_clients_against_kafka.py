"""Producer and consumer with Apache Kafka itself: 3.9.1 with ZooKeeper, 4.3.0 without.

What the producer writes is read back by librdkafka; what the consumer reads was written by librdkafka, or in
transactions, for which both have to agree anyway, by the producer.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import confluent_kafka
import confluent_kafka.admin
import pytest

from bench.kafka_server import KafkaServer
from moldau import Consumer, Producer, TopicPartition
from moldau.clients.errors import ProducerFenced, RecordTooLarge
from tests.clients.records_to_consume import new_group, poll_until, take
from tests.compat.jvm_kafka import jvm_kafka
from tests.java_tools import require_java

pytestmark = [pytest.mark.java, pytest.mark.slow, pytest.mark.timeout(300)]

READ_S_MAX = 30.0

_topics = count()


@contextmanager
def kafka_3(folder: Path) -> Iterator[str]:
    with jvm_kafka(folder) as kafka:
        yield kafka.bootstrap


@contextmanager
def kafka_4(_folder: Path) -> Iterator[str]:
    with KafkaServer() as kafka:
        yield kafka.bootstrap


@pytest.fixture(scope="module", params=[kafka_3, kafka_4], ids=["3.9.1", "4.3.0"])
def bootstrap(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    require_java()
    with request.param(tmp_path_factory.mktemp("kafka")) as address:
        yield address


@pytest.fixture
def topic() -> str:
    """A name of its own for each try: a second one must not find what the first one wrote."""
    return f"topic-{next(_topics)}"


def read(bootstrap: str, topic: str, count: int) -> list[bytes]:
    """The first committed values of partition 0."""
    consumer = confluent_kafka.Consumer({"bootstrap.servers": bootstrap, "group.id": "readers", "log_level": 0})
    consumer.assign([confluent_kafka.TopicPartition(topic, 0, 0)])
    try:
        return [message.value() for message in consumer.consume(count, READ_S_MAX)]
    finally:
        consumer.close()


def write(bootstrap: str, topic: str, values: list[bytes], codec: str = "none", partition: int = 0) -> None:
    producer = confluent_kafka.Producer({"bootstrap.servers": bootstrap, "compression.type": codec, "log_level": 0})
    for value in values:
        producer.produce(topic, value, key=b"k", headers=[("h", b"v")], partition=partition)
    assert producer.flush(READ_S_MAX) == 0


@pytest.mark.parametrize("codec", ["none", "zstd"])
def test_records_arrive_once_and_in_order(bootstrap: str, topic: str, codec: str) -> None:
    with Producer(bootstrap_servers=bootstrap, compression_type=codec, linger_ms=5) as producer:
        futures = [producer.send(topic, b"%d" % number, key=b"k", partition=0) for number in range(3000)]
        producer.flush(60)
        assert [future.result(0).offset for future in futures] == list(range(3000))
    assert read(bootstrap, topic, 3000) == [b"%d" % number for number in range(3000)]


def test_transactions_commit_abort_and_fence(bootstrap: str, topic: str) -> None:
    settings = {"bootstrap.servers": bootstrap, "transactional.id": topic}
    with Producer(settings) as old, Producer(settings) as new:
        old.init_transactions()
        for values, commits in (((b"1", b"2"), True), ((b"3",), False), ((b"4",), True)):
            old.begin_transaction()
            for value in values:
                old.send(topic, value, partition=0).result(30)
            old.send_offsets_to_transaction({TopicPartition(topic, 0): 1}, "some-group")
            old.commit_transaction() if commits else old.abort_transaction()
        old.begin_transaction()
        old.send(topic, b"5", partition=0).result(30)
        new.init_transactions()
        with pytest.raises(ProducerFenced):
            old.commit_transaction()
    assert read(bootstrap, topic, 3) == [b"1", b"2", b"4"]


def test_a_record_that_the_topic_does_not_take_is_named(bootstrap: str, topic: str) -> None:
    with Producer(bootstrap_servers=bootstrap, max_request_size=3_000_000) as producer:
        failure = producer.send(topic, b"x" * 2_000_000).exception(60)
        assert isinstance(failure, RecordTooLarge)
        assert producer.send(topic, b"fits").exception(60) is None


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_what_librdkafka_wrote_is_read_as_records_and_as_columns(bootstrap: str, topic: str, codec: str) -> None:
    values = [b"%d" % number for number in range(500)]
    write(bootstrap, topic, values, codec)
    with Consumer(bootstrap_servers=bootstrap, auto_offset_reset="earliest") as consumer:
        consumer.assign([(topic, 0)])
        records = take(consumer, 500, READ_S_MAX)
        assert [record.value for record in records] == values
        assert [record.offset for record in records] == list(range(500))
        assert {(record.key, record.headers) for record in records} == {(b"k", (("h", b"v"),))}
        assert consumer.end_offsets([(topic, 0)]) == {(topic, 0): 500}
        consumer.seek((topic, 0), 100)
        assert _columns(consumer, 400) == values[100:]


def _columns(consumer: Consumer, count: int) -> list[bytes]:
    values: list[bytes] = []
    ends = time.monotonic() + READ_S_MAX
    while len(values) < count and time.monotonic() < ends:
        for batch in consumer.poll_batches(0.5):
            values.extend(batch.columns["value"].to_pylist())
    return values


def test_a_group_shares_a_topic_and_goes_on_where_it_was(bootstrap: str, topic: str) -> None:
    group = new_group()
    admin = confluent_kafka.admin.AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([confluent_kafka.admin.NewTopic(topic, 2, 1)])[topic].result(READ_S_MAX)
    for partition in (0, 1):
        write(bootstrap, topic, [b"%d" % partition] * 3, partition=partition)
    settings = {"bootstrap.servers": bootstrap, "group.id": group, "auto.offset.reset": "earliest"}
    with Consumer(settings, enable_auto_commit=False, partition_assignment_strategy="cooperative-sticky") as first:
        first.subscribe([topic])
        assert sorted(record.value for record in take(first, 6, READ_S_MAX)) == [b"0"] * 3 + [b"1"] * 3
        first.commit()
        with Consumer(settings, partition_assignment_strategy="cooperative-sticky") as second:
            second.subscribe([topic])
            members = [first, second]
            poll_until(members, lambda: [len(each.assignment()) for each in members] == [1, 1], READ_S_MAX)
            (of_first,) = first.assignment()
            write(bootstrap, topic, [b"more"], partition=of_first.partition)
            assert [record.value for record in take(first, 1, READ_S_MAX)] == [b"more"]
            assert second.poll(0.1) == []
        assert first.committed([(topic, 0), (topic, 1)]) == {(topic, 0): (3, "", 0), (topic, 1): (3, "", 0)}


def test_a_reader_of_committed_records_sees_no_aborted_ones(bootstrap: str, topic: str) -> None:
    with Producer(bootstrap_servers=bootstrap, transactional_id=topic) as producer:
        producer.init_transactions()
        for number in range(6):
            producer.begin_transaction()
            producer.send(topic, b"%d" % number, partition=0).result(READ_S_MAX)
            producer.commit_transaction() if number % 2 else producer.abort_transaction()
    for level, values in (("read_committed", [b"1", b"3", b"5"]), ("read_uncommitted", [b"%d" % n for n in range(6)])):
        with Consumer(bootstrap_servers=bootstrap, auto_offset_reset="earliest", isolation_level=level) as consumer:
            consumer.assign([(topic, 0)])
            assert [record.value for record in take(consumer, len(values), READ_S_MAX)] == values
            assert consumer.position((topic, 0)) >= 11
