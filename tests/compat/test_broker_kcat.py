"""kcat takes the broker for Kafka. It has no commands for topics: the broker creates those that it writes to."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.broker_process import BrokerProcess
from tests.compat.kcat import find_kcat, run_kcat
from tests.compat.stored_batches import codecs_of, is_idempotent
from tests.compat.test_broker_confluent import STORED_AS
from tests.compat.test_clients_and_records import CODECS

pytestmark = [pytest.mark.kcat, pytest.mark.slow]

Kcat = Callable[..., bytes]

LINES = [f"key-{number}:value {number} of many, many, many" for number in range(200)]


@pytest.fixture
def kcat(address: str) -> Kcat:
    """Run it against the broker."""
    program = find_kcat()
    return lambda *arguments, stdin=b"": run_kcat(program, "-b", address, *arguments, stdin=stdin)


def produce(kcat: Kcat, topic: str, *arguments: str, lines: list[str] = LINES) -> None:
    kcat("-P", "-t", topic, "-p", "0", "-K:", *arguments, stdin="".join(f"{line}\n" for line in lines).encode())


def consume(kcat: Kcat, topic: str, *arguments: str) -> list[dict[str, Any]]:
    """The records to the end of the partition, as its JSON has them."""
    output = kcat("-C", "-t", topic, "-p", "0", "-e", "-q", "-J", *arguments)
    return [json.loads(line) for line in output.splitlines()]


def lines_of(records: list[dict[str, Any]]) -> list[str]:
    return [f"{record['key']}:{record['payload']}" for record in records]


@pytest.mark.parametrize("codec", CODECS)
def test_records_of_every_codec_come_back(broker: BrokerProcess, kcat: Kcat, topic: str, codec: str) -> None:
    produce(kcat, topic, "-z", codec)
    assert lines_of(consume(kcat, topic, "-o", "beginning")) == LINES
    assert STORED_AS.get(codec, codec) in codecs_of(broker, topic)


@pytest.mark.parametrize("acks", ["0", "1", "all"])
def test_records_with_every_kind_of_acks_come_back(kcat: Kcat, topic: str, acks: str) -> None:
    produce(kcat, topic, "-X", f"acks={acks}")
    assert lines_of(consume(kcat, topic, "-o", "beginning")) == LINES


def test_an_idempotent_producer_writes_each_record_once(broker: BrokerProcess, kcat: Kcat, topic: str) -> None:
    produce(kcat, topic, "-X", "enable.idempotence=true", "-X", "batch.size=1000")
    assert lines_of(consume(kcat, topic, "-o", "beginning")) == LINES
    assert is_idempotent(broker, topic)


def test_headers_come_back(kcat: Kcat, topic: str) -> None:
    produce(kcat, topic, "-H", "colour=blue", "-H", "size=", lines=["k:v"])
    (record,) = consume(kcat, topic, "-o", "beginning")
    assert record["headers"] == ["colour", "blue", "size", ""]
    assert record["tstype"] == "create"


def test_reading_starts_where_it_is_told(kcat: Kcat, topic: str) -> None:
    produce(kcat, topic)
    assert lines_of(consume(kcat, topic, "-o", "150")) == LINES[150:]
    assert lines_of(consume(kcat, topic, "-o", "-5")) == LINES[-5:]
    assert lines_of(consume(kcat, topic, "-o", "beginning", "-c", "3")) == LINES[:3]


def test_offsets_are_found_by_time(kcat: Kcat, topic: str) -> None:
    produce(kcat, topic)
    times = [record["ts"] for record in consume(kcat, topic, "-o", "beginning")]
    found = kcat("-Q", "-t", f"{topic}:0:{times[100]}").decode()
    assert found == f"{topic} [0] offset {times.index(times[100])}\n"
    assert kcat("-Q", "-t", f"{topic}:0:-1").decode() == f"{topic} [0] offset {len(LINES)}\n"
    assert kcat("-Q", "-t", f"{topic}:0:-2").decode() == f"{topic} [0] offset 0\n"


def test_the_cluster_is_listed(broker: BrokerProcess, kcat: Kcat, topic: str) -> None:
    produce(kcat, topic)
    metadata = json.loads(kcat("-L", "-J"))
    assert metadata["brokers"] == [{"id": 0, "name": broker.bootstrap_servers}]
    assert metadata["controllerid"] == 0
    (listed,) = [entry for entry in metadata["topics"] if entry["topic"] == topic]
    assert listed["partitions"] == [{"partition": 0, "leader": 0, "replicas": [{"id": 0}], "isrs": [{"id": 0}]}]
