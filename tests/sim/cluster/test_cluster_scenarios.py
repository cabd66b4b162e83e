"""Single misfortunes of a simulated cluster, told step by step: what the simulation found once, and must not again."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from random import Random

from moldau.broker.node import Node
from moldau.cluster.persistence import MemoryPersistence
from moldau.replication.replicas import LogPartition
from moldau.testing.simulation import SimulatedNetwork, simulate
from tests.sim.cluster.administration import Administrator
from tests.sim.cluster.simulated_cluster import SimulatedCluster
from tests.sim.cluster.workload import TOPIC

BROKERS = 3
SETTLE_S = 3.0


def tell(story: Callable[[SimulatedCluster], Awaitable[None]]) -> None:
    """Run a story on three brokers that have the topic."""

    async def main(network: SimulatedNetwork) -> None:
        random = Random(1)
        cluster = SimulatedCluster(network, random, MemoryPersistence(), BROKERS)
        await cluster.start()
        await Administrator(BROKERS, random).create_main_topic()
        await asyncio.sleep(SETTLE_S)
        await story(cluster)

    simulate(main, 1)


def node_of(cluster: SimulatedCluster, broker_id: int) -> Node:
    node = cluster.brokers[broker_id].node
    assert node is not None
    return node


def replica_on(cluster: SimulatedCluster, broker_id: int) -> LogPartition:
    return node_of(cluster, broker_id).replicas.partitions[TOPIC, 0]


async def expire(cluster: SimulatedCluster, broker_id: int) -> None:
    for session in cluster.sessions_of(cluster.brokers[broker_id]):
        await cluster.store.expire(session.session_id)


def others_than(cluster: SimulatedCluster, *broker_ids: int) -> list[int]:
    return [broker_id for broker_id in cluster.brokers if broker_id not in broker_ids]


def controller_of(cluster: SimulatedCluster) -> int:
    return next(broker_id for broker_id in cluster.brokers if node_of(cluster, broker_id).controller.is_active)


def test_a_broker_that_cannot_reach_the_store_for_a_moment_obeys_its_controller() -> None:
    async def story(cluster: SimulatedCluster) -> None:
        cut_off, dying = others_than(cluster, controller_of(cluster))
        epoch = replica_on(cluster, cut_off).leader_epoch
        cluster.brokers[cut_off].cut_from_store()
        await expire(cluster, dying)
        await asyncio.sleep(1)
        assert replica_on(cluster, cut_off).leader_epoch > epoch

    tell(story)


def test_a_directory_that_fails_while_the_store_is_away_loses_its_leaders_when_it_is_back() -> None:
    async def story(cluster: SimulatedCluster) -> None:
        leader = replica_on(cluster, 0).leader
        broker, log = cluster.brokers[leader], replica_on(cluster, leader).log
        assert log is not None
        broker.cut_from_store()

        node_of(cluster, leader).directories.failed(log, OSError("broken"))
        await asyncio.sleep(1)
        broker.reach_store()
        await asyncio.sleep(SETTLE_S)
        assert replica_on(cluster, leader).log is None
        for broker_id in others_than(cluster, leader):
            assert replica_on(cluster, broker_id).leader in others_than(cluster, leader)

    tell(story)
