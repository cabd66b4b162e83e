"""Our consumer in one group with members of other libraries: any of them leads, and each partition has one reader."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import pytest

from moldau.clients.consumer.plain import Consumer
from moldau.testing.local_cluster import LocalCluster
from tests.clients.records_to_consume import produce
from tests.compat.group_members import (
    HEARTBEAT_MS,
    KAFKA_PYTHON_RACES,
    SESSION_MS,
    ConfluentConsumer,
    GroupConsumer,
    KafkaPythonConsumer,
    consuming,
    eventually,
)
from tests.compat.java_group_member import JavaConsumer3

pytestmark = pytest.mark.slow

PARTITIONS = 6
RECORDS = 10
numbers = count(1)


class MoldauConsumer(GroupConsumer):
    def consume(self) -> None:
        settings = {
            "bootstrap.servers": self.address,
            "group.id": self.group_id,
            "partition.assignment.strategy": [self.assignor],
            "auto.offset.reset": "earliest",
            "session.timeout.ms": SESSION_MS,
            "heartbeat.interval.ms": HEARTBEAT_MS,
            "auto.commit.interval.ms": 200,
        }
        with Consumer(settings) as consumer:
            consumer.subscribe(self.topics)
            while not self.is_stopping:
                self.received += [(each.topic, each.partition, each.offset) for each in consumer.poll(0.05)]
                self.owned = {(each.topic, each.partition) for each in consumer.assignment()}


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    with LocalCluster({"offsets.topic.num.partitions": "1"}) as cluster:
        yield cluster


@pytest.fixture
def topic(cluster: LocalCluster) -> str:
    name = f"mixed-{next(numbers)}"
    cluster.create_topic(name, PARTITIONS)
    for partition in range(PARTITIONS):
        produce(cluster, name, [b"v"] * RECORDS, partition)
    return name


def _live_together(cluster: LocalCluster, topic: str, assignor: str, clients: list[type[GroupConsumer]]) -> None:
    address, group = cluster.bootstrap_servers, f"group-{topic}"
    members = [client(address, group, [topic], assignor) for client in clients]
    everything = {(topic, partition) for partition in range(PARTITIONS)}

    def divided(among: list[GroupConsumer]) -> bool:
        owned = [partition for member in among for partition in member.owned]
        return sorted(owned) == sorted(everything) and all(member.owned for member in among)

    with consuming(*members):
        eventually(lambda: divided(members), lambda: [member.owned for member in members])
        wanted = {(*partition, offset) for partition in everything for offset in range(RECORDS)}
        eventually(lambda: {each for member in members for each in member.received} == wanted)
        for gone in list(members[:-1]):
            gone.stop()
            members.remove(gone)
            eventually(lambda: divided(members), lambda: [member.owned for member in members])


@pytest.mark.parametrize("assignor", ["range", "roundrobin", "cooperative-sticky"])
def test_with_librdkafka(cluster: LocalCluster, topic: str, assignor: str) -> None:
    _live_together(cluster, topic, assignor, [ConfluentConsumer, MoldauConsumer])


@KAFKA_PYTHON_RACES
@pytest.mark.parametrize("assignor", ["sticky", "cooperative-sticky"])
def test_with_kafka_python(cluster: LocalCluster, topic: str, assignor: str) -> None:
    _live_together(cluster, topic, assignor, [MoldauConsumer, KafkaPythonConsumer])


@pytest.mark.java
@pytest.mark.parametrize("assignor", ["range", "sticky", "cooperative-sticky"])
def test_with_java(cluster: LocalCluster, topic: str, assignor: str) -> None:
    _live_together(cluster, topic, assignor, [JavaConsumer3, MoldauConsumer])
