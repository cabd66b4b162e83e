"""Connections of one client to the brokers of a cluster: a channel for each address and lane.

A lane is a connection of its own to the same broker, for requests that must not stand behind others: a broker answers
the requests of a connection in order, so a heartbeat would wait for a long poll before it.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from itertools import count
from typing import Final

from moldau.base.config.config import Config
from moldau.base.config.schema import Scope
from moldau.base.errors import ConfigError, ConnectFailed
from moldau.clients.network.metadata import Node
from moldau.clients.settings import ClientSettings
from moldau.net.channel import Channel
from moldau.net.client import ClientConnection
from moldau.net.client_options import ClientOptions
from moldau.net.connect import client_buffers

_numbers: Final = {scope: count(1) for scope in Scope}


def client_options(settings: ClientSettings) -> ClientOptions:
    """How this client connects. Its id is as Kafka's clients call themselves if the user does not."""
    config = settings.config
    protocol = config.text("security.protocol").upper()
    if protocol != "PLAINTEXT":
        # Refused rather than ignored: who asks for a secret connection must not get an open one.
        raise ConfigError(f"security.protocol={protocol} is not supported by this client yet; PLAINTEXT is")
    return ClientOptions(
        client_id=config.text("client.id") or _name(settings),
        request_timeout_ms=config.integer("request.timeout.ms"),
        setup_timeout_ms=config.integer("socket.connection.setup.timeout.ms"),
        setup_timeout_max_ms=config.integer("socket.connection.setup.timeout.max.ms"),
        reconnect_backoff_ms=config.integer("reconnect.backoff.ms"),
        reconnect_backoff_max_ms=config.integer("reconnect.backoff.max.ms"),
        idle_ms_max=config.integer("connections.max.idle.ms"),
        send_buffer_bytes=_buffer_bytes(config, "send.buffer.bytes"),
        receive_buffer_bytes=_buffer_bytes(config, "receive.buffer.bytes"),
    )


def _name(settings: ClientSettings) -> str:
    number = next(_numbers[settings.scope])
    if settings.scope is Scope.PRODUCER and (transactional_id := settings.config["transactional.id"]):
        return f"producer-{transactional_id}"
    if settings.scope is Scope.CONSUMER and (group_id := settings.config["group.id"]):
        return f"consumer-{group_id}-{number}"
    return f"{'adminclient' if settings.scope is Scope.ADMIN else settings.scope.value}-{number}"


def _buffer_bytes(config: Config, name: str) -> int:
    # The system's own buffers grow with the connection; Kafka's defaults would only hold them down.
    return config.integer(name) if name in config.explicit else -1


class Connections:
    """The channels of one client. To be made inside a running loop."""

    def __init__(self, options: ClientOptions) -> None:
        self.options = options
        self._buffers = client_buffers()
        self._channels: dict[tuple[str, int, str], Channel] = {}
        self._random = options.drawn_from or random.Random()

    def channel(self, node: Node, lane: str = "") -> Channel:
        key = (node.host, node.port, lane)
        channel = self._channels.get(key)
        if channel is None:
            channel = Channel(node.host, node.port, self.options, buffers=self._buffers)
            self._channels[key] = channel
        return channel

    async def to_any(self, nodes: Sequence[Node]) -> ClientConnection:
        """A connection to the least loaded of the brokers that can be reached."""
        failure = ConnectFailed("no broker is known")
        for channel in self._by_load(nodes):
            try:
                return await channel.connection()
            except ConnectFailed as error:
                failure = error
        raise failure

    def _by_load(self, nodes: Iterable[Node]) -> list[Channel]:
        """Connected ones first, by requests in flight; then those that may be tried, in any order."""
        channels = [self.channel(node) for node in nodes]
        self._random.shuffle(channels)
        return sorted(channels, key=_load)

    def forget(self, kept: Iterable[Node]) -> None:
        """Let go of brokers that are no longer part of the cluster and owe no answer."""
        addresses = {(node.host, node.port) for node in kept}
        for key, channel in list(self._channels.items()):
            connection = channel.connected
            if key[:2] not in addresses and (connection is None or not connection.in_flight):
                channel.close()
                del self._channels[key]

    def close(self) -> None:
        for channel in self._channels.values():
            channel.close()


def _load(channel: Channel) -> tuple[int, float]:
    connection = channel.connected
    return (0, connection.in_flight) if connection is not None else (1, channel.retry_in_ms)
