"""kill -9 of the broker at every step of a transaction, and of the application: all or nothing, and exactly once."""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from tests.broker_process import BrokerProcess
from tests.compat.kafka_tools import KafkaTools, Outcome
from tests.compat.transactional_reading import committed_values

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

KILLS = int(os.environ.get("MOLDAU_KILLS", "6"))
PATIENCE_S = 60.0
PARTITIONS = 2
GROUP = "copier"
STEPS = ["initialized", "begun", "written", "more to write", "offsets sent", "committing", "committed"]


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[BrokerProcess]:
    process = BrokerProcess(
        tmp_path / "data", "transaction.state.log.num.partitions=5", "offsets.topic.num.partitions=5"
    )
    process.start()
    try:
        yield process
        assert process.stop() == 0
    finally:
        process.kill()
    assert "Traceback" not in process.log.read_text()


def create(broker: BrokerProcess, *topics: str) -> None:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    for future in admin.create_topics([NewTopic(topic, PARTITIONS, 1) for topic in topics]).values():
        future.result(PATIENCE_S)


def producer_of(broker: BrokerProcess, transactional_id: str) -> Producer:
    producer = Producer(
        {
            "bootstrap.servers": broker.bootstrap_servers,
            "transactional.id": transactional_id,
            "reconnect.backoff.max.ms": 100,
            "retry.backoff.ms": 20,
            "linger.ms": 0,
        }
    )
    retry(producer.init_transactions)
    return producer


def retry(step: object) -> None:
    """Call a step of a transaction until it does not fail in a way that asks to try again."""
    assert callable(step)
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            step(PATIENCE_S)
        except KafkaException as failure:
            if not failure.args[0].retriable() or time.monotonic() > deadline:
                raise
        else:
            return


def consumer_of(broker: BrokerProcess) -> Consumer:
    return Consumer(
        {
            "bootstrap.servers": broker.bootstrap_servers,
            "group.id": GROUP,
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "isolation.level": "read_committed",
            "reconnect.backoff.max.ms": 100,
        }
    )


def crash(broker: BrokerProcess) -> None:
    broker.kill()
    broker.start()


def test_a_transaction_goes_on_after_a_crash_at_every_step(broker: BrokerProcess) -> None:
    create(broker, "t", "input")
    group = consumer_of(broker)
    for number, step in enumerate(STEPS):
        producer = producer_of(broker, f"tx-{number}")

        def reached(name: str, step: str = step) -> None:
            if name == step:
                crash(broker)

        reached("initialized")
        producer.begin_transaction()
        reached("begun")
        producer.produce("t", f"{number}a", partition=0)
        producer.flush(PATIENCE_S)
        reached("written")
        producer.produce("t", f"{number}b", partition=1)
        reached("more to write")
        offsets = [TopicPartition("input", 0, number + 1)]
        metadata = group.consumer_group_metadata()
        retry(lambda left_s, p=producer, o=offsets, m=metadata: p.send_offsets_to_transaction(o, m, left_s))
        reached("offsets sent")
        commit = threading.Thread(target=retry, args=(producer.commit_transaction,))
        commit.start()
        time.sleep(number / 1000)
        reached("committing")
        commit.join(PATIENCE_S)
        assert not commit.is_alive()
        reached("committed")
        expected = {f"{done}{letter}".encode() for done in range(number + 1) for letter in "ab"}
        found = committed_values(broker.bootstrap_servers, "t", PARTITIONS, len(expected))
        assert sorted(found) == sorted(expected), step
        assert group.committed([TopicPartition("input", 0)], PATIENCE_S)[0].offset == number + 1, step
    group.close()


def test_what_a_crashed_application_left_open_is_aborted_by_its_successor(broker: BrokerProcess) -> None:
    create(broker, "t")
    for number in range(3):
        abandoned = producer_of(broker, "app")
        abandoned.begin_transaction()
        abandoned.produce("t", b"lost", partition=0)
        abandoned.flush(PATIENCE_S)
        crash(broker)
        heir = producer_of(broker, "app")
        heir.begin_transaction()
        heir.produce("t", f"kept {number}", partition=0)
        retry(heir.commit_transaction)
    found = committed_values(broker.bootstrap_servers, "t", PARTITIONS, 3)
    assert found == [b"kept 0", b"kept 1", b"kept 2"]


