"""Topics come, grow and go."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from moldau.base.ids import random_uuid
from moldau.cluster.errors import NoNode
from moldau.cluster.znodes.layout import (
    DELETE_TOPICS,
    config_path,
    partition_path,
    partition_state_path,
    partitions_path,
    topic_path,
)
from moldau.cluster.znodes.topics import TopicAssignment
from moldau.protocol.messages.leader_and_isr import LeaderAndIsrRequest
from moldau.protocol.messages.stop_replica import StopReplicaRequest
from moldau.protocol.messages.update_metadata import UpdateMetadataRequest
from tests.unit.controller.controlled_cluster import Cluster, run_cluster


def test_a_new_topic_gets_states_leaders_and_everybody_hears_of_it() -> None:
    async def scenario(cluster: Cluster) -> None:
        await cluster.start(1, 2, 3)
        await cluster.create_topic("orders", [1, 2], [2, 3], [3, 1])
        for index, leader in enumerate((1, 2, 3)):
            state = await cluster.state("orders", index)
            assert (state.leader, state.leader_epoch, state.partition_epoch) == (leader, 0, 0)
            assert cluster.brokers[leader].leads() == [("orders", index)]
        assert await cluster.json(partition_state_path("orders", 0)) == {
            "version": 1, "controller_epoch": 1, "leader": 1, "leader_epoch": 0, "isr": [1, 2],
        }  # fmt: skip
        for path in (partitions_path("orders"), partition_path("orders", 0)):
            assert (await cluster.client.get(path)).data is None
        for broker in cluster.brokers.values():
            assert sorted(broker.metadata) == [("orders", 0), ("orders", 1), ("orders", 2)]

    run_cluster(scenario)


def test_many_topics_at_once_are_one_request_to_each_broker() -> None:
    async def scenario(cluster: Cluster) -> None:
        await cluster.start(1, 2)
        for broker in cluster.brokers.values():
            broker.requests.clear()
        await asyncio.gather(*(cluster.create_topic(f"topic{n}", [1, 2], settle=False) for n in range(200)))
        await cluster.settle()
        for broker in cluster.brokers.values():
            assert len(broker.replicas) == 200
            assert len(broker.heard(LeaderAndIsrRequest)) <= 3
            assert len(broker.heard(UpdateMetadataRequest)) <= 3

    run_cluster(scenario)


def test_only_replicas_that_live_are_in_sync_at_first_and_without_any_the_partition_waits() -> None:
    async def scenario(cluster: Cluster) -> None:
        await cluster.start(1, 2)
        await cluster.create_topic("orders", [3, 2, 1], [3])
        state = await cluster.state("orders")
        assert (state.leader, state.isr) == (2, (2, 1))
        with pytest.raises(NoNode):
            await cluster.state("orders", 1)
        await cluster.start(3)
        assert (await cluster.state("orders", 1)).leader == 3
        assert cluster.brokers[3].replicas["orders", 0].leader == 2

    run_cluster(scenario)


def test_added_partitions_get_leaders_and_the_old_ones_are_left_alone() -> None:
    async def scenario(cluster: Cluster) -> None:
        await cluster.start(1, 2)
        await cluster.create_topic("orders", [1, 2])
        assignment = await cluster.assignment("orders")
        assert assignment is not None
        grown = replace(assignment, partitions={0: (1, 2), 1: (2, 1), 2: (1, 2)})
        await cluster.client.set(topic_path("orders"), grown.encode())
        await cluster.settle()
        assert [(await cluster.state("orders", index)).leader for index in range(3)] == [1, 2, 1]
        assert (await cluster.state("orders", 0)).leader_epoch == 0
        (first, second) = cluster.brokers[1].heard(LeaderAndIsrRequest)
        assert [state.partition_index for state in first.topic_states[0].partition_states] == [0]
        assert [state.partition_index for state in second.topic_states[0].partition_states] == [1, 2]

    run_cluster(scenario)


def test_a_topic_without_an_id_gets_one() -> None:
    async def scenario(cluster: Cluster) -> None:
        await cluster.start(1)
        await cluster.client.create(topic_path("old"), b'{"version":1,"partitions":{"0":[1]}}')
        await cluster.settle()
        assignment = await cluster.assignment("old")
        assert assignment is not None
        assert assignment.topic_id is not None
        (request,) = cluster.brokers[1].heard(LeaderAndIsrRequest)
        assert request.topic_states[0].topic_id == assignment.topic_id

    run_cluster(scenario)


def test_a_topic_that_makes_no_sense_does_not_stop_the_others() -> None:
    async def scenario(cluster: Cluster) -> None:
        await cluster.start(1)
        await cluster.client.create(topic_path("broken"), b"{}")
        await cluster.create_topic("orders", [1])
        assert cluster.brokers[1].leads() == [("orders", 0)]
        await cluster.kill(1)
        await cluster.start(1)
        assert cluster.brokers[1].leads() == [("orders", 0)]

    run_cluster(scenario)


def test_what_a_controller_left_half_done_is_completed() -> None:
    async def scenario(cluster: Cluster) -> None:
        await cluster.create_topic("orders", [1], [1])
        await cluster.client.create(partitions_path("orders"))
        await cluster.client.create(partition_path("orders", 1))
        await cluster.start(1)
        assert cluster.brokers[1].leads() == [("orders", 0), ("orders", 1)]

    run_cluster(scenario)


# -- deletion


async def assert_gone(cluster: Cluster, topic: str) -> None:
    assert await cluster.assignment(topic) is None
    assert await cluster.client.exists(config_path("topics", topic)) is None
    assert await cluster.client.children(DELETE_TOPICS) == []


def test_a_deleted_topic_is_gone_everywhere() -> None:
    async def scenario(cluster: Cluster) -> None:
        await cluster.start(1, 2)
        await cluster.create_topic("orders", [1, 2], [2, 1])
        await cluster.create_topic("other", [1, 2])
        await cluster.delete_topic("orders")
        await assert_gone(cluster, "orders")
        for broker in cluster.brokers.values():
            assert sorted(broker.deleted) == [("orders", 0), ("orders", 1)]
            assert list(broker.metadata) == [("other", 0)]
            stop, delete = broker.heard(StopReplicaRequest)
            for request, is_delete in ((stop, False), (delete, True)):
                for state in request.topic_states[0].partition_states:
                    assert (state.leader_epoch, state.delete_partition) == (-2, is_delete)

    run_cluster(scenario)


def test_a_topic_can_be_created_again_at_once_with_another_id() -> None:
    async def scenario(cluster: Cluster) -> None:
        await cluster.start(1)
        await cluster.create_topic("orders", [1])
        await cluster.delete_topic("orders")
        topic_id = random_uuid()
        await cluster.create_topic("orders", [1], topic_id=topic_id)
        assert cluster.brokers[1].leads() == [("orders", 0)]
        assert (await cluster.state("orders")).leader_epoch == 0
        assert cluster.brokers[1].heard(LeaderAndIsrRequest)[-1].topic_states[0].topic_id == topic_id

    run_cluster(scenario)


def test_a_topic_stays_while_a_broker_with_a_replica_is_down_and_goes_when_it_is_back() -> None:
    async def scenario(cluster: Cluster) -> None:
        await cluster.start(1, 2)
        await cluster.create_topic("orders", [1, 2])
        await cluster.kill(2)
        await cluster.delete_topic("orders")
        assert cluster.brokers[1].deleted == [("orders", 0)]
        assert await cluster.assignment("orders") is not None
        assert await cluster.client.children(DELETE_TOPICS) == ["orders"]
        await cluster.start(2)
        assert cluster.brokers[2].deleted == [("orders", 0)]
        assert cluster.brokers[1].deleted == [("orders", 0)]
        await assert_gone(cluster, "orders")

    run_cluster(scenario)


def test_a_broker_that_dies_while_it_deletes_finishes_when_it_is_back_even_with_another_controller() -> None:
    async def scenario(cluster: Cluster) -> None:
        await cluster.start(1, 2, 3)
        await cluster.create_topic("orders", [2, 3])
        cluster.brokers[2].is_reachable = False
        await cluster.delete_topic("orders")
        assert cluster.brokers[3].deleted == [("orders", 0)]
        await cluster.kill(2)
        await cluster.kill(1)
        assert await cluster.assignment("orders") is not None
        cluster.brokers[2].is_reachable = True
        await cluster.start(2)
        assert ("orders", 0) in cluster.brokers[2].deleted
        await assert_gone(cluster, "orders")

    run_cluster(scenario)


def test_a_deletion_that_fails_is_tried_again_when_the_broker_is_back() -> None:
    async def scenario(cluster: Cluster) -> None:
        await cluster.start(1, 2)
        await cluster.create_topic("orders", [1, 2])
        cluster.brokers[2].cannot_delete.add(("orders", 0))
        await cluster.delete_topic("orders")
        assert await cluster.client.children(DELETE_TOPICS) == ["orders"]
        cluster.brokers[2].cannot_delete.clear()
        await cluster.kill(2)
        await cluster.start(2)
        await assert_gone(cluster, "orders")

    run_cluster(scenario)


def test_a_broker_that_has_deleted_its_replica_is_not_waited_for() -> None:
    async def scenario(cluster: Cluster) -> None:
        await cluster.start(1, 2, 3, 4)
        await cluster.create_topic("orders", [2, 3, 4])
        await cluster.kill(4)
        cluster.brokers[3].is_reachable = False
        await cluster.delete_topic("orders")
        assert cluster.brokers[2].deleted == [("orders", 0)]
        await cluster.start(4)
        assert await cluster.assignment("orders") is not None
        await cluster.kill(2)
        cluster.brokers[3].is_reachable = True
        await cluster.settle()
        await assert_gone(cluster, "orders")

    run_cluster(scenario)


def test_a_topic_that_is_being_deleted_gets_no_partitions() -> None:
    async def scenario(cluster: Cluster) -> None:
        await cluster.start(1, 2)
        await cluster.create_topic("orders", [1, 2])
        await cluster.kill(2)
        await cluster.delete_topic("orders")
        assignment = await cluster.assignment("orders")
        assert assignment is not None
        await cluster.client.set(topic_path("orders"), replace(assignment, partitions={0: (1, 2), 1: (1,)}).encode())
        await cluster.settle()
        assert await cluster.assignment("orders") == assignment
        await cluster.start(2)
        await assert_gone(cluster, "orders")

    run_cluster(scenario)


def test_with_deletion_disabled_the_request_is_removed_and_the_topic_stays() -> None:
    async def scenario(cluster: Cluster) -> None:
        await cluster.start(1)
        await cluster.create_topic("orders", [1])
        await cluster.delete_topic("orders")
        assert await cluster.client.children(DELETE_TOPICS) == []
        assert cluster.brokers[1].leads() == [("orders", 0)]
        await cluster.kill(1)
        await cluster.delete_topic("orders")
        await cluster.start(1)
        assert await cluster.client.children(DELETE_TOPICS) == []
        assert await cluster.assignment("orders") is not None

    run_cluster(scenario, delete_topic_enable="false")


def test_the_deletion_of_an_unknown_topic_is_forgotten() -> None:
    async def scenario(cluster: Cluster) -> None:
        await cluster.start(1)
        await cluster.delete_topic("nothing")
        assert await cluster.client.children(DELETE_TOPICS) == []

    run_cluster(scenario)


def test_very_many_partitions_are_deleted_in_turns() -> None:
    async def scenario(cluster: Cluster) -> None:
        await cluster.start(1)
        await cluster.create_topic("wide", *([1] for _ in range(700)))
        assert len(cluster.brokers[1].leads()) == 700
        await cluster.delete_topic("wide")
        await assert_gone(cluster, "wide")

    run_cluster(scenario)


def test_a_topic_that_somebody_takes_out_of_the_store_is_forgotten() -> None:
    async def scenario(cluster: Cluster) -> None:
        await cluster.start(1)
        await cluster.client.create(topic_path("empty"), TopicAssignment(random_uuid(), {}).encode())
        await cluster.settle()
        await cluster.client.delete(topic_path("empty"))
        await cluster.create_topic("empty", [1])
        assert cluster.brokers[1].leads() == [("empty", 0)]

    run_cluster(scenario)
