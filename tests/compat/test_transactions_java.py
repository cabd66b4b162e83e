"""Transactions of the Java clients: Kafka's own copier of its system tests, and the tool that looks at transactions."""

from __future__ import annotations

import json
import time

import pytest
from confluent_kafka import Producer

from moldau.base.hashing import coordinator_partition
from tests.broker_process import BrokerProcess
from tests.compat.kafka_tools import KafkaTools
from tests.compat.transactional_reading import committed_values

pytestmark = [pytest.mark.java, pytest.mark.slow]

COUNT = 200
PATIENCE_S = 60.0


def produced(address: str, topic: str, count: int) -> list[bytes]:
    values = [b"%d" % number for number in range(count)]
    producer = Producer({"bootstrap.servers": address})
    for value in values:
        producer.produce(topic, value, partition=0)
    assert producer.flush(PATIENCE_S) == 0
    return values


def open_transaction(address: str, topic: str, transactional_id: str) -> Producer:
    producer = Producer({"bootstrap.servers": address, "transactional.id": transactional_id, "linger.ms": 0})
    producer.init_transactions(PATIENCE_S)
    producer.begin_transaction()
    producer.produce(topic, b"open", partition=0)
    producer.flush(PATIENCE_S)
    return producer


@pytest.mark.parametrize("options", [(), ("--enable-random-aborts",), ("--group-mode", "--use-group-metadata")])
def test_the_copier_of_kafkas_system_tests_copies_exactly_once(
    tools: KafkaTools, address: str, topic: str, options: tuple[str, ...]
) -> None:
    source, target = f"{topic}-in", f"{topic}-out"
    for name in (source, target):
        tools.run("kafka-topics", "--bootstrap-server", address, "--create", "--topic", name)
    values = produced(address, source, COUNT)
    printed = tools.run(
        "transactional-message-copier",
        *("--broker-list", address, "--input-topic", source, "--output-topic", target, "--input-partition", "0"),
        *("--max-messages", str(COUNT), "--transaction-size", "20", "--transactional-id", f"copier-{topic}"),
        *("--consumer-group", f"group-{topic}", *options),
    )
    last = json.loads(printed.strip().splitlines()[-1])
    assert last["remaining"] == 0
    assert committed_values(address, target, expected=COUNT) == values


def test_the_tool_shows_a_transaction(tools: KafkaTools, address: str, topic: str) -> None:
    tools.run("kafka-topics", "--bootstrap-server", address, "--create", "--topic", topic)
    producer = open_transaction(address, topic, f"shown-{topic}")

    def run(*words: str) -> str:
        return tools.run("kafka-transactions", "--bootstrap-server", address, *words)

    (line,) = [each for each in run("list").splitlines() if each.startswith(f"shown-{topic}")]
    assert line.split()[1:] == ["0", line.split()[2], "Ongoing"]
    described = run("describe", "--transactional-id", f"shown-{topic}")
    assert "Ongoing" in described
    assert f"{topic}-0" in described
    producers = run("describe-producers", "--topic", topic, "--partition", "0")
    assert line.split()[2] in producers
    producer.abort_transaction(PATIENCE_S)


def test_the_tool_aborts_a_transaction_and_finds_none_hanging(tools: KafkaTools, address: str, topic: str) -> None:
    tools.run("kafka-topics", "--bootstrap-server", address, "--create", "--topic", topic)
    open_transaction(address, topic, f"aborted-{topic}")

    def run(*words: str) -> str:
        return tools.run("kafka-transactions", "--bootstrap-server", address, *words)

    hanging = run("find-hanging", "--broker-id", "0", "--max-transaction-timeout", "1")
    assert topic not in hanging
    run("abort", "--topic", topic, "--partition", "0", "--start-offset", "0")
    producers = run("describe-producers", "--topic", topic, "--partition", "0")
    assert producers.split()[-1] == "None"  # no transaction is open there
    assert committed_values(address, topic) == []


def test_kafkas_tool_reads_the_log_of_the_coordinator(tools: KafkaTools, broker: BrokerProcess, topic: str) -> None:
    address, transactional_id = broker.bootstrap_servers, f"dumped-{topic}"
    tools.run("kafka-topics", "--bootstrap-server", address, "--create", "--topic", topic)
    open_transaction(address, topic, transactional_id).commit_transaction(PATIENCE_S)
    partition = coordinator_partition(transactional_id, 50)
    (log,) = broker.data.parent.glob(f"*/__transaction_state-{partition}/*.log")
    deadline, found = time.monotonic() + PATIENCE_S, [""]
    while time.monotonic() < deadline:
        dumped = tools.run("kafka-dump-log", "--files", str(log), "--transaction-log-decoder", "--deep-iteration")
        found = [line for line in dumped.splitlines() if transactional_id in line]
        if "CompleteCommit" in found[-1] or '"transactionStatus":4' in found[-1].replace(" ", ""):
            break
    assert len(found) == 4  # Empty, Ongoing, PrepareCommit, CompleteCommit
