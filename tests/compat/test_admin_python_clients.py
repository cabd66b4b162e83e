"""Python's clients administrate a broker: topics, partitions, settings and the cluster, unmodified."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.admin import NewPartitions as AioNewPartitions
from aiokafka.admin import NewTopic as AioNewTopic
from confluent_kafka import KafkaException, Producer, TopicCollection
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, NewPartitions, NewTopic
from kafka.admin import KafkaAdminClient
from kafka.errors import TopicAlreadyExistsError

from moldau.testing.local_cluster import LocalCluster


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    with LocalCluster({"broker.id": "0"}) as started:
        yield started


@pytest.fixture
def admin(cluster: LocalCluster) -> AdminClient:
    return AdminClient({"bootstrap.servers": cluster.bootstrap_servers, "log_level": 0})


def outcome(futures: dict[Any, Any]) -> dict[str, str]:
    """What came of each item: nothing, or the name of its error."""
    found = {}
    for item, future in futures.items():
        try:
            future.result(10)
        except KafkaException as error:
            found[str(item)] = error.args[0].name()
        else:
            found[str(item)] = ""
    return found


def test_librdkafka_creates_describes_grows_and_deletes_topics(admin: AdminClient) -> None:
    new = [NewTopic("rd", 2, 1, config={"retention.ms": "5000"}), NewTopic("wide", 1, 3), NewTopic("no name", 1, 1)]
    assert outcome(admin.create_topics(new)) == {
        "rd": "",
        "wide": "INVALID_REPLICATION_FACTOR",
        "no name": "TOPIC_EXCEPTION",
    }
    assert outcome(admin.create_topics([NewTopic("rd", 1, 1)])) == {"rd": "TOPIC_ALREADY_EXISTS"}
    assert outcome(admin.create_partitions([NewPartitions("rd", 4)])) == {"rd": ""}
    assert outcome(admin.create_partitions([NewPartitions("rd", 3)])) == {"rd": "INVALID_PARTITIONS"}
    listed = admin.list_topics(timeout=10)
    assert {index: one.leader for index, one in listed.topics["rd"].partitions.items()} == {0: 0, 1: 0, 2: 0, 3: 0}
    assert listed.controller_id == 0
    described = admin.describe_topics(TopicCollection(["rd"]), include_authorized_operations=True)["rd"].result(10)
    assert (len(described.partitions), described.is_internal, len(described.authorized_operations)) == (4, False, 8)
    assert outcome(admin.delete_topics(["rd", "none"])) == {"rd": "", "none": "UNKNOWN_TOPIC_OR_PART"}
    assert "rd" not in admin.list_topics(timeout=10).topics


@pytest.mark.filterwarnings("ignore:alter_configs has been deprecated")
def test_librdkafka_describes_and_alters_settings(admin: AdminClient) -> None:
    assert outcome(admin.create_topics([NewTopic("set", 1, 1)])) == {"set": ""}
    topic, broker = ConfigResource.Type.TOPIC, ConfigResource.Type.BROKER
    change = [
        ConfigEntry("cleanup.policy", "compact", incremental_operation=AlterConfigOpType.APPEND),
        ConfigEntry("segment.ms", "60000", incremental_operation=AlterConfigOpType.SET),
    ]
    resource = ConfigResource(topic, "set", incremental_configs=change)
    assert outcome(admin.incremental_alter_configs([resource])) == {str(resource): ""}
    found = admin.describe_configs([resource])[resource].result(10)
    assert (found["cleanup.policy"].value, found["cleanup.policy"].source) == ("delete,compact", 1)
    assert {name for name, entry in found.items() if entry.source == 1} == {"cleanup.policy", "segment.ms"}
    wrong = ConfigResource(topic, "set", set_config={"segment.ms": "soon"})
    assert outcome(admin.alter_configs([wrong])) == {str(wrong): "INVALID_CONFIG"}
    itself = ConfigResource(broker, "0", set_config={"log.cleaner.backoff.ms": "200"})
    assert outcome(admin.alter_configs([itself])) == {str(itself): ""}
    entry = admin.describe_configs([itself])[itself].result(10)["log.cleaner.backoff.ms"]
    assert (entry.value, entry.source, entry.is_read_only) == ("200", 2, False)


def produced(cluster: LocalCluster, topic: str, value: bytes) -> str:
    """Nothing if the record was taken, else the name of the error."""
    errors: list[str] = []
    producer = Producer({"bootstrap.servers": cluster.bootstrap_servers, "log_level": 0})
    producer.produce(topic, value, on_delivery=lambda error, _: errors.append(error.name() if error else ""))
    assert producer.flush(10) == 0
    assert len(errors) == 1
    return errors[0]


def altered(admin: AdminClient, kind: ConfigResource.Type, name: str, setting: str, value: str) -> list[str]:
    entry = ConfigEntry(setting, value, incremental_operation=AlterConfigOpType.SET)
    futures = admin.incremental_alter_configs([ConfigResource(kind, name, incremental_configs=[entry])])
    return list(outcome(futures).values())


def test_settings_are_in_force_at_once_and_survive_a_restart() -> None:
    with LocalCluster({"broker.id": "0"}) as cluster:
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers, "log_level": 0})
        assert outcome(admin.create_topics([NewTopic("small", 1, 1), NewTopic("plain", 1, 1)])) == {
            "small": "",
            "plain": "",
        }
        assert altered(admin, ConfigResource.Type.TOPIC, "small", "max.message.bytes", "1000") == [""]
        assert produced(cluster, "small", bytes(2_000)) == "MSG_SIZE_TOO_LARGE"
        assert produced(cluster, "plain", bytes(2_000)) == ""
        assert altered(admin, ConfigResource.Type.BROKER, "0", "message.max.bytes", "1500") == [""]
        assert produced(cluster, "plain", bytes(2_000)) == "MSG_SIZE_TOO_LARGE"
        assert produced(cluster, "small", bytes(800)) == ""
        cluster.restart()
        assert produced(cluster, "plain", bytes(2_000)) == "MSG_SIZE_TOO_LARGE"
        assert produced(cluster, "small", bytes(1_200)) == "MSG_SIZE_TOO_LARGE"
        assert produced(cluster, "plain", bytes(1_200)) == ""


def test_librdkafka_describes_the_cluster(admin: AdminClient, cluster: LocalCluster) -> None:
    described = admin.describe_cluster(include_authorized_operations=True).result(10)
    assert [f"{node.host}:{node.port}" for node in described.nodes] == [cluster.bootstrap_servers]
    assert (described.controller.id, len(described.authorized_operations)) == (0, 7)


def test_kafka_python_administrates(cluster: LocalCluster) -> None:
    client = KafkaAdminClient(bootstrap_servers=cluster.bootstrap_servers)
    try:
        client.create_topics({"kp": {"num_partitions": 2, "replication_factor": 1}})
        with pytest.raises(TopicAlreadyExistsError):
            client.create_topics({"kp": {"num_partitions": 2, "replication_factor": 1}})
        client.create_partitions({"kp": 3})
        (topic,) = client.describe_topics(["kp"])
        assert len(topic["partitions"]) == 3
        assert client.describe_cluster()["controller_id"] == 0
        client.delete_topics(["kp"])
        assert "kp" not in client.list_topics()
    finally:
        client.close()


def test_aiokafka_administrates(cluster: LocalCluster) -> None:
    async def scenario() -> None:
        client = AIOKafkaAdminClient(bootstrap_servers=cluster.bootstrap_servers)
        await client.start()
        try:
            await client.create_topics([AioNewTopic("aio", 2, 1)])
            await client.create_partitions({"aio": AioNewPartitions(3)})
            (topic,) = await client.describe_topics(["aio"])
            assert len(topic["partitions"]) == 3
            await client.delete_topics(["aio"])
            assert "aio" not in await client.list_topics()
        finally:
            await client.close()

    asyncio.run(scenario())
