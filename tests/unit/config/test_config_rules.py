"""Settings that contradict each other are refused, and defaults give way, as in Kafka."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from moldau.base.config.addresses import Address, bootstrap_addresses, connections_per_ip_overrides, log_directories
from moldau.base.config.broker_config import load_broker_config
from moldau.base.config.client_config import load_client_config
from moldau.base.config.config import Config
from moldau.base.config.schema import Scope
from moldau.base.errors import ConfigError

RECORDED = (Path(__file__).parent / "kafka_rules.txt").read_text().splitlines()[1:]


def producer(**settings: object) -> Config:
    return load_client_config(Scope.PRODUCER, {**PRODUCER, **dotted(settings)})


def consumer(**settings: object) -> Config:
    return load_client_config(Scope.CONSUMER, {**CONSUMER, **dotted(settings)})


def dotted(settings: dict[str, object]) -> dict[str, object]:
    return {name.replace("_", "."): value for name, value in settings.items()}


PRODUCER = {"bootstrap.servers": "localhost:1", "key.serializer": "a.B", "value.serializer": "a.B"}
CONSUMER = {"bootstrap.servers": "localhost:1", "key.deserializer": "a.B", "value.deserializer": "a.B"}
LOAD: dict[str, Callable[[Mapping[str, object]], Config]] = {
    "broker": load_broker_config,
    "topic": lambda settings: load_broker_config({}).topic(settings),
    "producer": lambda settings: load_client_config(Scope.PRODUCER, {**PRODUCER, **settings}),
    "consumer": lambda settings: load_client_config(Scope.CONSUMER, {**CONSUMER, **settings}),
    "admin": lambda settings: load_client_config(Scope.ADMIN, {"bootstrap.servers": "localhost:1", **settings}),
}


@pytest.mark.parametrize("line", RECORDED)
def test_settings_go_together_or_not_as_in_kafka(line: str) -> None:
    scope, *pairs, answer = line.split("\t")
    settings = dict(pair.split("=", 1) for pair in pairs)
    if answer == "=> OK":
        LOAD[scope](settings)
    else:
        with pytest.raises(ConfigError) as caught:
            LOAD[scope](settings)
        # Kafka stops at the first contradiction; here all are told.
        assert answer[3:] in str(caught.value).split("\n  ")


def test_all_wrong_values_are_reported_at_once() -> None:
    with pytest.raises(ConfigError) as caught:
        load_broker_config(
            {"num.io.threads": "0", "log.retention.hours": "abc", "log.dir": "/x", "log.cleanup.policy": "x"}
        )
    assert str(caught.value).splitlines() == [
        "3 settings are wrong:",
        "  Invalid value 0 for configuration num.io.threads: Value must be at least 1",
        "  Invalid value abc for configuration log.retention.hours: Not a number of type INT",
        "  Invalid value x for configuration log.cleanup.policy: String must be one of: compact, delete",
    ]


def test_all_broken_rules_are_reported_at_once() -> None:
    with pytest.raises(ConfigError) as caught:
        load_broker_config({"log.retention.ms": 0, "log.roll.ms": 0, "log.dirs": ""})
    assert len(str(caught.value).splitlines()) == 4


def test_a_setting_without_default_must_be_given() -> None:
    with pytest.raises(ConfigError) as caught:
        load_client_config(Scope.PRODUCER, {"bootstrap.servers": "h:1", "value.serializer": "a.B"})
    assert str(caught.value) == 'Missing required configuration "key.serializer" which has no default value.'


def test_retention_comes_from_the_finest_unit_that_is_set() -> None:
    for settings, retention_ms in (
        ({}, 604_800_000),
        ({"log.retention.hours": 1}, 3_600_000),
        ({"log.retention.hours": 1, "log.retention.minutes": 2}, 120_000),
        ({"log.retention.hours": 1, "log.retention.minutes": 2, "log.retention.ms": 3}, 3),
        ({"log.retention.minutes": -1}, -1),
        ({"log.retention.ms": -5}, -1),
    ):
        broker = load_broker_config(settings)
        assert broker.integer("log.retention.ms") == retention_ms
        assert broker.topic({}).integer("retention.ms") == retention_ms


def test_the_other_synonyms_of_the_broker() -> None:
    broker = load_broker_config({"log.roll.hours": 2, "log.roll.jitter.hours": 1, "log.flush.scheduler.interval.ms": 9})
    assert broker["log.roll.ms"] == 7_200_000
    assert broker["log.roll.jitter.ms"] == 3_600_000
    assert broker["log.flush.interval.ms"] == 9
    assert log_directories(broker) == ("/tmp/kafka-logs",)
    assert log_directories(load_broker_config({"log.dir": "/a", "log.dirs": " /b , /c,"})) == ("/b", "/c")


def test_broker_id_and_node_id_stand_for_each_other() -> None:
    for name in ("broker.id", "node.id"):
        broker = load_broker_config({name: "7"})
        assert (broker["broker.id"], broker["node.id"]) == (7, 7)


def test_idempotence_gives_way_unless_it_was_asked_for(caplog: pytest.LogCaptureFixture) -> None:
    assert producer()["enable.idempotence"] is True
    assert "Idempotence" not in caplog.text
    for settings in ({"acks": "1"}, {"retries": 0}, {"max.in.flight.requests.per.connection": 6}):
        assert producer(**settings)["enable.idempotence"] is False
        assert "Idempotence is off because of" in caplog.text
        caplog.clear()


def test_acks_all_is_minus_one() -> None:
    assert producer()["acks"] == producer(acks="all")["acks"] == producer(acks="-1")["acks"] == "-1"


def test_the_delivery_timeout_grows_with_linger_and_request_timeout() -> None:
    assert producer(linger_ms=100_000)["delivery.timeout.ms"] == 130_000
    assert producer(linger_ms=2**40)["delivery.timeout.ms"] == 2**31 - 1
    assert producer()["delivery.timeout.ms"] == 120_000


def test_a_single_reconnect_backoff_does_not_grow() -> None:
    assert consumer(reconnect_backoff_ms=5000)["reconnect.backoff.max.ms"] == 5000
    assert consumer()["reconnect.backoff.max.ms"] == 1000


def test_without_a_group_nothing_is_committed() -> None:
    assert consumer()["enable.auto.commit"] is False
    assert consumer(group_id="g")["enable.auto.commit"] is True


def test_an_admin_call_lasts_at_least_as_long_as_a_request() -> None:
    admin = load_client_config(Scope.ADMIN, {"bootstrap.servers": "h:1", "request.timeout.ms": 100_000})
    assert admin["default.api.timeout.ms"] == 100_000


def test_bootstrap_servers_are_addresses() -> None:
    config = producer(bootstrap_servers="a:1, [::1]:2,SSL://b.c:3,")
    assert bootstrap_addresses(config) == (Address("a", 1), Address("::1", 2), Address("b.c", 3))
    assert [str(address) for address in bootstrap_addresses(config)] == ["a:1", "[::1]:2", "b.c:3"]
    for wrong in ("a:65536", ":1", "a b:1"):
        with pytest.raises(ConfigError, match=f"^Invalid url in bootstrap.servers: {wrong}$"):
            producer(bootstrap_servers=wrong)


def test_connection_limits_by_host() -> None:
    overrides = {"max.connections.per.ip.overrides": "host:5, ::1:7 ,127.0.0.1:0"}
    limits = connections_per_ip_overrides(load_broker_config(overrides))
    assert limits == {"host": 5, "::1": 7, "127.0.0.1": 0}
    for wrong in ("host", "host:x", "host:"):
        with pytest.raises(
            ConfigError, match=r"^Invalid value .* for configuration max\.connections\.per\.ip\.overrides: "
        ):
            load_broker_config({"max.connections.per.ip.overrides": wrong})


def test_the_limits_of_session_timeouts_are_in_order() -> None:
    with pytest.raises(ConfigError, match=r"^group\.max\.session\.timeout\.ms must be greater than or equals to "):
        load_broker_config({"group.min.session.timeout.ms": 10, "group.max.session.timeout.ms": 5})
