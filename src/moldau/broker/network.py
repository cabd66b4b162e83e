"""The network layer of a node, as its configuration wants it."""

from __future__ import annotations

from moldau.base.config.addresses import connections_per_ip_overrides
from moldau.base.config.broker_config import BrokerConfig
from moldau.base.config.listeners import listeners_of
from moldau.net.limits import Limits
from moldau.net.server import Listener


def limits_of(config: BrokerConfig) -> Limits:
    """The bounds of the server; made anew when a dynamic setting among them changes."""
    return Limits(
        request_bytes_max=config.integer("socket.request.max.bytes"),
        queued_requests_max=config.integer("queued.max.requests"),
        connections_max=config.integer("max.connections"),
        connections_per_ip_max=config.integer("max.connections.per.ip"),
        connections_per_ip_overrides=connections_per_ip_overrides(config),
        connection_idle_ms_max=config.integer("connections.max.idle.ms"),
        listen_backlog_size=config.integer("socket.listen.backlog.size"),
        send_buffer_bytes=config.integer("socket.send.buffer.bytes"),
        receive_buffer_bytes=config.integer("socket.receive.buffer.bytes"),
    )


def net_listeners(config: BrokerConfig) -> list[Listener]:
    """Where to listen, each listener with the limits that `listener.name.<name>.` sets for it."""
    found = []
    for listener in listeners_of(config):
        connections_max = config.for_listener(listener.name)["max.connections"]
        assert isinstance(connections_max, int)
        found.append(Listener(listener.name, listener.host, listener.port, connections_max=connections_max))
    return found
