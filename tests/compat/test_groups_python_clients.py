"""Consumer groups of confluent-kafka, kafka-python and aiokafka, alone and together."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from itertools import count
from pathlib import Path

import pytest
from confluent_kafka import Consumer, ConsumerGroupState, ConsumerGroupTopicPartitions, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from kafka import KafkaAdminClient

from moldau.testing.local_cluster import LocalCluster
from tests.broker_process import BrokerProcess
from tests.compat.group_members import (
    KAFKA_PYTHON_RACES,
    AiokafkaConsumer,
    ConfluentConsumer,
    GroupConsumer,
    KafkaPythonConsumer,
    consuming,
    eventually,
)

pytestmark = pytest.mark.slow

PARTITIONS = 6
MESSAGES = 60
CLIENTS: list[type[GroupConsumer]] = [ConfluentConsumer, KafkaPythonConsumer, AiokafkaConsumer]
EACH_CLIENT = [
    pytest.param(client, id=client.__name__, marks=[KAFKA_PYTHON_RACES] if client is KafkaPythonConsumer else [])
    for client in CLIENTS
]
EVERY_ASSIGNOR = [
    *((ConfluentConsumer, name) for name in ("range", "roundrobin", "cooperative-sticky")),
    *(
        pytest.param(KafkaPythonConsumer, name, marks=KAFKA_PYTHON_RACES)
        for name in ("range", "roundrobin", "sticky", "cooperative-sticky")
    ),
    *((AiokafkaConsumer, name) for name in ("range", "roundrobin", "sticky")),
]
numbers = count(1)


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    with LocalCluster({"offsets.topic.num.partitions": "5"}) as cluster:
        yield cluster


@pytest.fixture
def topic(cluster: LocalCluster) -> str:
    name = f"topic-{next(numbers)}"
    cluster.create_topic(name, PARTITIONS)
    produce(cluster.bootstrap_servers, name)
    return name


def produce(address: str, topic: str) -> None:
    producer = Producer({"bootstrap.servers": address})
    for number in range(MESSAGES):
        producer.produce(topic, str(number), partition=number % PARTITIONS)
    assert producer.flush(30) == 0


def all_owned(topic: str, members: Sequence[GroupConsumer]) -> Callable[[], bool]:
    """Whether every partition has one owner, and every member owns as many as is fair."""
    fair = PARTITIONS // len(members)
    wanted = sorted((topic, partition) for partition in range(PARTITIONS))

    def holds() -> bool:
        owned = sorted(partition for member in members for partition in member.owned)
        return owned == wanted and all(len(member.owned) == fair for member in members)

    return holds


def shown(members: Sequence[GroupConsumer]) -> Callable[[], object]:
    return lambda: [(type(member).__name__, sorted(member.owned), len(member.received)) for member in members]


def all_received(topic: str, members: Sequence[GroupConsumer]) -> Callable[[], bool]:
    wanted = {(topic, number % PARTITIONS, number // PARTITIONS) for number in range(MESSAGES)}
    return lambda: {offset for member in members for offset in member.received} >= wanted


@KAFKA_PYTHON_RACES
def test_three_clients_in_one_group(cluster: LocalCluster, topic: str) -> None:
    members = [client(cluster.bootstrap_servers, f"mixed-{topic}", [topic], "range") for client in CLIENTS]
    with consuming(*members):
        eventually(all_owned(topic, members), shown(members))
        eventually(all_received(topic, members), shown(members))
        members[0].stop()
        eventually(
            lambda: sum(len(member.owned) for member in members[1:]) == PARTITIONS,
            shown(members),
        )


@pytest.mark.parametrize(("client", "assignor"), EVERY_ASSIGNOR, ids=lambda value: getattr(value, "__name__", value))
def test_every_assignor(cluster: LocalCluster, topic: str, client: type[GroupConsumer], assignor: str) -> None:
    first, second = (client(cluster.bootstrap_servers, f"group-{topic}", [topic], assignor) for _ in range(2))
    with consuming(first):
        eventually(all_owned(topic, [first]), shown([first]))
        with consuming(second):
            eventually(all_owned(topic, [first, second]), shown([first, second]))
        eventually(all_owned(topic, [first]), shown([first]))
        eventually(all_received(topic, [first, second]), shown([first, second]))


@pytest.mark.parametrize("client", EACH_CLIENT)
def test_a_group_goes_on_where_it_stopped(cluster: LocalCluster, topic: str, client: type[GroupConsumer]) -> None:
    first = client(cluster.bootstrap_servers, f"again-{topic}", [topic], "range")
    with consuming(first):
        eventually(all_received(topic, [first]), shown([first]))
    again = client(cluster.bootstrap_servers, f"again-{topic}", [topic], "range")
    with consuming(again):
        eventually(all_owned(topic, [again]), shown([again]))
        produce(cluster.bootstrap_servers, topic)
        eventually(lambda: len(again.received) >= MESSAGES, shown([again]))
    assert min(offset for _, _, offset in again.received) == MESSAGES // PARTITIONS


@pytest.mark.parametrize("client", EACH_CLIENT)
def test_a_static_member_comes_back_without_a_rebalance(
    cluster: LocalCluster, topic: str, client: type[GroupConsumer]
) -> None:
    group_id = f"static-{topic}"

    def generation() -> int:
        return cluster.run_in_loop(
            lambda node: next(
                shard.groups[group_id].generation_id
                for shard in node.groups.runtime.active.values()
                if group_id in shard.groups
            )
        )

    members = [client(cluster.bootstrap_servers, group_id, [topic], "range", name) for name in ("i", "j")]
    with consuming(*members):
        eventually(all_owned(topic, members), shown(members))
        before, owned = generation(), members[0].owned
        members[0].stop()
        again = client(cluster.bootstrap_servers, group_id, [topic], "range", "i")
        with consuming(again):
            eventually(lambda: again.owned == owned, shown([again, members[1]]))
            assert generation() == before


def test_a_group_survives_kill_9_of_its_broker(tmp_path: Path) -> None:
    broker = BrokerProcess(tmp_path / "data", "offsets.topic.num.partitions=3", "num.partitions=6")
    broker.start()
    try:
        address = broker.bootstrap_servers
        produce(address, "t")
        members = [client(address, "g", ["t"], "range") for client in (ConfluentConsumer, AiokafkaConsumer)]
        with consuming(*members):
            eventually(all_owned("t", members), shown(members))
            eventually(all_received("t", members), shown(members))
            time.sleep(0.5)  # auto.commit.interval.ms
            broker.kill()
            broker.start()
            produce(address, "t")
            eventually(lambda: sum(len(member.received) for member in members) >= 2 * MESSAGES, shown(members))
            eventually(all_owned("t", members), shown(members))
    finally:
        broker.kill()


# -- administration


def test_confluent_admin_of_groups(cluster: LocalCluster, topic: str) -> None:
    admin, group_id = AdminClient({"bootstrap.servers": cluster.bootstrap_servers}), f"admin-{topic}"
    member = ConfluentConsumer(cluster.bootstrap_servers, group_id, [topic], "range")
    with consuming(member):
        eventually(all_received(topic, [member]), shown([member]))
        listed = admin.list_consumer_groups(states={ConsumerGroupState.STABLE}).result().valid
        assert group_id in {group.group_id for group in listed}
        described = admin.describe_consumer_groups([group_id])[group_id].result()
        assert (described.state, described.partition_assignor) == (ConsumerGroupState.STABLE, "range")
        assert len(described.members[0].assignment.topic_partitions) == PARTITIONS
        assert described.members[0].host.lstrip("/") == "127.0.0.1"
    asked = ConsumerGroupTopicPartitions(group_id)
    offsets = admin.list_consumer_group_offsets([asked])[group_id].result().topic_partitions
    assert {(one.partition, one.offset) for one in offsets} == {(index, 10) for index in range(PARTITIONS)}
    moved = ConsumerGroupTopicPartitions(group_id, [TopicPartition(topic, 0, 3)])
    admin.alter_consumer_group_offsets([moved])[group_id].result()
    consumer = Consumer({"bootstrap.servers": cluster.bootstrap_servers, "group.id": group_id})
    assert [one.offset for one in consumer.committed([TopicPartition(topic, 0), TopicPartition(topic, 1)])] == [3, 10]
    consumer.close()
    admin.delete_consumer_groups([group_id])[group_id].result()
    listed = admin.list_consumer_groups().result().valid
    assert group_id not in {group.group_id for group in listed}


@KAFKA_PYTHON_RACES
def test_kafka_python_admin_of_groups(cluster: LocalCluster, topic: str) -> None:
    group_id = f"kafka-python-{topic}"
    member = KafkaPythonConsumer(cluster.bootstrap_servers, group_id, [topic], "range")
    with closing(KafkaAdminClient(bootstrap_servers=cluster.bootstrap_servers)) as admin:
        with consuming(member):
            eventually(all_received(topic, [member]), shown([member]))
            assert group_id in str(admin.list_groups())
            described = admin.describe_groups([group_id])
            assert "Stable" in str(described)
        offsets = admin.list_group_offsets([group_id])
        assert str(offsets).count("offset=10") == PARTITIONS
        admin.delete_groups([group_id])
        assert group_id not in str(admin.list_groups())
