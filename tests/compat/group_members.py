"""Consumers of three client libraries as members of groups, each in a thread of its own, all used in the same way."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from typing import Any

import kafka
import pytest
from aiokafka import AIOKafkaConsumer
from aiokafka.coordinator.assignors.range import RangePartitionAssignor as AiokafkaRange
from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor as AiokafkaRoundRobin
from aiokafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor as AiokafkaSticky
from confluent_kafka import Consumer
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from kafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor

PATIENCE_S = 40.0
STOP_S_MAX = 20.0
SESSION_MS, HEARTBEAT_MS = 6_000, 300

Partition = tuple[str, int]
Offset = tuple[str, int, int]

KAFKA_PYTHON = {
    "range": RangePartitionAssignor,
    "roundrobin": RoundRobinPartitionAssignor,
    "sticky": StickyPartitionAssignor,
    "cooperative-sticky": CooperativeStickyAssignor,
}
AIOKAFKA = {"range": AiokafkaRange, "roundrobin": AiokafkaRoundRobin, "sticky": AiokafkaSticky}


class GroupConsumer(threading.Thread):
    """What it has got and owns at the moment; `leaves` says whether it says goodbye when it is stopped."""

    def __init__(
        self, address: str, group_id: str, topics: Iterable[str], assignor: str, instance: str | None = None
    ) -> None:
        super().__init__(daemon=True)
        self.address = address
        self.group_id = group_id
        self.topics = list(topics)
        self.assignor = assignor
        self.instance = instance
        self.received: list[Offset] = []
        self.owned: set[Partition] = set()
        self.failure: BaseException | None = None
        self.is_stopping = False

    def run(self) -> None:
        try:
            self.consume()
        except BaseException as error:
            self.failure = error
            raise

    def consume(self) -> None:
        raise NotImplementedError

    def stop(self) -> None:
        self.is_stopping = True
        self.join(STOP_S_MAX)
        assert not self.is_alive(), "it does not stop"
        if self.failure is not None:
            raise self.failure


class ConfluentConsumer(GroupConsumer):
    def consume(self) -> None:
        settings: dict[str, Any] = {
            "bootstrap.servers": self.address,
            "group.id": self.group_id,
            "partition.assignment.strategy": self.assignor,
            "auto.offset.reset": "earliest",
            "session.timeout.ms": SESSION_MS,
            "heartbeat.interval.ms": HEARTBEAT_MS,
            "auto.commit.interval.ms": 200,
        }
        if self.instance is not None:
            settings["group.instance.id"] = self.instance
        consumer = Consumer(settings)
        consumer.subscribe(self.topics)
        while not self.is_stopping:
            for message in consumer.consume(100, 0.05):
                if message.error() is None:
                    topic, partition, offset = message.topic(), message.partition(), message.offset()
                    assert topic is not None and partition is not None and offset is not None  # noqa: PT018
                    self.received.append((topic, partition, offset))
            self.owned = {(one.topic, one.partition) for one in consumer.assignment()}
        consumer.close()


# kafka-python 3.0.12 loses its assignment for good if the time of a poll is up between the answers to JoinGroup and
# SyncGroup. That is its own, and comes up in one run of ten or so: such a test may be tried again.
KAFKA_PYTHON_RACES = pytest.mark.flaky(reruns=3)


class KafkaPythonConsumer(GroupConsumer):
    def consume(self) -> None:
        consumer = kafka.KafkaConsumer(
            *self.topics,
            bootstrap_servers=self.address,
            group_id=self.group_id,
            group_instance_id=self.instance,
            partition_assignment_strategy=[KAFKA_PYTHON[self.assignor]],
            auto_offset_reset="earliest",
            session_timeout_ms=SESSION_MS,
            heartbeat_interval_ms=HEARTBEAT_MS,
            auto_commit_interval_ms=200,
            # It forgets a topic that is subscribed to while a metadata request is under way, until the next one.
            metadata_max_age_ms=1_000,
        )
        with closing(consumer):
            while not self.is_stopping:
                for partition, records in consumer.poll(timeout_ms=50).items():
                    self.received += [(partition.topic, partition.partition, record.offset) for record in records]
                self.owned = {(one.topic, one.partition) for one in consumer.assignment()}


class AiokafkaConsumer(GroupConsumer):
    def consume(self) -> None:
        asyncio.run(self._consume())

    async def _consume(self) -> None:
        consumer = AIOKafkaConsumer(
            *self.topics,
            bootstrap_servers=self.address,
            group_id=self.group_id,
            group_instance_id=self.instance,
            partition_assignment_strategy=[AIOKAFKA[self.assignor]],
            auto_offset_reset="earliest",
            session_timeout_ms=SESSION_MS,
            heartbeat_interval_ms=HEARTBEAT_MS,
            auto_commit_interval_ms=200,
        )
        await consumer.start()
        while not self.is_stopping:
            for partition, records in (await consumer.getmany(timeout_ms=50)).items():
                self.received += [(partition.topic, partition.partition, record.offset) for record in records]
            self.owned = {(one.topic, one.partition) for one in consumer.assignment()}
        await consumer.stop()


@contextmanager
def consuming(*members: GroupConsumer) -> Iterator[None]:
    for member in members:
        member.start()
    try:
        yield
    finally:
        alive = [member for member in members if member.is_alive()]
        for member in alive:  # all of them, also if one does not stop: it would bother the tests after this one
            member.is_stopping = True
        for member in alive:
            member.stop()


def eventually(holds: Callable[[], bool], what: Callable[[], object] = lambda: "") -> None:
    """Wait until something is so."""
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline, what()
        time.sleep(0.05)
