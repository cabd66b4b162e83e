"""One real broker, and brokers beside it that are registered and obey its controller, but fetch only when told to.

So a test has followers that pause, lag or die exactly when it wants. Everything runs in the loop of the test, on one
coordination store in memory; requests go over sockets.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from moldau.base.clock import SystemClock
from moldau.base.config.broker_config import load_broker_config
from moldau.broker.dispatcher import Dispatcher
from moldau.broker.handlers import Registration, all_registrations, registration
from moldau.broker.node import Node
from moldau.broker.registration import register
from moldau.cluster.embedded import EmbeddedStore
from moldau.cluster.persistence import MemoryPersistence
from moldau.cluster.store import CoordinationSession
from moldau.cluster.znodes.brokers import BrokerRegistration, Endpoint
from moldau.net.channel import Channel
from moldau.net.limits import Limits
from moldau.net.server import Listener, Server
from moldau.protocol.api import ApiKey, request_class, response_class
from moldau.protocol.schema import Message

LISTENER = "PLAINTEXT"
SESSION_TIMEOUT_MS = 10_000
STOP_MS_MAX = 1_000
FROM_THE_CONTROLLER = (ApiKey.LEADER_AND_ISR, ApiKey.STOP_REPLICA, ApiKey.UPDATE_METADATA)


class Follower:
    """A broker that says yes to whatever the controller orders."""

    def __init__(self, broker_id: int, session: CoordinationSession) -> None:
        self.broker_id = broker_id
        self.session = session
        self.registrations = {
            ApiKey.API_VERSIONS: all_registrations()[ApiKey.API_VERSIONS],
            **{key: _agreeing(key) for key in FROM_THE_CONTROLLER},
        }
        self._server = Server([Listener(LISTENER, "127.0.0.1", 0)], Dispatcher(self, self.registrations), Limits())

    async def start(self) -> None:
        await self._server.start()
        host, port = self._server.addresses[LISTENER]
        endpoint = Endpoint(LISTENER, host, port, LISTENER)
        own = BrokerRegistration((endpoint,), SystemClock().now_ms())
        await register(self.session, self.broker_id, own, SESSION_TIMEOUT_MS)

    async def die(self) -> None:
        """Its session ends, and so the controller hears of it."""
        await self.session.close()
        await self._server.drain(STOP_MS_MAX)


def _agreeing(key: ApiKey) -> Registration:
    response = response_class(key)
    return registration(key, str(request_class(key).VERSIONS), lambda *_: response(), lambda *_: response())


@dataclass
class BrokerWithFollowers:
    node: Node
    followers: dict[int, Follower]

    async def request(self, request: Message, version: int | None = None) -> Any:
        """The broker's answer, over a connection of its own."""
        channel = Channel(*self.node.server.addresses[LISTENER])
        try:
            return await channel.request(request, version)
        finally:
            channel.close()


@asynccontextmanager
async def broker_with_followers(
    data: Path, followers: Collection[int] = (), **settings: str
) -> AsyncIterator[BrokerWithFollowers]:
    """Broker 0, as it is in production, and these others; settings by Kafka's names."""
    store = await EmbeddedStore.open(MemoryPersistence(), SystemClock())
    config = {
        "broker.id": "0",
        "listeners": f"{LISTENER}://127.0.0.1:0",
        "log.dirs": str(data),
        "controlled.shutdown.enable": "false",  # there may be nobody left to hand over to
        **settings,
    }
    failures: list[BaseException] = []

    async def open_store() -> EmbeddedStore:
        return store

    node = Node(load_broker_config(config), open_store, on_fatal=lambda _name, error: failures.append(error))
    await node.start()
    cluster = BrokerWithFollowers(node, {})
    try:
        for broker_id in followers:
            follower = cluster.followers[broker_id] = Follower(broker_id, await store.open_session(SESSION_TIMEOUT_MS))
            await follower.start()
        yield cluster
    finally:
        for follower in cluster.followers.values():
            await follower.die()
        await node.stop()
    assert failures == []
