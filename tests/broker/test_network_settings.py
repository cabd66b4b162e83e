"""Kafka's settings reach the network layer."""

from __future__ import annotations

from moldau.base.config.broker_config import load_broker_config
from moldau.broker.network import limits_of, net_listeners
from moldau.net.limits import Limits
from moldau.net.server import Listener


def test_the_defaults_of_the_network_layer_are_kafkas() -> None:
    assert limits_of(load_broker_config({})) == Limits()


def test_every_limit_follows_its_setting() -> None:
    limits = limits_of(
        load_broker_config(
            {
                "socket.request.max.bytes": "1000",
                "queued.max.requests": "7",
                "max.connections": "20",
                "max.connections.per.ip": "3",
                "max.connections.per.ip.overrides": "127.0.0.1:5",
                "connections.max.idle.ms": "9000",
                "socket.listen.backlog.size": "11",
                "socket.send.buffer.bytes": "-1",
                "socket.receive.buffer.bytes": "4096",
            }
        )
    )
    assert limits == Limits(
        request_bytes_max=1000,
        queued_requests_max=7,
        connections_max=20,
        connections_per_ip_max=3,
        connections_per_ip_overrides={"127.0.0.1": 5},
        connection_idle_ms_max=9000,
        listen_backlog_size=11,
        send_buffer_bytes=-1,
        receive_buffer_bytes=4096,
    )


def test_listeners_have_their_own_limits() -> None:
    config = load_broker_config(
        {
            "listeners": "PLAINTEXT://127.0.0.1:0,INTERNAL://127.0.0.1:9093",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,INTERNAL:PLAINTEXT",
            "inter.broker.listener.name": "INTERNAL",
            "max.connections": "100",
            "listener.name.internal.max.connections": "8",
        }
    )
    assert net_listeners(config) == [
        Listener("PLAINTEXT", "127.0.0.1", 0, connections_max=100),
        Listener("INTERNAL", "127.0.0.1", 9093, connections_max=8),
    ]
