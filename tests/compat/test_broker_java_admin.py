"""The Java AdminClient of 3.9.1 and 4.3.0: every call that needs no coordinator; `AdminCalls.java` makes them."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from tests.broker_process import BrokerProcess
from tests.compat.kafka_tools import KafkaTools

pytestmark = [pytest.mark.java, pytest.mark.slow]

Call = Callable[..., list[str]]

COUNT = 10
LOOKS_MAX = 100


@pytest.fixture
def call(tools: KafkaTools, address: str) -> Call:
    """One call of the client, and the lines that its result makes."""
    return lambda *words: tools.run("admin-calls", address, *map(str, words)).splitlines()


@pytest.fixture
def created(call: Call, topic: str) -> str:
    call("createTopic", topic, 1)
    return topic


@pytest.fixture
def filled(created: str, tools: KafkaTools, address: str) -> str:
    """A topic with records of one idempotent producer."""
    lines = "".join(f"value {number}\n" for number in range(COUNT))
    tools.run("kafka-console-producer", "--bootstrap-server", address, "--topic", created, stdin=lines)
    return created


def test_topics_live_by_name(call: Call, topic: str) -> None:
    assert call("createTopic", topic, 2, "retention.ms=86400000", "validate") == [
        "partitions=2 replication=1",
        "86400000",
    ]
    assert call("describeTopics", topic)[0].startswith("UnknownTopicOrPartitionException: ")
    assert call("createTopic", topic, 2) == ["partitions=2 replication=1"]
    assert call("createTopic", topic, 2) == [f"TopicExistsException: Topic '{topic}' already exists."]
    head, *partitions = call("describeTopics", topic)
    assert re.fullmatch(rf"{topic} id=\S{{22}} internal=false", head)
    assert partitions == [f"{number} leader=0 replicas=1 isr=1" for number in range(2)]
    assert call("createPartitions", topic, 3) == []
    assert len(call("describeTopics", topic)) == 4
    assert call("createPartitions", topic, 2)[0].startswith("InvalidPartitionsException: ")
    assert call("deleteTopic", topic) == []
    assert call("deleteTopic", topic)[0].startswith("UnknownTopicOrPartitionException: ")


def test_topics_live_by_id(call: Call, created: str) -> None:
    found = re.search(r"id=(\S+)", call("describeTopics", created)[0])
    assert found is not None
    assert call("describeTopicsById", found[1]) == call("describeTopics", created)
    assert call("deleteTopicById", found[1]) == []
    assert call("describeTopicsById", found[1])[0].startswith("UnknownTopicIdException: ")


def test_the_cluster_describes_itself(call: Call, broker: BrokerProcess) -> None:
    cluster, node, operations = call("describeCluster")
    assert re.fullmatch(r"cluster=\S{22} controller=0", cluster)
    assert node == f"broker=0 {broker.bootstrap_servers} rack=null"
    assert "ALTER_CONFIGS" in operations
    assert call("describeFeatures") == ["finalized={} supported={}"]
    assert call("describeMetadataQuorum")[0].startswith("UnsupportedVersionException: This cluster has no KRaft quorum")


def test_topics_are_configured_incrementally(call: Call, created: str) -> None:
    changes = ("append", "cleanup.policy", "compact", "set", "segment.bytes", "2000000")
    assert call("incrementalAlterConfigs", "TOPIC", created, *changes) == []
    described = dict(line.split("=", 1) for line in call("describeConfigs", "TOPIC", created))
    source = "DYNAMIC_TOPIC_CONFIG"
    assert described["cleanup.policy"].startswith(f"delete,compact {source} LIST readOnly=false")
    rest = "readOnly=false sensitive=false synonyms=2 documented=true"
    assert described["segment.bytes"] == f"2000000 {source} INT {rest}"
    assert described["segment.index.bytes"].startswith("10485760 DEFAULT_CONFIG INT ")
    assert call("incrementalAlterConfigs", "TOPIC", created, "subtract", "cleanup.policy", "compact") == []
    assert call("incrementalAlterConfigs", "TOPIC", created, "delete", "segment.bytes", "") == []
    described = dict(line.split("=", 1) for line in call("describeConfigs", "TOPIC", created))
    assert described["cleanup.policy"].startswith(f"delete {source}")
    assert described["segment.bytes"].startswith("1073741824 DEFAULT_CONFIG")


def test_wrong_configs_are_refused_with_a_reason(call: Call, created: str) -> None:
    for words, error in (
        (("TOPIC", created, "set", "segment.bytes", "many"), "InvalidConfigurationException: .*segment.bytes"),
        (("TOPIC", created, "set", "no.such.thing", "1"), "InvalidConfigurationException: .*no.such.thing"),
        (("TOPIC", created, "append", "segment.bytes", "1"), "InvalidConfigurationException: .*segment.bytes"),
        (("TOPIC", "nowhere", "set", "segment.bytes", "2000000"), "UnknownTopicOrPartitionException: .*nowhere"),
        (("BROKER", "0", "set", "broker.id", "8"), "InvalidRequestException: .*broker.id"),
    ):
        (line,) = call("incrementalAlterConfigs", *words)
        assert re.match(error, line)


def test_brokers_and_their_loggers_are_configured(call: Call) -> None:
    name = "num.recovery.threads.per.data.dir"
    assert call("incrementalAlterConfigs", "BROKER", "0", "set", name, "2") == []
    assert any(
        line.startswith(f"{name}=2 DYNAMIC_BROKER_CONFIG INT") for line in call("describeConfigs", "BROKER", "0")
    )
    assert call("incrementalAlterConfigs", "BROKER", "0", "delete", name, "") == []
    assert call("describeConfigs", "BROKER", "") == []
    assert call("incrementalAlterConfigs", "BROKER_LOGGER", "0", "set", "moldau.net", "WARN") == []
    try:
        described = call("describeConfigs", "BROKER_LOGGER", "0")
        assert any(line.startswith("moldau.net=WARN DYNAMIC_BROKER_LOGGER_CONFIG") for line in described)
    finally:
        assert call("incrementalAlterConfigs", "BROKER_LOGGER", "0", "delete", "moldau.net", "") == []


def test_offsets_are_listed_and_records_deleted(call: Call, filled: str) -> None:
    lines = call("listOffsets", filled, 0, "earliest", "latest", "earliest-local", "latest-tiered", 1)
    assert [line.split(" timestamp")[0] for line in lines] == [
        "earliest offset=0",
        f"latest offset={COUNT}",
        "earliest-local offset=0",
        "latest-tiered offset=-1",
        "1 offset=0",
    ]
    assert all(line.endswith("epoch=0") for line in (*lines[:3], lines[4]))
    (newest,) = call("listOffsets", filled, 0, "max-timestamp")
    assert re.fullmatch(r"max-timestamp offset=\d timestamp=\d{13} epoch=0", newest)
    assert call("deleteRecords", filled, 0, 4) == ["lowWatermark=4"]
    assert call("listOffsets", filled, 0, "earliest")[0].startswith("earliest offset=4 ")
    assert call("deleteRecords", filled, 0, COUNT + 1)[0].startswith("OffsetOutOfRangeException: ")
    assert call("deleteRecords", filled, 0, -1) == [f"lowWatermark={COUNT}"]


def test_producers_are_described(call: Call, filled: str) -> None:
    (line,) = call("describeProducers", filled, 0)
    assert re.fullmatch(rf"producer=\d+ epoch=0 sequence={COUNT - 1} transaction=OptionalLong.empty", line)


def test_replicas_move_between_directories(call: Call, broker: BrokerProcess, filled: str) -> None:
    directories = [str(path) for path in broker.data.parent.glob("*data")]
    lines = call("describeLogDirs")
    assert {f"{path} error=null space=true" for path in directories} <= set(lines)
    assert any(re.fullmatch(rf"{filled}-0 size=[1-9]\d* lag=0 future=false", line) for line in lines)
    (place,) = call("describeReplicaLogDirs", filled, 0)
    (there,) = [path for path in directories if f"current={path} " not in place]
    assert call("alterReplicaLogDirs", filled, 0, there) == []
    for _ in range(LOOKS_MAX):
        (place,) = call("describeReplicaLogDirs", filled, 0)
        if place == f"current={there} future=null":
            break
    assert place == f"current={there} future=null"
    assert call("listOffsets", filled, 0, "latest")[0].startswith(f"latest offset={COUNT} ")
    assert call("alterReplicaLogDirs", filled, 0, "/nowhere")[0].startswith("LogDirNotFoundException: ")


@pytest.mark.parametrize("election", ["PREFERRED", "UNCLEAN"])
def test_electing_a_leader_that_leads_is_not_needed(call: Call, created: str, election: str) -> None:
    (line,) = call("electLeaders", created, 0, election)
    assert line.startswith(f"{created}-0 org.apache.kafka.common.errors.ElectionNotNeededException: ")
    assert "UnknownTopicOrPartitionException" in call("electLeaders", created, 9, election)[0]


def test_reassignments_are_done_or_refused_with_a_reason(call: Call, created: str) -> None:
    assert call("alterPartitionReassignments", created, 0, 0) == []
    assert call("listPartitionReassignments") == ["{}"]
    (refused,) = call("alterPartitionReassignments", created, 0, 1)
    assert re.match("InvalidReplicaAssignmentException: .*1", refused)
    assert call("alterPartitionReassignments", created, 0)[0].startswith("NoReassignmentInProgressException: ")
