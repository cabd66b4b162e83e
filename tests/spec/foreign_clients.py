"""What the statements ask of clients that others wrote: confluent-kafka and kafka-python, in the fewest words."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, Consumer, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic
from kafka import KafkaAdminClient
from kafka.record.default_records import DefaultRecordBatchBuilder
from kafka.record.legacy_records import LegacyRecordBatchBuilder

PATIENCE_S = 20.0
NOW_MS = 1_700_000_000_000

Settings = Mapping[str, object]
NO_SETTINGS: Settings = {}


def admin(address: str) -> AdminClient:
    return AdminClient({"bootstrap.servers": address})


@contextmanager
def kafka_python_admin(address: str) -> Iterator[KafkaAdminClient]:
    with closing(KafkaAdminClient(bootstrap_servers=address)) as client:
        yield client


def ask(address: str, question: Callable[[AdminClient], Mapping[Any, Any]]) -> Any:
    """What one call of an AdminClient brings, or its exception."""
    client = admin(address)  # held until the answer is there
    (future,) = question(client).values()
    return future.result(PATIENCE_S)


def create_topic(address: str, name: str, partitions: int = 1, **settings: Any) -> None:
    ask(address, lambda client: client.create_topics([NewTopic(name, partitions, 1, **settings)]))


def config_of(address: str, kind: ConfigResource.Type, name: str) -> dict[str, Any]:
    """The entries by their names."""
    found: dict[str, Any] = ask(address, lambda client: client.describe_configs([ConfigResource(kind, name)]))
    return found


def produce(address: str, topic: str, *values: bytes, settings: Settings = NO_SETTINGS) -> list[Message]:
    """Their delivery reports, in order, whatever they say."""
    reports: list[Message] = []
    producer = Producer({"bootstrap.servers": address, "linger.ms": 0, **settings})
    for value in values:
        producer.produce(topic, value, partition=0, on_delivery=lambda _error, report: reports.append(report))
    assert producer.flush(PATIENCE_S) == 0
    return reports


@contextmanager
def consumer(address: str, topic: str, settings: Settings = NO_SETTINGS) -> Iterator[Consumer]:
    """At the beginning of partition 0, without a group: librdkafka wants the name of one, and does not use it."""
    groupless = {"bootstrap.servers": address, "group.id": "none", "enable.auto.commit": False}
    with closing(Consumer({**groupless, **settings})) as it:
        it.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
        yield it


def values_of(from_consumer: Consumer, count: int) -> list[bytes | None]:
    """The values of the next records, as soon as there are so many."""
    values: list[bytes | None] = []
    deadline = time.monotonic() + PATIENCE_S
    while len(values) < count:
        message = from_consumer.poll(0.2)
        assert time.monotonic() < deadline, f"{len(values)} of {count} records came"
        if message is not None:
            assert message.error() is None
            values.append(message.value())
    return values


def eventually(condition: Callable[[], bool]) -> None:
    """Wait until it holds."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, "it did not come true"
        time.sleep(0.02)


def batch(
    *values: bytes, key: bytes | None = None, transactional: bool = False, producer: tuple[int, int, int]
) -> bytes:
    """A batch of magic 2 as kafka-python builds it; the producer is its id, its epoch and the first sequence."""
    builder = DefaultRecordBatchBuilder(2, 0, transactional, *producer, 1 << 20)
    for number, value in enumerate(values):
        builder.append(number, NOW_MS, key, value, [])
    return bytes(builder.build())


def plain_batch(*values: bytes, key: bytes | None = None) -> bytes:
    return batch(*values, key=key, producer=(-1, -1, -1))


def message_set(magic: int, *rows: tuple[bytes | None, bytes]) -> bytes:
    """Messages of magic 0 or 1 as kafka-python builds them."""
    builder = LegacyRecordBatchBuilder(magic, 0, 1 << 20)
    for number, (key, value) in enumerate(rows):
        builder.append(number, NOW_MS, key, value)
    return bytes(builder.build())
