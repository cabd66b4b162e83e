"""Listeners and the addresses that are advertised for them."""

from __future__ import annotations

import pytest

from moldau.base.config.broker_config import load_broker_config
from moldau.base.config.listeners import (
    Listener,
    SecurityProtocol,
    advertised_listeners_of,
    inter_broker_listener,
    listeners_of,
)
from moldau.base.errors import ConfigError

PLAINTEXT, SSL, SASL_SSL = SecurityProtocol.PLAINTEXT, SecurityProtocol.SSL, SecurityProtocol.SASL_SSL


def test_the_default_is_one_plain_listener_on_every_interface() -> None:
    broker = load_broker_config({})
    assert listeners_of(broker) == (Listener("PLAINTEXT", PLAINTEXT, "", 9092),)
    assert advertised_listeners_of(broker) == listeners_of(broker)
    assert inter_broker_listener(broker) == listeners_of(broker)[0]


def test_names_map_to_protocols_and_hosts_may_be_ipv6() -> None:
    broker = load_broker_config(
        {
            "listeners": " internal://[::1]:9092 ,External://host.example:9093,",
            "listener.security.protocol.map": "Internal:plaintext,EXTERNAL:SASL_SSL",
            "inter.broker.listener.name": "internal",
            "advertised.listeners": "INTERNAL://10.0.0.1:9192",
        }
    )
    assert listeners_of(broker) == (
        Listener("INTERNAL", PLAINTEXT, "::1", 9092),
        Listener("EXTERNAL", SASL_SSL, "host.example", 9093),
    )
    assert [str(listener) for listener in listeners_of(broker)] == [
        "INTERNAL://[::1]:9092",
        "EXTERNAL://host.example:9093",
    ]
    assert advertised_listeners_of(broker) == (Listener("INTERNAL", PLAINTEXT, "10.0.0.1", 9192),)
    assert inter_broker_listener(broker).port == 9192


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"listeners": "PLAINTEXT://:9092,SSL://:9092"}, "Each listener must have a different port"),
        ({"listeners": "PLAINTEXT://h:65536"}, "Unable to parse PLAINTEXT://h:65536"),
        ({"listeners": "PLAINTEXT://h:-1"}, "Unable to parse PLAINTEXT://h:-1"),
        ({"listeners": "PLAINTEXT://h:9999999999999999"}, "Unable to parse"),
        ({"advertised.listeners": "SSL://h:9092"}, "Found SSL. The valid options are PLAINTEXT"),
        ({"listener.security.protocol.map": "PLAINTEXT"}, "Expected pairs of the form key:value"),
        ({"inter.broker.listener.name": "FOO"}, "inter.broker.listener.name must be a listener name defined"),
    ],
)
def test_what_cannot_be_a_listener_is_refused(settings: dict[str, object], problem: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_broker_config(settings)
    assert problem in str(caught.value)


def test_protocols_know_what_they_use() -> None:
    assert [p.name for p in SecurityProtocol if p.uses_tls] == ["SSL", "SASL_SSL"]
    assert [p.name for p in SecurityProtocol if p.uses_sasl] == ["SASL_PLAINTEXT", "SASL_SSL"]
