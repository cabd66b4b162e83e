"""A cluster of Apache Kafka 3.9.1 goes on as one of Moldau, and back again, on the same ZooKeeper and data."""

from __future__ import annotations

from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, NewTopic, ResourceType

from tests.broker_process import BrokerProcess
from tests.cluster.cluster_process import wait_until
from tests.cluster.znode_view import ZnodeView
from tests.compat.jvm_member import JvmMember
from tests.zookeeper_process import zookeeper

pytestmark = [pytest.mark.java, pytest.mark.slow, pytest.mark.timeout(180)]

BROKER_ID = 0
SETTINGS = {
    "offsets.topic.num.partitions": "1",
    "offsets.topic.replication.factor": "1",
    "group.initial.rebalance.delay.ms": "0",
    "controlled.shutdown.enable": "false",
    "zookeeper.session.timeout.ms": "6000",
}


def _admin(servers: str) -> AdminClient:
    """To be held by a name: answers come only as long as there is a client."""
    return AdminClient({"bootstrap.servers": servers, "log_level": 0})


def _create(servers: str, topic: str) -> None:
    topics = [NewTopic(topic, 2, 1, config={"retention.ms": "123456"})]
    admin = _admin(servers)
    admin.create_topics(topics)[topic].result(30)


def _alter(servers: str, topic: str, name: str, value: str) -> None:
    entry = ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[entry])
    admin = _admin(servers)
    for outcome in admin.incremental_alter_configs([resource]).values():
        outcome.result(30)


def _setting(servers: str, topic: str, name: str) -> str:
    resource = ConfigResource(ResourceType.TOPIC, topic)
    admin = _admin(servers)
    value = admin.describe_configs([resource])[resource].result(30)[name].value
    assert isinstance(value, str)
    return value


def _produce(servers: str, topic: str, *values: str) -> None:
    producer = Producer({"bootstrap.servers": servers, "acks": "all", "log_level": 0})
    for value in values:
        producer.produce(topic, value, partition=1)
    assert producer.flush(30) == 0


def _read_on(servers: str, topic: str, count: int) -> list[str]:
    """What a group reads from where it stopped; it commits what it has read."""
    consumer = Consumer(
        {"bootstrap.servers": servers, "group.id": "g", "auto.offset.reset": "earliest", "log_level": 0}
    )
    consumer.subscribe([topic])
    values: list[str] = []

    def read() -> bool:
        message = consumer.poll(0.2)
        if message is not None and not message.error():
            values.append(message.value().decode())
        return len(values) >= count

    wait_until(read, f"{count} records")
    consumer.commit(asynchronous=False)
    assert consumer.committed([TopicPartition(topic, 1)], timeout=20)[0].offset > 0
    consumer.close()
    return values


def test_moldau_takes_over_what_kafka_has_written_and_kafka_takes_it_back(tmp_path: Path) -> None:
    with zookeeper() as ensemble, ZnodeView(ensemble.connect) as znodes:
        connect = ensemble.connect
        kafka = JvmMember(tmp_path / "jvm", BROKER_ID, connect, SETTINGS)
        moldau = BrokerProcess(kafka.data, f"zookeeper.connect={connect}", *map("=".join, SETTINGS.items()))
        try:
            kafka.start()
            _create(kafka.address, "theirs")
            _produce(kafka.address, "theirs", "a", "b")
            _alter(kafka.address, "theirs", "max.message.bytes", "54321")
            assert _read_on(kafka.address, "theirs", 2) == ["a", "b"]
            kafka.stop()
            tree = {path: znodes.read(path) for path in ("/cluster/id", "/brokers/topics/theirs", "/feature")}
            epoch = znodes.controller_epoch()

            moldau.start()
            here = moldau.bootstrap_servers
            assert znodes.controller_epoch() == epoch + 1
            assert tree == {path: znodes.read(path) for path in tree}, "nothing of it has changed"
            assert _setting(here, "theirs", "max.message.bytes") == "54321"
            assert _setting(here, "theirs", "retention.ms") == "123456"
            _produce(here, "theirs", "c", "d")
            assert _read_on(here, "theirs", 2) == ["c", "d"], "the group goes on where it was"
            _create(here, "ours")
            _produce(here, "ours", "x")
            _alter(here, "ours", "max.message.bytes", "65432")
            assert moldau.stop() == 0

            kafka.start()
            wait_until(
                lambda: "ours" in _admin(kafka.address).list_topics(timeout=10).topics, "what Moldau has created"
            )
            assert _setting(kafka.address, "ours", "max.message.bytes") == "65432"
            assert _setting(kafka.address, "ours", "retention.ms") == "123456"
            _produce(kafka.address, "theirs", "e")
            assert _read_on(kafka.address, "theirs", 1) == ["e"]
            assert _read_on(kafka.address, "ours", 1) == ["x"]
            assert znodes.controller_epoch() == epoch + 2
        finally:
            kafka.kill()
            moldau.kill()
