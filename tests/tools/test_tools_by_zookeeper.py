"""`--zookeeper`, the flag of older days: the words of Kafka 1.0, on a broker that a real ZooKeeper knows."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.broker_process import BrokerProcess, free_port
from tests.tools.conftest import Run
from tests.zookeeper_process import zookeeper


@pytest.fixture(scope="module")
def connect(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where the ZooKeeper of a cluster of one broker is."""
    with zookeeper() as ensemble:
        where = f"{ensemble.connect}/kafka"
        broker = BrokerProcess(tmp_path_factory.mktemp("broker") / "data", f"zookeeper.connect={where}")
        broker.start()
        try:
            yield where
        finally:
            broker.kill()


@pytest.mark.java
@pytest.mark.slow
def test_a_book_of_those_days_is_right(tool: Run, connect: str, tmp_path: Path) -> None:
    topics = ("topics", "--zookeeper", connect)
    created = tool(*topics, "--create", "--topic", "test", "--partitions", "1", "--replication-factor", "1")
    assert (created.code, created.out) == (0, 'Created topic "test".\n')
    assert tool(*topics, "--list").out == "test\n"
    assert tool(*topics, "--describe", "--topic", "test").lines == [
        "Topic:test\tPartitionCount:1\tReplicationFactor:1\tConfigs:",
        "\tTopic: test\tPartition: 0\tLeader: 0\tReplicas: 0\tIsr: 0",
    ]
    altered = tool(*topics, "--alter", "--topic", "test", "--partitions", "2")
    assert altered.lines[0].startswith("WARNING: If partitions are increased for a topic that has a key")
    assert altered.lines[1] == "Adding partitions succeeded!"
    entity = ("configs", "--zookeeper", connect, "--entity-type", "topics", "--entity-name", "test")
    changed = tool(*entity, "--alter", "--add-config", "cleanup.policy=compact")
    assert changed.out == "Completed Updating config for entity: topic 'test'.\n"
    assert tool(*entity, "--describe").out == "Configs for topic 'test' are cleanup.policy=compact\n"
    path = tmp_path / "partitions.json"
    path.write_text(json.dumps({"partitions": [{"topic": "test", "partition": 0}]}))
    elected = tool("preferred_replica_election", "--zookeeper", connect, "--path-to-json-file", str(path))
    assert elected.lines == [
        'Created preferred replica election path with {"version":1,"partitions":[{"topic":"test","partition":0}]}',
        "Successfully started preferred replica election for partitions Set([test,0])",
    ]
    words = ("--zookeeper", connect, "--topic", "test", "--from-beginning", "--timeout-ms", "500")
    assert (
        tool("console_consumer", *words)
        .lines[0]
        .startswith("Using the ConsoleConsumer with old consumer is deprecated")
    )
    deleted = tool(*topics, "--delete", "--topic", "test")
    assert deleted.lines == [
        "Topic test is marked for deletion.",
        "Note: This will have no impact if delete.topic.enable is not set to true.",
    ]


@pytest.mark.slow
def test_where_no_zookeeper_is_the_broker_is_to_be_named(tool: Run) -> None:
    failed = tool("topics", "--zookeeper", f"127.0.0.1:{free_port()}", "--list")
    assert failed.code == 1
    assert "No ZooKeeper answers at 127.0.0.1:" in failed.err
    assert "--bootstrap-server localhost:9092" in failed.err
