"""Snapshots: precedence of layers, dynamic changes, listeners' own values, typed reading."""

from __future__ import annotations

import pytest

from moldau.base.config.broker_config import load_broker_config
from moldau.base.config.client_config import load_client_config
from moldau.base.config.layer import ConfigSource
from moldau.base.config.schema import Scope
from moldau.base.config.value_types import Password
from moldau.base.errors import ConfigError

ONE, ALL = ConfigSource.DYNAMIC_BROKER, ConfigSource.DYNAMIC_DEFAULT_BROKER


def test_the_strongest_source_wins() -> None:
    file = load_broker_config({"message.max.bytes": 1})
    everywhere = file.with_dynamic(ALL, {"message.max.bytes": 2})
    here = everywhere.with_dynamic(ONE, {"message.max.bytes": 3})
    assert [config["message.max.bytes"] for config in (load_broker_config({}), file, everywhere, here)] == [
        1048588,
        1,
        2,
        3,
    ]
    assert here.with_dynamic(ONE, {})["message.max.bytes"] == 2
    assert here.topic({})["max.message.bytes"] == 3
    assert here.topic({"max.message.bytes": 4})["max.message.bytes"] == 4


def test_a_change_leaves_the_old_snapshot_as_it_was() -> None:
    before = load_broker_config({})
    after = before.with_dynamic(ALL, {"log.retention.ms": "5"})
    assert before["log.retention.ms"] == before.topic({})["retention.ms"] == 604_800_000
    assert after["log.retention.ms"] == after.topic({})["retention.ms"] == 5


@pytest.mark.parametrize(
    ("source", "name", "problem"),
    [
        (ONE, "zookeeper.connect", "Cannot update these configs dynamically: zookeeper.connect"),
        (
            ALL,
            "listeners",
            "Cannot update these configs at default cluster level, broker id must be specified: listeners",
        ),
        (
            ONE,
            "ssl.keystore.location",
            "These security configs can be dynamically updated only per-listener using the listener prefix: "
            "ssl.keystore.location",
        ),
        (
            ALL,
            "listener.name.x.ssl.keystore.location",
            "Cannot update these configs at default cluster level, broker id must be specified: "
            "listener.name.x.ssl.keystore.location",
        ),
    ],
)
def test_what_is_not_dynamic_is_refused(source: ConfigSource, name: str, problem: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_broker_config({}).with_dynamic(source, {name: "PLAINTEXT://:1"})
    assert str(caught.value) == problem


def test_what_is_dynamic_is_taken() -> None:
    broker = load_broker_config({})
    broker.with_dynamic(ALL, {"max.connections": 5, "listener.name.x.max.connections": "6", "my.plugin.setting": "1"})
    broker.with_dynamic(ONE, {"listeners": "PLAINTEXT://:1", "listener.name.x.ssl.keystore.location": "/k"})


def test_a_change_that_breaks_a_rule_is_refused() -> None:
    broker = load_broker_config({"log.cleaner.threads": 2})
    with pytest.raises(ConfigError, match="at least 1MB per cleaner thread"):
        broker.with_dynamic(ALL, {"log.cleaner.dedupe.buffer.size": 1024})
    with pytest.raises(ConfigError, match=r"^Invalid value x for configuration log\.retention\.ms"):
        broker.with_dynamic(ONE, {"log.retention.ms": "x"})


@pytest.mark.parametrize(
    ("overrides", "problem"),
    [
        ({"no.such": "1"}, "Unknown topic config name: no.such"),
        ({"retention.ms": None}, "Null value not supported for topic configs: retention.ms"),
        ({"retention.ms": "abc"}, "Invalid value abc for configuration retention.ms: Not a number of type LONG"),
    ],
)
def test_a_topic_takes_only_what_it_has(overrides: dict[str, object], problem: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_broker_config({}).topic(overrides)
    assert str(caught.value) == problem


def test_a_topic_is_checked_together_with_what_it_inherits() -> None:
    broker = load_broker_config({"log.cleaner.max.compaction.lag.ms": 5})
    with pytest.raises(ConfigError, match=r"min\.compaction\.lag\.ms \(10\) > max\.compaction\.lag\.ms \(5\)"):
        broker.topic({"min.compaction.lag.ms": 10})


def test_a_listener_has_values_of_its_own_and_so_has_a_mechanism_on_it() -> None:
    broker = load_broker_config(
        {
            "sasl.jaas.config": "general",
            "max.connections": 9,
            "listener.name.internal.max.connections": "5",
            "listener.name.internal.plain.sasl.jaas.config": "plain",
        }
    )
    assert broker.for_listener("INTERNAL")["max.connections"] == 5
    assert broker.for_listener("external")["max.connections"] == 9
    assert broker.for_listener("internal")["sasl.jaas.config"] == Password("general")
    assert broker.for_listener("internal", "PLAIN")["sasl.jaas.config"] == Password("plain")


def test_typed_reading() -> None:
    broker = load_broker_config({"ssl.key.password": "hush"})
    assert broker.integer("queued.max.requests") == 500
    assert broker.boolean("log.cleaner.enable") is True
    assert broker.number("log.cleaner.io.buffer.load.factor") == 0.9
    assert broker.text("listeners") == "PLAINTEXT://:9092"
    assert broker.text_or_none("advertised.listeners") is None
    assert broker.texts("log.cleanup.policy") == ("delete",)
    assert broker.texts("zookeeper.ssl.cipher.suites") == ()
    secret = broker.password("ssl.key.password")
    assert secret is not None
    assert secret.reveal() == "hush"
    with pytest.raises(AssertionError):
        broker.integer("listeners")


def test_an_unknown_name_is_a_mistake_of_the_program() -> None:
    with pytest.raises(KeyError):
        load_broker_config({"unknown.thing": 1})["unknown.thing"]


def test_no_secret_is_in_the_repr_of_a_snapshot() -> None:
    settings = {"ssl.key.password": "hush", "listener.name.x.sasl.jaas.config": "hush", "unknown.secret": "hush"}
    broker = load_broker_config(settings)
    assert "hush" not in repr(broker)
    assert "ssl.key.password=[hidden]" in repr(broker)


def test_none_stands_for_not_given() -> None:
    broker = load_broker_config({"listeners": None, "log.retention.ms": None})
    assert broker["listeners"] == "PLAINTEXT://:9092"
    assert broker.explicit == set()


def test_a_snapshot_knows_what_was_given() -> None:
    admin = load_client_config(Scope.ADMIN, {"bootstrap.servers": ["h:1"], "retries": 5, "client.id": None})
    assert admin.explicit == {"bootstrap.servers", "retries"}
    assert admin["retries"] == 5
    assert len(admin) == len(list(admin)) == 74
