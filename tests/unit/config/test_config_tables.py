"""The tables have every setting of Kafka 3.9 as Kafka has it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from moldau.base.config.kafka_versions import KAFKA_VERSIONS
from moldau.base.config.schema import Effect, Scope, Setting
from moldau.base.config.scopes import schema_of
from moldau.base.config.value_types import render
from moldau.base.errors import ConfigError

LINES = [line.split(" | ") for line in (Path(__file__).parent / "kafka_settings.txt").read_text().splitlines()[2:]]
FACTS = {(fields[0], fields[1]): fields[2:] for fields in LINES[:-1]}
ROWS = [(scope, row) for scope in Scope for row in schema_of(scope).values()]
OBEYED_TODAY = {
    "advertised.listeners",
    "connections.max.idle.ms",
    "listener.security.protocol.map",
    "listeners",
    "max.connections",
    "max.connections.per.ip",
    "max.connections.per.ip.overrides",
    "queued.max.requests",
    "socket.listen.backlog.size",
    "socket.receive.buffer.bytes",
    "socket.request.max.bytes",
    "socket.send.buffer.bytes",
}


def as_facts(row: Setting) -> list[str]:
    default = "required" if row.default is not row.value_of_default() else render(row.default)
    allowed = row.allowed.describe()
    return [
        row.type.name.lower(),
        "null" if default is None else default or "empty",
        "versions" if len(allowed) > 500 else allowed or "-",
        row.importance.value,
        row.dynamic.value,
    ]


def test_every_setting_of_kafka_is_there_as_kafka_has_it() -> None:
    ours = {(scope.value, row.name): as_facts(row) for scope, row in ROWS if row.listed}
    assert ours == FACTS


def test_the_known_versions_are_kafkas() -> None:
    assert f"versions [{', '.join(KAFKA_VERSIONS)}]" == LINES[-1][0]


def test_few_settings_are_outside_kafkas_table() -> None:
    assert {row.name for _, row in ROWS if not row.listed} == {
        "super.users",
        "allow.everyone.if.no.acl.found",
        "leader.replication.throttled.rate",
        "follower.replication.throttled.rate",
        "replica.alter.log.dirs.io.max.bytes.per.second",
        "log.initial.task.delay.ms",
    }


@pytest.mark.parametrize("scope", list(Scope))
def test_every_default_is_an_allowed_value(scope: Scope) -> None:
    for row in schema_of(scope).values():
        if row.default is row.value_of_default():
            assert row.parse(row.value_of_default()) == row.default


@pytest.mark.parametrize("scope", list(Scope))
def test_every_row_explains_itself(scope: Scope) -> None:
    for row in schema_of(scope).values():
        assert row.doc.endswith("."), row.name
        assert row.doc[0].isupper(), row.name
        assert (row.effect is Effect.NO_EFFECT) == bool(row.why), row.name


def test_every_synonym_names_a_setting_of_the_broker() -> None:
    broker = schema_of(Scope.BROKER)
    for _, row in ROWS:
        for synonym in row.synonyms:
            assert synonym.name in broker
            assert broker[synonym.name].type is row.type or synonym.factor > 1


def test_what_is_obeyed_is_what_the_network_obeys() -> None:
    assert {row.name for _, row in ROWS if row.effect is Effect.IMPLEMENTED} >= OBEYED_TODAY


def test_thread_counts_say_why_they_have_no_effect() -> None:
    broker = schema_of(Scope.BROKER)
    for name in ("num.network.threads", "num.io.threads", "background.threads"):
        assert broker[name].effect is Effect.NO_EFFECT


def test_a_setting_of_a_listener_is_found_by_what_it_overrides() -> None:
    broker = schema_of(Scope.BROKER)
    for name, base in {
        "listener.name.internal.ssl.keystore.location": "ssl.keystore.location",
        "listener.name.internal.plain.sasl.jaas.config": "sasl.jaas.config",
        "listener.name.internal.sasl.jaas.config": "sasl.jaas.config",
        "listener.name.internal.max.connections": "max.connections",
    }.items():
        assert broker.find(name) is broker[base]
    assert broker.find("listener.name.internal.no.such.setting") is None
    assert schema_of(Scope.PRODUCER).find("listener.name.internal.client.id") is None


def test_a_wrong_value_of_a_listener_is_reported_under_its_full_name() -> None:
    name = "listener.name.internal.max.connections"
    row = schema_of(Scope.BROKER).find(name)
    assert row is not None
    with pytest.raises(ConfigError, match=f"^Invalid value x for configuration {name}: Not a number of type INT$"):
        row.parse("x", name)


def test_a_producer_does_not_load_the_tables_of_the_broker() -> None:
    program = (
        "import sys; from moldau.base.config.client_config import load_client_config;"
        "from moldau.base.config.schema import Scope;"
        "given = {'bootstrap.servers': 'h:1', 'key.serializer': 'a', 'value.serializer': 'b'};"
        "load_client_config(Scope.PRODUCER, given);"
        "sys.exit(any('tables.broker' in name or 'difflib' in name for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", program], env={"PYTHONPATH": "src"}, check=False).returncode == 0
