"""kill -9 of a broker under load, again and again: an idempotent producer loses nothing and writes nothing twice."""

from __future__ import annotations

import os
import random
import time
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Message, Producer, TopicPartition

from tests.broker_process import BrokerProcess

KILLS = int(os.environ.get("MOLDAU_KILLS", "8"))
PARTITIONS = 3
TOPIC = "numbers"


class Numbers:
    """A producer of consecutive numbers in each partition, which notes what was acknowledged."""

    def __init__(self, bootstrap_servers: str) -> None:
        self.producer = Producer(
            {
                "bootstrap.servers": bootstrap_servers,
                "enable.idempotence": True,
                "message.timeout.ms": 120_000,
                "linger.ms": 2,
                "reconnect.backoff.max.ms": 100,
                "retry.backoff.ms": 20,
            }
        )
        self.next = [0] * PARTITIONS
        self.acknowledged = [0] * PARTITIONS
        self.failures: list[str] = []

    def send_for(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for partition in range(PARTITIONS):
                value = b"%d" % self.next[partition]
                self.producer.produce(TOPIC, value, partition=partition, on_delivery=self._delivered)
                self.next[partition] += 1
            self.producer.poll(0.002)

    def _delivered(self, error: object, message: Message) -> None:
        if error is not None:
            self.failures.append(str(error))
            return
        partition = message.partition()
        assert partition is not None
        self.acknowledged[partition] += 1


def read_all(bootstrap_servers: str, partition: int) -> list[int]:
    consumer = Consumer({"bootstrap.servers": bootstrap_servers, "group.id": "unused", "enable.auto.commit": False})
    _, end = consumer.get_watermark_offsets(TopicPartition(TOPIC, partition), timeout=10)
    consumer.assign([TopicPartition(TOPIC, partition, 0)])
    found: list[int] = []
    deadline = time.monotonic() + 60
    while len(found) < end and time.monotonic() < deadline:
        found += [int(message.value() or b"") for message in consumer.consume(10_000, 1.0) if not message.error()]
    consumer.close()
    return found


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_every_acknowledged_record_is_there_once_and_in_order(tmp_path: Path) -> None:
    draws = random.Random(4)
    broker = BrokerProcess(tmp_path / "data", f"num.partitions={PARTITIONS}", "log.segment.bytes=200000")
    broker.start()
    try:
        numbers = Numbers(broker.bootstrap_servers)
        for _ in range(KILLS):
            numbers.send_for(draws.uniform(0.3, 1.0))
            broker.kill()
            numbers.send_for(0.1)
            broker.start()
        numbers.send_for(0.3)
        assert numbers.producer.flush(60) == 0
        assert not numbers.failures
        assert numbers.acknowledged == numbers.next
        for partition in range(PARTITIONS):
            assert read_all(broker.bootstrap_servers, partition) == list(range(numbers.next[partition]))
        assert broker.stop() == 0
    finally:
        broker.kill()
