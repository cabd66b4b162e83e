"""What differs between brokers that one command starts."""

from __future__ import annotations

from moldau.cli.several_brokers import settings_of_each


def test_one_broker_has_the_settings_as_they_are() -> None:
    settings = {"listeners": "PLAINTEXT://:9092", "log.dirs": "/data"}
    assert settings_of_each(settings, 1) == [settings]


def test_ids_ports_and_directories_count_up() -> None:
    settings = {
        "listeners": "PLAINTEXT://:19092,INSIDE://[::1]:29092",
        "advertised.listeners": "PLAINTEXT://example:19092,INSIDE://[::1]:29092",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,INSIDE:PLAINTEXT",
        "log.dirs": "/a,/b",
        "num.partitions": "5",
    }
    _, second, third = settings_of_each(settings, 3)
    assert second["broker.id"] == "1"
    assert second["listeners"] == "PLAINTEXT://:19093,INSIDE://[::1]:29093"
    assert third["advertised.listeners"] == "PLAINTEXT://example:19094,INSIDE://[::1]:29094"
    assert third["log.dirs"] == "/a/broker-2,/b/broker-2"
    assert third["num.partitions"] == "5"


def test_they_start_at_kafkas_port_and_a_chosen_port_stays_the_systems() -> None:
    assert [own["listeners"] for own in settings_of_each({}, 2)] == ["PLAINTEXT://:9092", "PLAINTEXT://:9093"]
    free = {"listeners": "PLAINTEXT://127.0.0.1:0", "broker.id": "7"}
    assert [own["listeners"] for own in settings_of_each(free, 2)] == ["PLAINTEXT://127.0.0.1:0"] * 2
    assert [own["broker.id"] for own in settings_of_each(free, 2)] == ["7", "8"]
