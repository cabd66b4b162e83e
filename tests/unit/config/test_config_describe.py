"""DescribeConfigs is answered as Kafka answers it, for brokers, for their common default and for topics."""

from __future__ import annotations

from pathlib import Path

import pytest

from moldau.base.config.broker_config import BrokerConfig, load_broker_config
from moldau.base.config.describe import ConfigEntry
from moldau.base.config.layer import ConfigSource
from moldau.base.config.topic_config import TopicConfig
from moldau.base.config.value_types import ConfigType

RECORDED = (Path(__file__).parent / "kafka_described.txt").read_text().split("\n\n")[1:]


def settings(text: str) -> dict[str, str]:
    return dict(pair.split("=", 1) for pair in text.split(";") if pair)


def as_text(entry: ConfigEntry) -> str:
    synonyms = ";".join(f"{s.name}={_text(s.value)}@{s.source.value}" for s in entry.synonyms)
    flags = f"{str(entry.read_only).lower()}|{str(entry.sensitive).lower()}"
    return f"{entry.name}|{_text(entry.value)}|{entry.source.value}|{flags}|{entry.type.value}|{synonyms}"


def _text(value: str | None) -> str:
    return "null" if value is None else value


def configs(group: list[str]) -> tuple[BrokerConfig, TopicConfig]:
    layers = dict(line.split(": ", 1) for line in group if ": " in line)
    broker = load_broker_config({name.strip(): value for name, value in settings(layers["file"]).items()})
    if "all" in layers:
        broker = broker.with_dynamic(ConfigSource.DYNAMIC_DEFAULT_BROKER, settings(layers["all"]))
    if "one" in layers:
        broker = broker.with_dynamic(ConfigSource.DYNAMIC_BROKER, settings(layers["one"]))
    return broker, broker.topic(settings(layers.get("topic", "")))


@pytest.mark.parametrize("group", RECORDED)
def test_entries_are_those_of_kafka(group: str) -> None:
    lines = group.splitlines()
    broker, topic = configs(lines)
    for line in lines:
        kind, _, expected = line.partition(" ")
        name = expected.partition("|")[0]
        if kind == "broker":
            assert [as_text(entry) for entry in broker.describe([name])] == [expected]
        elif kind == "topic":
            assert [as_text(entry) for entry in topic.describe([name])] == [expected]
        elif kind == "default":
            assert [as_text(entry) for entry in broker.describe_cluster_default([name])] == [expected]


def test_all_entries_are_described_and_in_order() -> None:
    broker = load_broker_config({"unknown.thing": "1"})
    names = [entry.name for entry in broker.describe()]
    assert len(names) == 314 + 1
    assert names == sorted(names)
    assert len(broker.topic({}).describe()) == 36
    assert broker.describe_cluster_default() == []
    assert broker.describe(["no.such.name"]) == []


def test_an_unknown_setting_is_described_without_its_value() -> None:
    (entry,) = load_broker_config({"my.plugin.secret": "hush"}).describe(["my.plugin.secret"])
    assert entry.value is None
    assert entry.sensitive
    assert entry.type is ConfigType.UNKNOWN
    assert "hush" not in repr(entry)


def test_every_entry_carries_its_documentation() -> None:
    (entry,) = load_broker_config({}).describe(["log.dirs"])
    assert entry.documentation is not None
    assert entry.documentation.startswith("Directories for the logs")
    assert entry.is_default


def test_python_values_are_described_in_kafkas_text() -> None:
    broker = load_broker_config({"log.cleanup.policy": ["compact", "delete"], "auto.create.topics.enable": False})
    entries = broker.describe(["log.cleanup.policy", "auto.create.topics.enable"])
    assert [entry.value for entry in entries] == ["false", "compact,delete"]
    assert [entry.synonyms[0].value for entry in entries] == ["false", "compact,delete"]
