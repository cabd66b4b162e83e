"""Two brokers of Moldau and one of Apache Kafka 3.9.1 in one cluster: on one ZooKeeper, replicating both ways.

The controller is one of ours, then Kafka's, then ours again; leaders are on all three. After every change everything
has to be in sync again, acknowledged records have to be read, and in the end the logs are the same byte by byte.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pytest
from confluent_kafka import Consumer, ElectionType, KafkaError, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, NewTopic, ResourceType

from tests.cluster.cluster_process import SETTINGS, ProcessCluster, process_cluster, wait_until
from tests.cluster.znode_view import NOBODY, ZnodeView
from tests.compat.jvm_member import JvmMember

pytestmark = [pytest.mark.java, pytest.mark.slow, pytest.mark.timeout(240)]

CHROOT = "/mixed"
JVM = 2
PARTITIONS = 6
OURS, THEIRS = "created-by-moldau", "created-by-kafka"


@dataclass
class Mixed:
    moldau: ProcessCluster
    kafka: JvmMember
    znodes: ZnodeView
    sent: list[str] = field(default_factory=list)

    @property
    def servers(self) -> str:
        return f"{self.moldau.bootstrap_servers},{self.kafka.address}"

    def create_topic(self, name: str) -> None:
        admin = AdminClient({"bootstrap.servers": self.servers, "log_level": 0})
        admin.create_topics([NewTopic(name, PARTITIONS, 3)])[name].result(30)
        self.await_sync(name)

    def await_sync(self, *topics: str) -> None:
        for topic in topics:
            wait_until(partial(self.znodes.is_in_sync, topic, PARTITIONS, 3), f"{topic} in sync")

    def move_controller(self, *to: int) -> None:
        """Elections are races, so it may take some."""
        for _ in range(40):
            controller = self.znodes.controller()
            wait_until(partial(self._all_know, controller), "brokers that know their controller")
            if controller in to:
                return
            self.znodes.unseat_controller()
            wait_until(lambda: self.znodes.controller() != NOBODY, "a controller")
        raise AssertionError(f"none of {to} wins an election")

    def _all_know(self, controller: int) -> bool:
        clients = [AdminClient({"bootstrap.servers": each, "log_level": 0}) for each in self.servers.split(",")]
        return all(client.list_topics(timeout=10).controller_id == controller for client in clients)

    def produce(self, *topics: str) -> None:
        """Ten records to each partition, acknowledged by all; of two topics together in a transaction."""
        options = {"bootstrap.servers": self.servers, "acks": "all", "log_level": 0}
        producer = Producer({**options, "transactional.id": "mixed"} if len(topics) > 1 else options)
        failures: list[object] = []
        if len(topics) > 1:
            producer.init_transactions(30)
            producer.begin_transaction()
        for topic in topics:
            for number in range(10 * PARTITIONS):
                self.sent.append(f"{topic}-{len(self.sent)}")
                producer.produce(
                    topic,
                    self.sent[-1],
                    partition=number % PARTITIONS,
                    on_delivery=lambda error, _: failures.append(error) if error else None,
                )
        if len(topics) > 1:
            producer.commit_transaction(30)
        assert producer.flush(30) == 0
        assert failures == []

    def values(self, topic: str, group: str) -> list[str]:
        """All records of a topic, read by a member of a group, whose coordinator may be any broker."""
        consumer = Consumer(
            {
                "bootstrap.servers": self.servers,
                "group.id": group,
                "auto.offset.reset": "earliest",
                "enable.partition.eof": True,
                "log_level": 0,
            }
        )
        consumer.subscribe([topic])
        values: list[str] = []
        ended: set[int] = set()

        def read() -> bool:
            message = consumer.poll(0.5)
            if message is not None and message.error():
                ended.add(message.partition())
            elif message is not None:
                values.append(message.value().decode())
            return len(ended) == PARTITIONS

        wait_until(read, f"the end of {topic}")
        consumer.commit(asynchronous=False)
        committed = consumer.committed([TopicPartition(topic, number) for number in range(PARTITIONS)], timeout=20)
        assert all(each.offset > 0 for each in committed)
        consumer.close()
        return values


@pytest.fixture
def mixed() -> Iterator[Mixed]:
    with process_cluster(brokers=2, chroot=CHROOT) as moldau:
        connect = moldau.ensemble.connect + CHROOT
        kafka = JvmMember(moldau.folder / "jvm", JVM, connect, SETTINGS)
        try:
            with ZnodeView(connect) as znodes:
                kafka.start()
                wait_until(lambda: znodes.brokers() == [0, 1, JVM], "three brokers")
                yield Mixed(moldau, kafka, znodes)
        finally:
            kafka.kill()


def test_moldau_and_kafka_replicate_to_each_other_whoever_is_the_controller(mixed: Mixed) -> None:
    znodes, moldau, kafka = mixed.znodes, mixed.moldau, mixed.kafka
    mixed.move_controller(0, 1)
    mixed.create_topic(OURS)
    assert znodes.leaders(OURS) == {0, 1, JVM}
    mixed.produce(OURS)

    mixed.move_controller(JVM)
    mixed.create_topic(THEIRS)
    assert znodes.leaders(THEIRS) == {0, 1, JVM}
    mixed.produce(OURS, THEIRS)

    moldau.kill(0)
    wait_until(lambda: 0 not in znodes.leaders(OURS) | znodes.leaders(THEIRS), "other leaders, by Kafka's controller")
    mixed.produce(OURS, THEIRS)
    moldau.start(0)
    mixed.await_sync(OURS, THEIRS)
    assert moldau.stop(1) == 0
    assert 1 not in znodes.leaders(OURS), "Kafka's controller has moved them before the broker left"
    mixed.produce(THEIRS)
    moldau.start(1)
    mixed.await_sync(OURS, THEIRS)

    kafka.kill()
    wait_until(lambda: znodes.controller() in (0, 1), "a controller of ours")
    wait_until(lambda: JVM not in znodes.leaders(OURS) | znodes.leaders(THEIRS), "other leaders, by our controller")
    mixed.produce(OURS, THEIRS)
    kafka.start()
    mixed.await_sync(OURS, THEIRS)
    kafka.stop()
    assert JVM not in znodes.leaders(THEIRS) | set(znodes.brokers()), "our controller has moved them before"
    mixed.produce(OURS)
    kafka.start()
    mixed.await_sync(OURS, THEIRS)

    for topic in (OURS, THEIRS):
        found = mixed.values(topic, f"group-of-{topic}")
        assert sorted(found) == sorted(value for value in mixed.sent if value.startswith(topic))
    _compare_logs(mixed)


def _compare_logs(mixed: Mixed) -> None:
    folders = [mixed.moldau.data_of(0), mixed.moldau.data_of(1), mixed.kafka.data]
    for topic in (OURS, THEIRS):
        for partition in range(PARTITIONS):
            logs = [_records(folder / f"{topic}-{partition}") for folder in folders]
            assert logs[0] == logs[1] == logs[2], f"{topic}-{partition}"
            assert logs[0]


def _records(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(folder.glob("*.log")))


@pytest.mark.parametrize("controllers", [(0, 1), (JVM,)], ids=["moldau", "kafka"])
def test_what_is_administered_at_one_is_obeyed_by_the_others(mixed: Mixed, controllers: tuple[int, ...]) -> None:
    mixed.move_controller(*controllers)
    topic = f"administered-{controllers[0]}"
    mixed.create_topic(topic)
    for asked, size in ((mixed.moldau.address(0), 3000), (mixed.kafka.address, 2000)):
        _limit_messages(asked, topic, size)
        for partition in range(PARTITIONS):  # of leaders of both kinds
            wait_until(partial(_is_refused, mixed.servers, topic, partition, size + 500), "the new limit")
            assert not _is_refused(mixed.servers, topic, partition, size - 500)

    first = mixed.znodes.partitions(topic)[0]
    moved_to = [each for each in (0, 1, JVM) if each != first.leader]
    mixed.znodes.create("/admin/reassign_partitions", _reassignment(topic, moved_to))
    wait_until(lambda: mixed.znodes.read(f"/brokers/topics/{topic}")["partitions"]["0"] == moved_to, "the new replicas")
    wait_until(lambda: mixed.znodes.read("/admin/reassign_partitions") is None, "the end of the reassignment")
    assert sorted(mixed.znodes.partitions(topic)[0].isr) == moved_to

    # Another order of the same replicas copies nothing, and a preferred election then moves the leader.
    mixed.znodes.create("/admin/reassign_partitions", _reassignment(topic, moved_to[::-1]))
    wait_until(lambda: mixed.znodes.read("/admin/reassign_partitions") is None, "the end of the reassignment")
    admin = AdminClient({"bootstrap.servers": mixed.servers, "log_level": 0})
    admin.elect_leaders(ElectionType.PREFERRED, [TopicPartition(topic, 0)]).result(30)
    wait_until(lambda: mixed.znodes.partitions(topic)[0].leader == moved_to[1], "the preferred leader")

    admin.delete_topics([topic])[topic].result(30)
    folders = [mixed.moldau.data_of(0), mixed.moldau.data_of(1), mixed.kafka.data]
    wait_until(lambda: topic not in mixed.znodes.names("/brokers/topics"), "the end of the topic")
    wait_until(lambda: not any(list(each.glob(f"{topic}-?")) for each in folders), "the end of its logs")


def _reassignment(topic: str, replicas: list[int]) -> object:
    return {"version": 1, "partitions": [{"topic": topic, "partition": 0, "replicas": replicas}]}


def _limit_messages(server: str, topic: str, size: int) -> None:
    entry = ConfigEntry("max.message.bytes", str(size), incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[entry])
    admin = AdminClient({"bootstrap.servers": server, "log_level": 0})
    admin.incremental_alter_configs([resource])[resource].result(30)


def _is_refused(servers: str, topic: str, partition: int, size: int) -> bool:
    producer = Producer({"bootstrap.servers": servers, "acks": "all", "log_level": 0})
    errors: list[KafkaError | None] = []
    producer.produce(topic, bytes(size), partition=partition, on_delivery=lambda error, _: errors.append(error))
    assert producer.flush(30) == 0
    assert errors[0] is None or errors[0].code() == KafkaError.MSG_SIZE_TOO_LARGE
    return errors[0] is not None
