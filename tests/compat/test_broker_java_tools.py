"""Kafka's own command line tools, of 3.9.1 and 4.3.0, take the broker for Kafka and print what they print there."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from moldau.broker.handlers import all_registrations
from tests.broker_process import BrokerProcess
from tests.compat.kafka_tools import KafkaTools, Outcome

pytestmark = [pytest.mark.java, pytest.mark.slow]

VERIFICATIONS_MAX = 50

Run = Callable[..., str]
TryRun = Callable[..., Outcome]


@pytest.fixture
def run(tools: KafkaTools, address: str) -> Run:
    """A tool against the broker: what it prints."""
    return lambda name, *words, **more: tools.run(name, "--bootstrap-server", address, *words, **more)


@pytest.fixture
def try_run(tools: KafkaTools, address: str) -> TryRun:
    return lambda name, *words: tools.try_run(name, "--bootstrap-server", address, *words)


@pytest.fixture
def created(run: Run, topic: str) -> str:
    """A topic with one partition and ten records in it."""
    run("kafka-topics", "--create", "--topic", topic)
    run("kafka-console-producer", "--topic", topic, stdin="".join(f"value {number}\n" for number in range(10)))
    return topic


def saved(folder: Path, document: dict[str, Any]) -> str:
    path = folder / "document.json"
    path.write_text(json.dumps({"version": 1, **document}))
    return str(path)


def test_api_versions_are_exactly_what_is_served(run: Run, broker: BrokerProcess) -> None:
    printed = run("kafka-broker-api-versions")
    assert printed.startswith(f"{broker.bootstrap_servers} (id: 0 rack: null")
    lines = re.findall(
        r"\((\d+)\): (?:(\d+)(?: to (\d+))? \[(usable: \d+|unusable: node too new)\]|UNSUPPORTED)", printed
    )
    listed = {int(key): (int(low), int(high or low)) for key, low, high, _ in lines if low}
    served = {int(key): (one.versions.low, one.versions.high) for key, one in all_registrations().items()}
    assert listed == served
    assert "UNKNOWN" not in printed


def test_topics_are_created_listed_described_altered_and_deleted(run: Run, topic: str) -> None:
    words = ("--topic", topic)
    config = ("--config", "retention.ms=86400000", "--config", "cleanup.policy=compact")
    assert f"Created topic {topic}." in run("kafka-topics", "--create", *words, "--partitions", "2", *config)
    assert topic in run("kafka-topics", "--list").splitlines()
    head, first, second = run("kafka-topics", "--describe", *words).splitlines()
    assert re.match(rf"Topic: {topic}\tTopicId: \S{{22}}\tPartitionCount: 2\tReplicationFactor: 1\tConfigs: \S+", head)
    assert "cleanup.policy=compact" in head
    assert "retention.ms=86400000" in head
    for number, line in enumerate((first, second)):
        assert f"Partition: {number}\tLeader: 0\tReplicas: 0\tIsr: 0" in line
    run("kafka-topics", "--alter", *words, "--partitions", "4")
    assert "PartitionCount: 4" in run("kafka-topics", "--describe", *words)
    assert run("kafka-topics", "--describe", *words, "--under-replicated-partitions").strip() == ""
    assert run("kafka-topics", "--describe", *words, "--unavailable-partitions").strip() == ""
    run("kafka-topics", "--delete", *words)
    assert topic not in run("kafka-topics", "--list").splitlines()


def test_topics_that_cannot_be_are_refused_with_a_reason(run: Run, try_run: TryRun, created: str) -> None:
    run("kafka-topics", "--create", "--topic", f"{created}.x")
    for words, reason in (
        (("--create", "--topic", created), f"Topic '{created}' already exists"),
        (("--create", "--topic", f"{created}-3", "--replication-factor", "3"), "Replication factor: 3 larger than"),
        (("--create", "--topic", f"{created}_x"), f"collides with existing topics: {created}.x"),
        (("--alter", "--topic", created, "--partitions", "1"), "Topic already has 1 partition"),
        (("--delete", "--topic", "nowhere"), "does not exist as expected"),
    ):
        outcome = try_run("kafka-topics", *words)
        assert outcome.exit_code == 1
        assert reason in outcome.stdout + outcome.stderr
    run("kafka-topics", "--create", "--topic", created, "--if-not-exists")
    run("kafka-topics", "--delete", "--topic", "nowhere", "--if-exists")


def test_replicas_are_assigned_by_hand(run: Run, topic: str) -> None:
    run("kafka-topics", "--create", "--topic", topic, "--replica-assignment", "0,0,0")
    assert "PartitionCount: 3" in run("kafka-topics", "--describe", "--topic", topic)


def test_topics_are_configured(run: Run, try_run: TryRun, created: str) -> None:
    entity = ("--entity-type", "topics", "--entity-name", created)

    def described(*words: str) -> str:
        return run("kafka-configs", "--describe", *entity, *words)

    change = "max.message.bytes=4000,cleanup.policy=[compact,delete]"
    run("kafka-configs", "--alter", *entity, "--add-config", change)
    dynamic = "  max.message.bytes=4000 sensitive=false synonyms={DYNAMIC_TOPIC_CONFIG:max.message.bytes=4000, "
    assert f"{dynamic}DEFAULT_CONFIG:message.max.bytes=1048588}}" in described()
    assert "  cleanup.policy=compact,delete " in described()
    every = described("--all")
    assert len(every.splitlines()) == 37
    assert "  min.insync.replicas=1 sensitive=false synonyms={DEFAULT_CONFIG:min.insync.replicas=1}" in every
    run("kafka-configs", "--alter", *entity, "--delete-config", "max.message.bytes")
    assert "max.message.bytes" not in described()
    assert "  max.message.bytes=1048588 " in described("--all")
    refused = try_run("kafka-configs", "--alter", *entity, "--add-config", "retention.ms=soon")
    assert refused.exit_code == 1
    assert "retention.ms" in refused.stderr


def test_brokers_are_configured_alone_and_together(run: Run, try_run: TryRun) -> None:
    one = ("--entity-type", "brokers", "--entity-name", "0")
    every = ("--entity-type", "brokers", "--entity-default")
    name = "log.cleaner.backoff.ms"
    try:
        run("kafka-configs", "--alter", *every, "--add-config", f"{name}=16000")
        run("kafka-configs", "--alter", *one, "--add-config", f"{name}=17000")
        sources = (
            f"DYNAMIC_BROKER_CONFIG:{name}=17000, DYNAMIC_DEFAULT_BROKER_CONFIG:{name}=16000, DEFAULT_CONFIG:{name}"
        )
        assert f"  {name}=17000 sensitive=false synonyms={{{sources}=15000}}" in run(
            "kafka-configs", "--describe", *one
        )
        assert f"  {name}=16000 " in run("kafka-configs", "--describe", *every)
        described = run("kafka-configs", "--describe", *one, "--all")
        assert "  log.retention.ms=-1 sensitive=false synonyms={STATIC_BROKER_CONFIG:log.retention.ms=-1" in described
        assert "  ssl.key.password=null sensitive=true synonyms={}" in described
    finally:
        run("kafka-configs", "--alter", *one, "--delete-config", name)
        run("kafka-configs", "--alter", *every, "--delete-config", name)
    assert name not in run("kafka-configs", "--describe", *one)
    refused = try_run("kafka-configs", "--alter", *one, "--add-config", "broker.id=7")
    assert "Cannot update these configs dynamically: broker.id" in refused.stderr


def test_offsets_are_printed(run: Run, created: str) -> None:
    words = ("kafka-get-offsets", "--topic", created)
    assert run(*words) == f"{created}:0:10\n"
    assert run(*words, "--time", "earliest") == f"{created}:0:0\n"
    assert run(*words, "--time", "-2", "--partitions", "0") == f"{created}:0:0\n"
    assert re.fullmatch(rf"{created}:0:\d\n", run(*words, "--time", "max-timestamp"))
    assert run(*words, "--time", "1000") == f"{created}:0:0\n"


def test_records_are_deleted(run: Run, created: str, tmp_path: Path) -> None:
    partition = {"topic": created, "partition": 0, "offset": 4}
    printed = run("kafka-delete-records", "--offset-json-file", saved(tmp_path, {"partitions": [partition]}))
    assert f"partition: {created}-0\tlow_watermark: 4" in printed
    assert run("kafka-get-offsets", "--topic", created, "--time", "earliest") == f"{created}:0:4\n"


def test_log_directories_are_described(run: Run, broker: BrokerProcess, created: str) -> None:
    *_, line = run("kafka-log-dirs", "--describe", "--topic-list", created).splitlines()
    (described,) = json.loads(line)["brokers"]
    directories = {one["logDir"]: one["partitions"] for one in described["logDirs"]}
    assert set(directories) == {str(path) for path in broker.data.parent.glob("*data")}
    (partition,) = [one for partitions in directories.values() for one in partitions]
    (log,) = broker.data.parent.glob(f"*/{created}-0/*.log")
    assert partition == {
        "partition": f"{created}-0",
        "size": log.stat().st_size,
        "offsetLag": 0,
        "isFuture": False,
    }


def test_the_log_of_a_running_broker_is_dumped(tools: KafkaTools, broker: BrokerProcess, created: str) -> None:
    (log,) = broker.data.parent.glob(f"*/{created}-0/*.log")
    text = tools.run("kafka-dump-log", "--files", str(log), "--print-data-log")
    assert re.findall(r"payload: (.*)", text) == [f"value {number}" for number in range(10)]
    assert "isvalid: false" not in text
    assert re.search(r"producerId: \d+ producerEpoch: 0 partitionLeaderEpoch: 0 isTransactional: false", text)
    indexes = ",".join(str(log.with_suffix(suffix)) for suffix in (".index", ".timeindex"))
    assert "mismatch" not in tools.run("kafka-dump-log", "--files", indexes, "--verify-index-only").lower()


def test_partitions_are_reassigned_to_another_directory(
    run: Run, broker: BrokerProcess, created: str, tmp_path: Path
) -> None:
    (before,) = broker.data.parent.glob(f"*/{created}-0")
    (target,) = [path for path in broker.data.parent.glob("*data") if path != before.parent]
    partition = {"topic": created, "partition": 0, "replicas": [0], "log_dirs": [str(target)]}
    document = ("--reassignment-json-file", saved(tmp_path, {"partitions": [partition]}))
    printed = run("kafka-reassign-partitions", "--execute", *document)
    assert f"Successfully started partition reassignment for {created}-0" in printed
    assert f"Successfully started moving log directory to {target} for replica {created}-0 with broker 0" in printed
    verified = ""
    for _ in range(VERIFICATIONS_MAX):
        verified = run("kafka-reassign-partitions", "--verify", *document)
        if f"Reassignment of replica {created}-0-0 completed successfully." in verified:
            break
    assert f"Reassignment of replica {created}-0-0 completed successfully." in verified
    assert f"Reassignment of partition {created}-0 is completed." in verified
    assert "No partition reassignments found." in run("kafka-reassign-partitions", "--list")
    assert run("kafka-get-offsets", "--topic", created) == f"{created}:0:10\n"


def test_the_rest_of_the_tools_know_where_they_are(
    run: Run, try_run: TryRun, tools: KafkaTools, address: str, created: str
) -> None:
    words = ("--election-type", "preferred", "--topic", created, "--partition", "0")
    assert "Valid replica already elected for partitions" in run("kafka-leader-election", *words)
    cluster = tools.run("kafka-cluster", "cluster-id", "--bootstrap-server", address)
    assert re.fullmatch(r"Cluster ID: \S{22}\n", cluster)
    assert run("kafka-features", "describe") == ""
    assert run("kafka-client-metrics", "--list").strip() == ""
    quorum = try_run("kafka-metadata-quorum", "describe", "--status")
    assert quorum.exit_code == 1
    assert "This cluster has no KRaft quorum" in quorum.stderr


def test_the_performance_tool_runs(tools: KafkaTools, address: str, created: str) -> None:
    words = ("--num-records", "20000", "--record-size", "100", "--throughput", "-1")
    option = "--producer-props" if tools.version.startswith("3.") else "--command-property"
    settings = (option, f"bootstrap.servers={address}")
    printed = tools.run("kafka-producer-perf-test", "--topic", created, *words, *settings)
    assert re.search(r"^20000 records sent, [\d.]+ records/sec", printed, re.MULTILINE)
