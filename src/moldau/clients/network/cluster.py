"""A cluster as a client sees it: who leads what, who coordinates whom, and a way to ask each of them.

Theory of operation. Knowledge is a snapshot that one task replaces: when it is older than `metadata.max.age.ms`, and
as soon as somebody says that it is wrong, though not more often than the backoff allows. Who needs to know waits for
the next refresh. A request is one attempt; `retrying` is how attempts are repeated.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, TypeVar

from moldau.base.clock import Clock, SystemClock
from moldau.base.config.addresses import bootstrap_addresses
from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError, Disconnected, MoldauError
from moldau.base.supervision import OnFailure, Supervisor
from moldau.clients.errors import ClientClosed, TimedOut, TopicMissing
from moldau.clients.network.connections import Connections, client_options
from moldau.clients.network.coordinators import CoordinatorKind, Coordinators
from moldau.clients.network.metadata import ClusterMetadata, Node, NodeEndpoint, Topic
from moldau.clients.network.refreshing import MetadataRefresher
from moldau.clients.records import TopicPartition
from moldau.clients.settings import ClientSettings
from moldau.net.backoff import Backoff
from moldau.net.channel import Channel
from moldau.net.client import ClientConnection
from moldau.protocol.schema import Message

Result = TypeVar("Result")

STOP_MS = 5_000
# What a topic may be while it is created, elected or only just heard of.
_PASSING = frozenset({ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.LEADER_NOT_AVAILABLE, ErrorCode.UNKNOWN_TOPIC_ID})


class Cluster:
    """The brokers behind `bootstrap.servers`. One for each client, made inside a running loop."""

    def __init__(
        self, settings: ClientSettings, *, allow_auto_topic_creation: bool = True, clock: Clock | None = None
    ) -> None:
        config = settings.config
        self.settings = settings
        self.config = config
        self.clock: Clock = clock or SystemClock()
        self.supervisor = Supervisor(on_fatal=lambda _name, _error: None)
        self.request_timeout_ms = config.integer("request.timeout.ms")
        self.backoff = Backoff(config.integer("retry.backoff.ms"), config.integer("retry.backoff.max.ms"))
        options = client_options(settings)
        assert options.client_id is not None
        self.client_id = options.client_id
        self.connections = Connections(options)
        servers = "bootstrap.servers" if config["bootstrap.servers"] else "bootstrap.controllers"
        self._bootstrap = tuple(
            Node(-1 - index, address.host, address.port)
            for index, address in enumerate(bootstrap_addresses(config, servers))
        )
        self._rebootstrap = config.text("metadata.recovery.strategy").upper() == "REBOOTSTRAP"
        self._refresher = MetadataRefresher(self, config.integer("metadata.max.age.ms"), allow_auto_topic_creation)
        self._coordinators = Coordinators(self)
        self._closed = False

    # -- asking: one attempt

    def node(self, node_id: int) -> Node:
        """A broker by its id; if it is unknown, it is asked for."""
        node = self.metadata.nodes.get(node_id)
        if node is None:
            self.request_update()
            raise ApiError(ErrorCode.BROKER_NOT_AVAILABLE, f"broker {node_id} is not known")
        return node

    def channel(self, node_id: int, lane: str = "") -> Channel:
        if self._closed:
            raise ClientClosed("the client is closed; make a new one")
        return self.connections.channel(self.node(node_id), lane)

    async def connection(self, node_id: int, lane: str = "") -> ClientConnection:
        return await self.channel(node_id, lane).connection()

    async def request(
        self,
        request: Message,
        node_id: int | None = None,
        *,
        lane: str = "",
        version: int | None = None,
        timeout_ms: float | None = None,
    ) -> Any:
        """Ask a broker, or if none is named the least loaded one that can be reached."""
        if node_id is not None:
            return await self.channel(node_id, lane).request(request, version, timeout_ms=timeout_ms)
        connection = await self.any_connection()
        return await connection.request(request, version, timeout_ms=timeout_ms)

    async def any_connection(self) -> ClientConnection:
        """To the least loaded broker that can be reached; at first to one of `bootstrap.servers`."""
        if self._closed:
            raise ClientClosed("the client is closed; make a new one")
        nodes = [*self.metadata.nodes.values()]
        if not nodes or self._rebootstrap:
            nodes += self._bootstrap
        return await self.connections.to_any(nodes)

    async def retrying(self, attempt: Callable[[], Awaitable[Result]], *, timeout_ms: float, what: str) -> Result:
        """Repeat an attempt while it fails for passing reasons, with a backoff, until the time is up."""
        deadline_ms = self.clock.monotonic_ms() + timeout_ms
        failures = 0
        while True:
            limit = asyncio.timeout(max(0.0, deadline_ms - self.clock.monotonic_ms()) / 1000)
            try:
                async with limit:
                    return await attempt()
            except TimeoutError:
                if not limit.expired():
                    raise
                raise TimedOut(f"{what} took longer than {timeout_ms:.0f} ms") from None
            except (Disconnected, ApiError) as error:
                if not _passing(error):
                    raise
                delay_ms = self.backoff.delay_ms(failures)
                failures += 1
                if self.clock.monotonic_ms() + delay_ms >= deadline_ms:
                    raise TimedOut(f"{what} did not succeed within {timeout_ms:.0f} ms; last: {error}") from error
                await asyncio.sleep(delay_ms / 1000)

    # -- metadata

    @property
    def metadata(self) -> ClusterMetadata:
        return self._refresher.metadata

    def add_topics(self, names: Iterable[str]) -> None:
        """Topics that refreshes ask for from now on."""
        self._refresher.add_topics(names)

    def set_topics(self, names: Iterable[str]) -> None:
        """The topics that refreshes ask for from now on, and no others."""
        self._refresher.set_topics(names)

    def watch_all_topics(self, wanted: bool) -> None:
        """Whether refreshes ask for all topics, as who subscribes to a pattern needs it."""
        self._refresher.watch_all(wanted)

    def request_update(self) -> None:
        """Something is wrong with what is known: refresh it soon."""
        self._refresher.request()

    async def update(self, timeout_ms: float | None = None, *, topic: str | None = None) -> ClusterMetadata:
        """What a refresh that begins from now on brings; for a `topic` that was not known, one that asks for it now."""
        limit_ms = self.request_timeout_ms if timeout_ms is None else timeout_ms
        return await self._refresher.next_refresh(limit_ms, topic)

    async def topic(self, name: str, timeout_ms: float) -> Topic:
        """A topic, once it is known without error.

        Raises TimedOut, TopicMissing if brokers do not know it, or at once the ApiError of a topic that will never be:
        not authorized, not a name.
        """
        deadline_ms = self.clock.monotonic_ms() + timeout_ms
        while True:
            self.add_topics([name])
            topic = self.metadata.topics.get(name)
            if topic is not None and topic.error is ErrorCode.NONE and topic.partitions:
                return topic
            if topic is not None and topic.error not in _PASSING and not topic.error.retriable:
                raise ApiError(topic.error, f"topic {name}")
            left_ms = deadline_ms - self.clock.monotonic_ms()
            if left_ms <= 0:
                raise self._not_present(name, timeout_ms)
            try:
                await self.update(left_ms, topic=name)
            except TimedOut as error:
                raise self._not_present(name, timeout_ms, error) from error

    def _not_present(self, name: str, timeout_ms: float, waited: TimedOut | None = None) -> TimedOut:
        """Why a topic is not known: nobody answers, or those who do have no such topic. The first words are Java's."""
        topic = self.metadata.topics.get(name)
        self._refresher.forget_unknown(name)
        seen = "" if topic is None else f": {topic.error.name}"
        text = f"Topic {name} not present in metadata after {timeout_ms:.0f} ms{seen}"
        # The last pause between two answers may have been cut short, which says nothing about the brokers.
        if topic is None or self._refresher.is_failing:
            return TimedOut(text if waited is None else f"{text}; {waited.message}")
        if topic.error is not ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            return TimedOut(text)
        return TopicMissing(
            f"{text}. It does not exist at {','.join(self.config.texts('bootstrap.servers'))}: create it, or set "
            "auto.create.topics.enable=true on the brokers"
        )

    def on_update(self, callback: Callable[[ClusterMetadata], None]) -> None:
        """Call back, in the loop, after every refresh and every change."""
        self._refresher.callbacks.append(callback)

    def leader_changed(
        self, of: TopicPartition, leader: int, leader_epoch: int, endpoints: Iterable[NodeEndpoint]
    ) -> bool:
        """Take a leader that came along with a refusal (KIP-951); whether that was news."""
        changed = self.metadata.with_leader(of, leader, leader_epoch)
        if changed is self.metadata:
            return False
        self._refresher.learn(changed.with_nodes(endpoints))
        return True

    def nodes_named(self, endpoints: Iterable[NodeEndpoint]) -> None:
        """Take addresses that came along with another answer."""
        self._refresher.learn(self.metadata.with_nodes(endpoints))

    # -- coordinators

    async def coordinator(self, kind: CoordinatorKind, key: str, timeout_ms: float) -> int:
        """The broker that coordinates a group or a transactional id."""
        return await self._coordinators.find(kind, key, timeout_ms)

    def coordinator_lost(self, kind: CoordinatorKind, key: str) -> None:
        """It said that it is not, or is gone: the next one who asks looks anew."""
        self._coordinators.forget(kind, key)

    # -- life

    def nodes_changed(self) -> None:
        """Connections to brokers that are gone are not needed any more."""
        self.connections.forget([*self.metadata.nodes.values(), *self._bootstrap])

    def start_refreshing(self, work: Callable[[], Awaitable[None]]) -> None:
        if not self._closed:
            self.supervisor.start(f"metadata of {self.client_id}", work, OnFailure.RESTART)

    async def close(self) -> None:
        """Let go of everything; whoever still waits for an answer gets Disconnected."""
        if not self._closed:
            self._closed = True
            await self.supervisor.stop(STOP_MS)
            self._refresher.close()
            self.connections.close()


def _passing(error: MoldauError) -> bool:
    if isinstance(error, ApiError):
        return error.code.retriable or error.code is ErrorCode.BROKER_NOT_AVAILABLE
    return isinstance(error, Disconnected)
