"""Who is the controller: claims, races, resignations, and zombies."""

from __future__ import annotations

import asyncio

import pytest

from moldau.base.config.topic_config import TopicConfig
from moldau.cluster.store import SetData
from moldau.cluster.znodes.layout import CONTROLLER, CONTROLLER_EPOCH, LOG_DIR_EVENTS, topic_path
from moldau.controller.election import Claim, give_up
from moldau.controller.fencing import ControllerMoved, FencedStore
from tests.unit.controller.controlled_cluster import Cluster, run_cluster


def test_the_first_broker_becomes_controller_with_epoch_one() -> None:
    async def scenario(cluster: Cluster) -> None:
        await cluster.start(1, 2)
        first, second = cluster.nodes[1].controller, cluster.nodes[2].controller
        assert (first.is_active, first.epoch, second.is_active, second.epoch) == (True, 1, False, 0)
        assert first.controller_id == second.controller_id == 1
        assert (await cluster.client.get(CONTROLLER_EPOCH)).data == b"1"
        content = await cluster.json(CONTROLLER)
        assert isinstance(content, dict)
        assert (content["version"], content["brokerid"], content["kraftControllerEpoch"]) == (2, 1, -1)
        assert cluster.brokers[1].live_brokers == cluster.brokers[2].live_brokers == [1, 2]

    run_cluster(scenario)


@pytest.mark.parametrize("seed", range(8))
def test_of_two_that_race_one_wins(seed: int) -> None:
    async def scenario(cluster: Cluster) -> None:
        await asyncio.gather(*(cluster.start_broker(broker_id) for broker_id in (1, 2, 3)))
        await cluster.settle()
        active = [node.controller for node in cluster.nodes.values() if node.controller.is_active]
        assert [controller.epoch for controller in active] == [1]
        assert (await cluster.client.get(CONTROLLER_EPOCH)).stat.version == 1

    run_cluster(scenario, seed)


def test_when_the_controller_dies_another_takes_over_with_the_next_epoch() -> None:
    async def scenario(cluster: Cluster) -> None:
        await cluster.start(1, 2, 3)
        await cluster.create_topic("orders", [1, 2, 3])
        await cluster.kill(1)
        assert cluster.controller.epoch == 2
        state = await cluster.state("orders")
        assert (state.leader, state.isr, state.leader_epoch, state.controller_epoch) == (2, (2, 3), 2, 2)
        assert {broker.controller_epoch for broker in (cluster.brokers[2], cluster.brokers[3])} == {2}

    run_cluster(scenario)


def test_a_controller_that_stops_lets_another_be_elected_at_once() -> None:
    async def scenario(cluster: Cluster) -> None:
        await cluster.start(1, 2)
        await cluster.nodes[1].controller.stop()
        await cluster.settle()
        assert cluster.controller.controller_id == 2

    run_cluster(scenario)


def test_deleting_the_controller_znode_by_hand_makes_a_new_epoch() -> None:
    async def scenario(cluster: Cluster) -> None:
        await cluster.start(1, 2)
        await cluster.client.delete(CONTROLLER)
        await cluster.settle()
        assert cluster.controller.epoch == 2

    run_cluster(scenario)


def test_a_zombie_writes_nothing_and_resigns() -> None:
    async def scenario(cluster: Cluster) -> None:
        await cluster.start(1, 2)
        await cluster.create_topic("orders", [1, 2])
        zombie = FencedStore(cluster.nodes[1].session, Claim(1, 1))
        await cluster.client.delete(CONTROLLER)
        await cluster.settle()
        before = await cluster.client.get(topic_path("orders"))
        with pytest.raises(ControllerMoved):
            await zombie.write([SetData(topic_path("orders"), b"stolen")])
        with pytest.raises(ControllerMoved):
            await zombie.write_each([[SetData(topic_path("orders"), b"stolen")]] * 3)
        assert await cluster.client.get(topic_path("orders")) == before

    run_cluster(scenario)


def test_a_fenced_event_makes_the_controller_resign_without_having_heard_of_its_successor() -> None:
    async def scenario(cluster: Cluster) -> None:
        await cluster.start(1, 2)
        # The epoch moves on though /controller does not change: all that is left to the controller is the fence.
        await cluster.client.set(CONTROLLER_EPOCH, b"7")
        await cluster.create_topic("orders", [1, 2])
        assert cluster.controller.epoch == 8
        assert (await cluster.state("orders")).controller_epoch == 8

    run_cluster(scenario)


def test_after_a_broken_connection_the_same_broker_takes_the_next_epoch() -> None:
    async def scenario(cluster: Cluster) -> None:
        await cluster.start(1)
        session = cluster.nodes[1].session
        await cluster.create_topic("orders", [1], settle=False)
        await asyncio.sleep(0)
        session.suspend()
        await cluster.settle()
        session.resume()
        await cluster.settle()
        await cluster.create_topic("later", [1])
        assert cluster.controller.is_active
        assert sorted(cluster.brokers[1].leads()) == [("later", 0), ("orders", 0)]

    run_cluster(scenario)


def test_an_expired_session_ends_the_term() -> None:
    async def scenario(cluster: Cluster) -> None:
        await cluster.start(1, 2)
        await cluster.store.expire(cluster.nodes[1].session.session_id)
        await cluster.settle()
        assert not cluster.nodes[1].controller.is_active
        assert cluster.nodes[2].controller.is_active

    run_cluster(scenario)


def test_a_takeover_that_fails_is_tried_again_with_a_new_epoch() -> None:
    async def scenario(cluster: Cluster) -> None:
        await cluster.client.delete(LOG_DIR_EVENTS)
        await cluster.start(1)
        assert not cluster.nodes[1].controller.is_active
        assert await cluster.client.exists(CONTROLLER) is None
        await cluster.client.create(LOG_DIR_EVENTS)
        await asyncio.sleep(2)
        assert cluster.controller.epoch > 1
        await cluster.create_topic("orders", [1])
        assert cluster.brokers[1].leads() == [("orders", 0)]

    run_cluster(scenario)


def test_an_event_that_fails_is_logged_and_the_next_one_is_carried_out(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario(cluster: Cluster) -> None:
        async def broken(_topic: str) -> TopicConfig:
            raise ZeroDivisionError

        monkeypatch.setattr(cluster, "topic_config", broken)
        await cluster.start(1, 2)
        await cluster.create_topic("orders", [2])
        await cluster.kill(2)
        assert cluster.controller.epoch == 1
        await cluster.create_topic("later", [1])
        assert cluster.brokers[1].leads() == [("later", 0)]

    run_cluster(scenario)
    assert "event '/brokers/ids' failed" in caplog.text


def test_stopping_without_a_connection_leaves_the_znode_to_the_end_of_the_session() -> None:
    async def scenario(cluster: Cluster) -> None:
        await cluster.start(1, 2)
        node = cluster.nodes[1]
        node.session.suspend()
        await node.controller.stop()
        assert not node.controller.is_active
        await cluster.store.expire(node.session.session_id)
        await cluster.settle()
        assert cluster.controller.controller_id == 2

    run_cluster(scenario)


def test_giving_up_does_not_touch_a_successor() -> None:
    async def scenario(cluster: Cluster) -> None:
        await cluster.start(1, 2)
        await cluster.client.delete(CONTROLLER)
        await cluster.settle()
        epoch = cluster.controller.epoch
        await give_up(cluster.nodes[1].session, 1)
        await cluster.settle()
        assert cluster.controller.epoch == epoch == 2

    run_cluster(scenario)
