"""A cluster of fake brokers with real controllers, on an embedded store, in virtual time."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TypeVar

from moldau.base.clock import LoopClock
from moldau.base.config.broker_config import BrokerConfig, load_broker_config
from moldau.base.config.topic_config import TopicConfig
from moldau.base.ids import random_uuid
from moldau.base.supervision import Supervisor
from moldau.base.timers import LoopTimers
from moldau.cluster.bootstrap import create_path, create_paths
from moldau.cluster.embedded import EmbeddedStore
from moldau.cluster.errors import NoNode
from moldau.cluster.persistence import MemoryPersistence
from moldau.cluster.session import EmbeddedSession
from moldau.cluster.store import CreateMode
from moldau.cluster.znodes.brokers import BrokerRegistration, Endpoint
from moldau.cluster.znodes.configs import decode_config, encode_config
from moldau.cluster.znodes.layout import (
    broker_path,
    config_path,
    delete_topic_path,
    partition_state_path,
    topic_path,
)
from moldau.cluster.znodes.partition_state import PartitionState
from moldau.cluster.znodes.topics import TopicAssignment
from moldau.controller.context import Partition
from moldau.controller.controller import Controller
from moldau.controller.leadership import Leadership
from moldau.testing.simulation import simulate
from tests.unit.controller.fake_brokers import FakeBroker, FakeChannels

SESSION_TIMEOUT_MS = 6_000
SETTLE_S = 0.5
Result = TypeVar("Result")


class Node:
    """What a broker has of its own: a session, a registration and a controller."""

    def __init__(self, cluster: Cluster, broker: FakeBroker, session: EmbeddedSession, channels: FakeChannels) -> None:
        loop = asyncio.get_running_loop()
        clock = LoopClock(loop)
        self.broker = broker
        self.session = session
        self.channels = channels
        self.failures: list[BaseException] = []
        self.supervisor = Supervisor(lambda _name, failure: self.failures.append(failure))
        self.timers = LoopTimers(loop, clock)
        self.controller = Controller(
            broker.broker_id,
            session,
            channels,
            config=lambda: cluster.config,
            topic_config=cluster.topic_config,
            supervisor=self.supervisor,
            clock=clock,
            timers=self.timers,
        )

    async def end(self) -> None:
        await self.supervisor.stop(1000)
        self.timers.close()
        assert self.failures == []


class Cluster:
    def __init__(self, store: EmbeddedStore, client: EmbeddedSession, settings: Mapping[str, str]) -> None:
        self.store = store
        self.client = client
        self.settings = {"listeners": "PLAINTEXT://localhost:9092", "auto.leader.rebalance.enable": "false", **settings}
        self.config: BrokerConfig = load_broker_config(self.settings)
        self.brokers: dict[int, FakeBroker] = {}
        self.nodes: dict[int, Node] = {}
        self.queued_max = 10_000

    # -- brokers

    async def start(self, *broker_ids: int) -> None:
        for broker_id in broker_ids:
            await self.start_broker(broker_id)
        await self.settle()

    async def start_broker(self, broker_id: int, registration: BrokerRegistration | None = None) -> Node:
        broker = self.brokers.setdefault(broker_id, FakeBroker(broker_id))
        broker.restart()
        session = await self.store.open_session(SESSION_TIMEOUT_MS)
        path = broker_path(broker_id)
        data = (registration or registration_of(broker_id)).encode()
        await session.create(path, data, CreateMode.EPHEMERAL)
        broker.broker_epoch = (await session.get(path)).stat.czxid
        node = self.nodes[broker_id] = Node(self, broker, session, FakeChannels(self.brokers, self.queued_max))
        await node.controller.start()
        return node

    async def kill(self, *broker_ids: int, settle: bool = True) -> None:
        """kill -9: the process is gone at once, its session expires."""
        for broker_id in broker_ids:
            node = self.nodes.pop(broker_id)
            await node.end()
            await self.store.expire(node.session.session_id)
        if settle:
            await self.settle()

    async def stop(self, broker_id: int) -> None:
        """As an operator stops a broker, without controlled shutdown."""
        node = self.nodes.pop(broker_id)
        await node.controller.stop()
        await node.session.close()
        await node.end()
        await self.settle()

    @property
    def controller(self) -> Controller:
        (active,) = [node.controller for node in self.nodes.values() if node.controller.is_active]
        return active

    # -- topics

    async def create_topic(
        self,
        topic: str,
        *replicas: Sequence[int],
        config: Mapping[str, str] | None = None,
        settle: bool = True,
        topic_id: bytes | None = None,
    ) -> None:
        """A topic whose partitions have these replicas, written as the handler of CreateTopics does."""
        await create_path(self.client, config_path("topics", topic), encode_config(config or {}))
        partitions = {index: tuple(brokers) for index, brokers in enumerate(replicas)}
        assignment = TopicAssignment(topic_id or random_uuid(), partitions)
        await self.client.create(topic_path(topic), assignment.encode())
        if settle:
            await self.settle()

    async def delete_topic(self, topic: str) -> None:
        await create_path(self.client, delete_topic_path(topic))
        await self.settle()

    async def topic_config(self, topic: str) -> TopicConfig:
        path = config_path("topics", topic)
        return self.config.topic(decode_config(path, (await self.client.get(path)).data))

    async def assignment(self, topic: str) -> TopicAssignment | None:
        try:
            return TopicAssignment.decode(topic, (await self.client.get(topic_path(topic))).data)
        except NoNode:
            return None

    async def state(self, topic: str, index: int = 0) -> Leadership:
        znode = await self.client.get(partition_state_path(topic, index))
        return Leadership.of_znode(PartitionState.decode(topic, index, znode.data), znode.stat.version)

    async def set_isr(self, partition: Partition, *isr: int) -> Leadership:
        """As the leader asks for it."""
        state = await self.state(*partition)
        changed = PartitionState(state.controller_epoch, state.leader, state.leader_epoch, isr, state.is_recovering)
        await self.client.set(partition_state_path(*partition), changed.encode())
        return await self.state(*partition)

    async def settle(self) -> None:
        await asyncio.sleep(SETTLE_S)

    async def json(self, path: str) -> object:
        return json.loads((await self.client.get(path)).data or b"null")


def registration_of(broker_id: int, port: int = 9092) -> BrokerRegistration:
    return BrokerRegistration((Endpoint("PLAINTEXT", f"broker{broker_id}", port, "PLAINTEXT"),), timestamp_ms=1)


def run_cluster(scenario: Callable[[Cluster], Awaitable[Result]], seed: int = 1, **settings: str) -> Result:
    """Run a scenario on a new cluster; settings have underscores where Kafka has dots."""

    async def main(_network: object) -> Result:
        store = await EmbeddedStore.open(MemoryPersistence(), LoopClock(asyncio.get_running_loop()))
        client = await store.open_session(SESSION_TIMEOUT_MS)
        await create_paths(client)
        cluster = Cluster(store, client, {name.replace("_", "."): value for name, value in settings.items()})
        result = await scenario(cluster)
        for node in cluster.nodes.values():
            await node.end()
        await store.close()
        return result

    return simulate(main, seed)