class Copier:
    """Reads numbers, writes them again, and commits what it has read in the same transaction."""

    def __init__(self, broker: BrokerProcess) -> None:
        self.broker = broker
        self.producer = producer_of(broker, "copier")
        self.consumer = consumer_of(broker)
        self.consumer.subscribe(["numbers"])

    def copy(self) -> int:
        """A transaction; how many numbers were in it."""
        messages = [message for message in self.consumer.consume(20, 0.5) if not message.error()]
        if messages:
            self.producer.begin_transaction()
            for message in messages:
                self.producer.produce("copies", message.value(), partition=message.partition() or 0)
            offsets = self.next_offsets(messages)
            metadata = self.consumer.consumer_group_metadata()
            retry(lambda left_s: self.producer.send_offsets_to_transaction(offsets, metadata, left_s))
            retry(self.producer.commit_transaction)
        return len(messages)

    @staticmethod
    def next_offsets(messages: list[Message]) -> list[TopicPartition]:
        ends = {message.partition(): message.offset() for message in messages}
        return [TopicPartition("numbers", p or 0, (o or 0) + 1) for p, o in ends.items()]


def test_a_copy_is_exact_though_broker_and_copier_crash(broker: BrokerProcess) -> None:
    create(broker, "numbers", "copies")
    count = 60 * KILLS
    source = Producer({"bootstrap.servers": broker.bootstrap_servers, "enable.idempotence": True})
    for number in range(count):
        source.produce("numbers", b"%d" % number, partition=number % PARTITIONS)
    assert source.flush(PATIENCE_S) == 0
    draws = random.Random(6)
    stop = threading.Event()

    def crash_again_and_again() -> None:
        for _ in range(KILLS):
            time.sleep(draws.uniform(0.1, 1.5))
            crash(broker)
        stop.set()

    crashes = threading.Thread(target=crash_again_and_again)
    crashes.start()
    copied, copier = 0, Copier(broker)
    deadline = time.monotonic() + 300
    try:
        while (not stop.is_set() or copied < count) and time.monotonic() < deadline:
            try:
                copied += copier.copy()
            except KafkaException:
                copier.consumer.close()
                copier = Copier(broker)  # begins again where the last committed transaction ended
                found = committed_values(broker.bootstrap_servers, "copies", PARTITIONS)
                copied = len(found)
            if draws.random() < 0.1:
                copier.consumer.close()
                copier = Copier(broker)
    finally:
        crashes.join(PATIENCE_S)
        copier.consumer.close()
    found = committed_values(broker.bootstrap_servers, "copies", PARTITIONS, count)
    assert sorted(map(int, found)) == list(range(count))


@pytest.mark.java
def test_the_copier_of_kafkas_system_tests_copies_exactly_once_though_the_broker_crashes(
    broker: BrokerProcess, tools_of: Callable[[str], KafkaTools]
) -> None:
    create(broker, "numbers", "copies")
    count = 4_000
    source = Producer({"bootstrap.servers": broker.bootstrap_servers, "enable.idempotence": True})
    for number in range(count):
        source.produce("numbers", b"%d" % number, partition=0)
    assert source.flush(PATIENCE_S) == 0
    words = [
        *("--broker-list", broker.bootstrap_servers, "--input-topic", "numbers", "--output-topic", "copies"),
        *("--input-partition", "0", "--max-messages", str(count), "--transaction-size", "10"),
        *("--transactional-id", "java-copier", "--consumer-group", "java-copier"),
    ]
    outcomes: list[Outcome] = []
    tools = tools_of("3.9.1")
    copier = threading.Thread(target=lambda: outcomes.append(tools.try_run("transactional-message-copier", *words)))
    copier.start()
    for _ in range(3):
        time.sleep(0.8)
        crash(broker)
    copier.join(120)
    assert [outcome.exit_code for outcome in outcomes] == [0]
    found = committed_values(broker.bootstrap_servers, "copies", PARTITIONS, count)
    assert sorted(map(int, found)) == list(range(count))
