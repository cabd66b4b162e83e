"""As much of a node as the handlers of metadata, topics and settings need, on an embedded store, and a way to ask it.

Requests go through the real dispatcher, so that each is decoded and its answer encoded in the version asked for. In
place of the controller there is one that makes every broker alive lead what it is the first replica of.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from random import Random
from types import SimpleNamespace
from typing import Any, TypeVar, cast

from moldau.base.clock import SystemClock
from moldau.base.config.broker_config import BrokerConfig, load_broker_config
from moldau.base.config.topic_config import TopicConfig
from moldau.base.supervision import OnFailure, Supervisor
from moldau.broker.auto_topics import AutoTopics
from moldau.broker.dispatcher import Dispatcher
from moldau.broker.dynamic_configs import DynamicConfigs
from moldau.broker.handlers import all_registrations
from moldau.cluster.bootstrap import create_paths
from moldau.cluster.embedded import EmbeddedStore
from moldau.cluster.metadata_cache import LEADER_DURING_DELETE, MetadataCache
from moldau.cluster.persistence import MemoryPersistence
from moldau.cluster.store import CoordinationSession, WatchEvent
from moldau.cluster.znodes.layout import DELETE_TOPICS, TOPICS, config_path, delete_topic_path, topic_path
from moldau.cluster.znodes.topics import TopicAssignment
from moldau.controller.topic_admin import TopicAdmin
from moldau.protocol.api import ApiKey, response_class
from moldau.protocol.codec import decode, encode
from moldau.protocol.headers import decode_response_header, encode_request_header
from moldau.protocol.messages.update_metadata import (
    UpdateMetadataBroker,
    UpdateMetadataEndpoint,
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
    UpdateMetadataTopicState,
)
from moldau.protocol.schema import Message

M = TypeVar("M", bound=Message)
ANSWERED_WITHIN_S = 10.0


class KeptAnswer:
    """An answer that stays here instead of going to a socket."""

    def __init__(self, listener: str) -> None:
        self.connection = SimpleNamespace(session=None, listener=listener)
        self.sent: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

    def send(self, parts: Iterable[bytes]) -> None:
        self.sent.set_result(b"".join(parts))

    def park(self) -> None:
        """Nothing counts requests here."""


class HandlerNode:
    def __init__(self, session: CoordinationSession, config: BrokerConfig, broker_id: int = 1) -> None:
        self.session = session
        self.config = config
        self.broker_id = broker_id
        self.cluster_id = "kVQyWyy5QTarg1YXRHqQ9A"
        self.clock = SystemClock()
        self.metadata = MetadataCache()
        self.supervisor = Supervisor(self._failed)
        self.controller = SimpleNamespace(is_active=True)
        self.registrations = all_registrations()
        self.topics = TopicAdmin(session, self.metadata, config=lambda: self.config, random=Random(7))
        self.auto_topics = AutoTopics(self.topics, config=lambda: self.config, live_brokers=lambda: 3)
        self.topics.waits.complete()
        self.configured_topics: list[tuple[str, TopicConfig]] = []
        self.controller_checks: list[tuple[int, int, int]] = []
        self.configs = DynamicConfigs(
            session,
            config,
            broker_id,
            self._configured,
            lambda *one: self.configured_topics.append(one),
            clock=self.clock,
            supervisor=self.supervisor,
        )
        self._dispatch = Dispatcher(self, self.registrations)
        self._led: dict[str, set[int]] = {}
        self._changed = asyncio.Event()

    def _failed(self, name: str, error: BaseException) -> None:
        raise AssertionError(f"{name} failed") from error

    def _configured(self, config: BrokerConfig) -> None:
        self.config = config

    async def check_controller(self, controller_id: int, controller_epoch: int, broker_epoch: int) -> None:
        self.controller_checks.append((controller_id, controller_epoch, broker_epoch))

    async def ask(self, request: Message, version: int, cls: type[M], listener: str = "PLAINTEXT") -> M:
        """The answer to a request, after both have been bytes."""
        answer = KeptAnswer(listener)
        frame = encode_request_header(request.KEY, version, 7, "test") + encode(request, version)
        self._dispatch(memoryview(frame), cast(Any, answer))
        async with asyncio.timeout(ANSWERED_WITHIN_S):
            data = await answer.sent
        assert cls is response_class(ApiKey(request.KEY))
        return decode(cls, version, data, decode_response_header(data, cls, version)[1])

    # -- the controller's part

    def start_controller(self) -> None:
        self.supervisor.start("controller", self._control, OnFailure.FATAL)

    def _hear(self, _event: WatchEvent) -> None:
        self._changed.set()

    async def _control(self) -> None:
        while True:
            self._changed.clear()
            for topic in await self.session.children(TOPICS, self._hear):
                data = (await self.session.get(topic_path(topic), self._hear)).data
                assignment = TopicAssignment.decode(topic, data)
                new = assignment.partitions.keys() - self._led.get(topic, set())
                if new:
                    self._led.setdefault(topic, set()).update(new)
                    self.metadata.apply(topic_update(topic, assignment, self.metadata, new), 8)
            for topic in await self.session.children(DELETE_TOPICS, self._hear):
                gone = partition_states(dict.fromkeys(self._led.pop(topic), LEADER_DURING_DELETE), {})
                self.metadata.apply(
                    update(self.metadata, UpdateMetadataTopicState(topic_name=topic, partition_states=gone)), 8
                )
                for path in (topic_path(topic), config_path("topics", topic), delete_topic_path(topic)):
                    await self.session.delete(path)
            await self._changed.wait()


def live_broker(broker_id: int, rack: str | None = None, *listeners: str) -> UpdateMetadataBroker:
    endpoints = [
        UpdateMetadataEndpoint(host=f"host{broker_id}", port=9092 + place, listener=listener)
        for place, listener in enumerate(listeners or ("PLAINTEXT",))
    ]
    return UpdateMetadataBroker(id=broker_id, rack=rack, endpoints=endpoints)


def update(metadata: MetadataCache, *topics: UpdateMetadataTopicState) -> UpdateMetadataRequest:
    """An update of some topics that leaves the brokers as they are."""
    brokers = [live_broker(one.broker_id, one.rack, *one.endpoints) for one in metadata.brokers.values()]
    return UpdateMetadataRequest(controller_id=metadata.controller_id, live_brokers=brokers, topic_states=list(topics))


def partition_states(
    leaders: dict[int, int], replicas: dict[int, tuple[int, ...]]
) -> list[UpdateMetadataPartitionState]:
    return [
        UpdateMetadataPartitionState(
            partition_index=partition,
            leader=leader,
            isr=list(replicas.get(partition, (leader,))),
            replicas=list(replicas.get(partition, (leader,))),
        )
        for partition, leader in leaders.items()
    ]


def topic_update(
    topic: str, assignment: TopicAssignment, metadata: MetadataCache, partitions: Iterable[int]
) -> UpdateMetadataRequest:
    leaders = {
        partition: next((one for one in assignment.partitions[partition] if one in metadata.brokers), -1)
        for partition in sorted(partitions)
    }
    states = partition_states(leaders, dict(assignment.partitions))
    assert assignment.topic_id is not None
    return update(
        metadata,
        UpdateMetadataTopicState(topic_name=topic, topic_id=assignment.topic_id, partition_states=states),
    )


@asynccontextmanager
async def running_node(
    *brokers: UpdateMetadataBroker, controller: bool = True, **settings: str
) -> AsyncIterator[HandlerNode]:
    """A node whose cluster has these brokers, or one; settings are written with underscores for dots."""
    store = await EmbeddedStore.open(MemoryPersistence(), SystemClock())
    try:
        session = await store.open_session(6_000)
        await create_paths(session)
        named = {name.replace("_", "."): value for name, value in settings.items()}
        node = HandlerNode(session, load_broker_config({"broker.id": "1", **named}))
        live = list(brokers) or [live_broker(1)]
        node.metadata.apply(UpdateMetadataRequest(controller_id=1, live_brokers=live), 8)
        await node.configs.start()
        if controller:
            node.start_controller()
        try:
            yield node
        finally:
            await node.supervisor.stop(1_000)
    finally:
        await store.close()


def with_node(
    scenario: Callable[[HandlerNode], Awaitable[None]],
    *brokers: UpdateMetadataBroker,
    controller: bool = True,
    **settings: str,
) -> None:
    """Run a scenario to its end."""

    async def main() -> None:
        async with running_node(*brokers, controller=controller, **settings) as node:
            await scenario(node)

    asyncio.run(main())
