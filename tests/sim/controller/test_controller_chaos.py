"""Controllers under a hail of deaths, pauses, lost connections and requests: what must hold after every write.

Three brokers, each with a controller, on one store. A seed decides what happens when. Every change of a partition's
state is checked as it is committed; at the end everything is left alone for a while, and must then be well.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from contextlib import suppress

import pytest

from moldau.base.clock import LoopClock
from moldau.base.errors import ApiError
from moldau.base.ids import random_uuid
from moldau.cluster.bootstrap import create_path, create_paths
from moldau.cluster.embedded import EmbeddedStore
from moldau.cluster.errors import CoordinationError, NoNode
from moldau.cluster.store import CreateMode
from moldau.cluster.znodes.configs import encode_config
from moldau.cluster.znodes.layout import (
    CONTROLLER,
    CONTROLLER_EPOCH,
    DELETE_TOPICS,
    TOPICS,
    broker_path,
    config_path,
    delete_topic_path,
    topic_path,
)
from moldau.cluster.znodes.topics import TopicAssignment
from moldau.controller.leader_elections import ElectionType
from moldau.protocol.messages.alter_partition import (
    AlterPartitionRequest,
    BrokerState,
    RequestPartitionData,
    RequestTopicData,
)
from moldau.testing.simulation import Host, SimulatedNetwork, simulate
from tests.sim.controller.checked_persistence import UNCLEAN_TOPIC, CheckedPersistence
from tests.unit.controller.controlled_cluster import SESSION_TIMEOUT_MS, Cluster, Node, registration_of
from tests.unit.controller.fake_brokers import FakeBroker, FakeChannels

BROKERS = (1, 2, 3)
STEPS = 60


class Chaos:
    def __init__(
        self, cluster: Cluster, checked: CheckedPersistence, network: SimulatedNetwork, random_: random.Random
    ) -> None:
        self.cluster = cluster
        self.checked = checked
        self.network = network
        self.random = random_
        self.hosts: dict[int, Host] = {}
        self.leaders_of_epochs: dict[int, int] = {}
        self.created = 0

    # -- what happens

    async def start(self, broker_id: int) -> None:
        cluster = self.cluster
        broker = cluster.brokers.setdefault(broker_id, FakeBroker(broker_id))
        broker.restart()
        host = self.hosts[broker_id] = self.network.host(f"broker{broker_id}-{self.random.getrandbits(64):x}")

        async def come_up() -> Node:
            session = await cluster.store.open_session(SESSION_TIMEOUT_MS)
            path = broker_path(broker_id)
            await session.create(path, registration_of(broker_id).encode(), CreateMode.EPHEMERAL)
            broker.broker_epoch = (await session.get(path)).stat.czxid
            node = cluster.nodes[broker_id] = Node(cluster, broker, session, FakeChannels(cluster.brokers))
            await node.controller.start()
            return node

        # It may be cut off before it has come up; a later step finds it so.
        await asyncio.wait([host.run(come_up())])

    async def kill(self, broker_id: int) -> None:
        node = self.cluster.nodes.pop(broker_id)
        node.session.resume()
        await self.cluster.store.expire(node.session.session_id)
        await node.supervisor.stop(1000)
        node.timers.close()

    async def bounce(self, broker_id: int) -> None:
        await self.kill(broker_id)
        await asyncio.sleep(self.random.choice([0, 0, 0.01, 2]))
        await self.start(broker_id)

    async def become_a_zombie(self, broker_id: int) -> None:
        """The process stands still, its session expires, others go on; then it wakes up and finds itself alone."""
        host, node = self.hosts[broker_id], self.cluster.nodes.pop(broker_id)
        self.network.pause(host.name)
        await self.cluster.store.expire(node.session.session_id)
        await asyncio.sleep(self.random.uniform(0, 3))
        self.network.resume(host.name)
        await asyncio.sleep(self.random.uniform(0, 0.1))
        assert node.failures == []
        await node.supervisor.stop(1000)
        node.timers.close()
        await self.start(broker_id)

    async def be_deposed(self, _broker_id: int) -> None:
        """The controller is stopped in the middle of its work, and replaced; its session lives, and it goes on."""
        active = [each for each, node in self.cluster.nodes.items() if node.controller.is_active]
        if not active:
            return
        others = [each for each in self.cluster.nodes if each != active[0]]
        if others and self.random.random() < 0.7:
            node = self.cluster.nodes[others[0]]
            node.session.resume()
            await self.cluster.store.expire(node.session.session_id)
        else:
            await self.create(active[0])
        for _turn in range(self.random.randint(0, 12)):
            await asyncio.sleep(0)
        self.network.pause(self.hosts[active[0]].name)
        with suppress(NoNode):
            await self.cluster.client.delete(CONTROLLER)
        await asyncio.sleep(self.random.uniform(0, 1))
        self.network.resume(self.hosts[active[0]].name)

    async def lose_connection(self, broker_id: int) -> None:
        session = self.cluster.nodes[broker_id].session
        session.suspend()
        await asyncio.sleep(self.random.uniform(0, 1))
        session.resume()

    async def be_out_of_reach(self, broker_id: int) -> None:
        broker = self.cluster.brokers[broker_id]
        broker.is_reachable = False
        await asyncio.sleep(self.random.uniform(0, 1))
        broker.is_reachable = True

    async def shut_down(self, broker_id: int) -> None:
        await self.ask(lambda: self.cluster.controller.controlled_shutdown(broker_id, -1))
        await self.bounce(broker_id)

    async def create(self, _broker_id: int) -> None:
        self.created += 1
        topic = UNCLEAN_TOPIC if self.created == 3 else f"topic{self.created}"
        config = {"unclean.leader.election.enable": "true"} if topic == UNCLEAN_TOPIC else {}
        await create_path(self.cluster.client, config_path("topics", topic), encode_config(config))
        partitions = {index: self.replicas() for index in range(self.random.randint(1, 4))}
        await self.cluster.client.create(topic_path(topic), TopicAssignment(random_uuid(), partitions).encode())

    async def delete(self, _broker_id: int) -> None:
        topics = await self.cluster.client.children(TOPICS)
        if len(topics) > 3:
            await create_path(self.cluster.client, delete_topic_path(self.random.choice(topics)))

    async def reassign(self, _broker_id: int) -> None:
        partitions = await self.partitions()
        if partitions:
            target = self.random.choice([None, self.replicas()])
            partition = self.random.choice(partitions)
            await self.ask(lambda: self.cluster.controller.alter_partition_reassignments({partition: target}))

    async def elect(self, _broker_id: int) -> None:
        await self.ask(lambda: self.cluster.controller.elect_leaders(None, ElectionType.PREFERRED))

    async def change_isrs(self, broker_id: int) -> None:
        await self.find_in_sync(broker_id, 0.8)

    async def find_in_sync(self, broker_id: int, share: float) -> None:
        """A leader finds its followers in sync, or a share of them."""
        node = self.cluster.nodes.get(broker_id)
        if node is None or node.session.state.is_over:
            return
        for topic, index in await self.partitions():
            assignment = await self.cluster.assignment(topic)
            if assignment is None or assignment.topic_id is None:
                continue
            try:
                state = await self.cluster.state(topic, index)
            except CoordinationError:
                continue
            if state.leader != broker_id:
                continue
            followers = [each for each in assignment.partitions[index] if each != broker_id]
            isr = [broker_id, *(each for each in followers if self.random.random() < share)]
            data = RequestPartitionData(
                partition_index=index,
                leader_epoch=state.leader_epoch,
                new_isr_with_epochs=[BrokerState(broker_id=each) for each in isr],
                partition_epoch=state.partition_epoch,
            )
            request = AlterPartitionRequest(
                broker_id=broker_id,
                broker_epoch=node.broker.broker_epoch,
                topics=[RequestTopicData(topic_id=assignment.topic_id, partitions=[data])],
            )
            await self.ask(lambda request=request: self.cluster.controller.alter_partition(request, 3))  # type: ignore[misc]

    # -- means

    async def ask(self, question: Callable[[], Awaitable[object]]) -> None:
        """Whoever asks while there is no controller is refused, and that is all."""
        try:
            async with asyncio.timeout(5):
                await question()
        except (ApiError, ValueError, TimeoutError):
            return

    def replicas(self) -> tuple[int, ...]:
        return tuple(self.random.sample(BROKERS, self.random.randint(1, 3)))

    async def partitions(self) -> list[tuple[str, int]]:
        found = []
        for topic in await self.cluster.client.children(TOPICS):
            assignment = await self.cluster.assignment(topic)
            found += [(topic, index) for index in (assignment.partitions if assignment else ())]
        return found

    async def step(self) -> None:
        broker_id = self.random.choice(BROKERS)
        if broker_id not in self.cluster.nodes or self.cluster.nodes[broker_id].session.state.is_over:
            if broker_id in self.cluster.nodes:
                await self.kill(broker_id)
            await self.start(broker_id)
        happen = self.random.choice(
            [
                self.kill,
                self.bounce,
                self.become_a_zombie,
                self.be_deposed,
                self.be_deposed,
                self.lose_connection,
                self.be_out_of_reach,
                self.shut_down,
                self.create,
                self.create,
                self.delete,
                self.reassign,
                self.elect,
                self.change_isrs,
                self.change_isrs,
            ]
        )
        await happen(broker_id)
        await asyncio.sleep(self.random.choice([0, 0.001, 0.05, 0.5]))
        self.check()

    def check(self) -> None:
        assert self.checked.violations == []
        for broker_id, node in self.cluster.nodes.items():
            if node.controller.is_active:
                known = self.leaders_of_epochs.setdefault(node.controller.epoch, broker_id)
                assert known == broker_id, f"two controllers with epoch {node.controller.epoch}"

    # -- the end

    async def calm(self) -> None:
        """Everybody is there and nothing happens; then all must be as it should."""
        cluster = self.cluster
        for broker_id in BROKERS:
            node = cluster.nodes.get(broker_id)
            if node is not None and node.session.state.is_over:
                await self.kill(broker_id)
            if broker_id not in cluster.nodes:
                await self.start(broker_id)
            cluster.nodes[broker_id].session.resume()
            cluster.brokers[broker_id].is_reachable = True
        for _round in range(5):
            await asyncio.sleep(10)
            for broker_id in BROKERS:
                await self.find_in_sync(broker_id, 1.0)
        await asyncio.sleep(10)
        self.check()
        assert cluster.controller.epoch == int((await cluster.client.get(CONTROLLER_EPOCH)).data or b"")
        assert await cluster.client.children(DELETE_TOPICS) == [], "topics are not deleted"
        assert await cluster.controller.list_partition_reassignments(None) == {}
        partitions = await self.partitions()
        for topic, index in partitions:
            await self._check_partition(topic, index)
        for broker in cluster.brokers.values():
            assert broker.live_brokers == sorted(BROKERS)
            assert set(broker.metadata) == set(partitions), "a deleted partition is still known"

    async def _check_partition(self, topic: str, index: int) -> None:
        state, assignment = await self.cluster.state(topic, index), await self.cluster.assignment(topic)
        assert assignment is not None
        assert state.leader in state.isr, f"{topic}-{index} has no leader though all brokers live"
        assert set(state.isr) == set(assignment.partitions[index])
        for broker in self.cluster.brokers.values():
            known = broker.metadata[topic, index]
            assert (known.leader, known.leader_epoch) == (state.leader, state.leader_epoch), (topic, index)
            assert (tuple(known.isr), known.zk_version) == (state.isr, state.partition_epoch), (topic, index)
        for replica in assignment.partitions[index]:
            told = self.cluster.brokers[replica].replicas[topic, index]
            assert (told.leader, told.leader_epoch) == (state.leader, state.leader_epoch), (topic, index, replica)


def run_chaos(seed: int) -> int:
    """The number of controllers there were."""

    async def main(network: SimulatedNetwork) -> int:
        checked = CheckedPersistence()
        store = await EmbeddedStore.open(checked, LoopClock(asyncio.get_running_loop()))
        client = await store.open_session(SESSION_TIMEOUT_MS)
        await create_paths(client)
        cluster = Cluster(store, client, {"auto.leader.rebalance.enable": "true"})
        chaos = Chaos(cluster, checked, network, random.Random(seed))
        for broker_id in BROKERS:
            await chaos.start(broker_id)
        for _step in range(STEPS):
            await chaos.step()
        await chaos.calm()
        for node in cluster.nodes.values():
            await node.end()
        await store.close()
        return cluster_epoch(chaos)

    return simulate(main, seed)


def cluster_epoch(chaos: Chaos) -> int:
    return len(chaos.leaders_of_epochs)


def defects(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Events that failed, and transitions that the tables do not allow."""
    return [record.getMessage() for record in caplog.records if record.levelname in ("ERROR", "CRITICAL")]


@pytest.mark.parametrize("seed", range(3))
def test_controllers_keep_their_promises_in_chaos(seed: int, caplog: pytest.LogCaptureFixture) -> None:
    assert run_chaos(seed) > 1
    assert defects(caplog) == []


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 160))
def test_controllers_keep_their_promises_in_much_chaos(seed: int, caplog: pytest.LogCaptureFixture) -> None:
    run_chaos(seed)
    assert defects(caplog) == []
