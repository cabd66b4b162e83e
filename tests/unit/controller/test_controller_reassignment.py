"""Partitions move, and moves are cancelled, replaced and resumed."""

from __future__ import annotations

import pytest

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError
from moldau.cluster.znodes.layout import DELETE_TOPICS, REASSIGN_PARTITIONS
from moldau.cluster.znodes.partition_lists import encode_reassignment
from moldau.controller.assignment import ReplicaAssignment
from moldau.protocol.messages.alter_partition import (
    AlterPartitionRequest,
    BrokerState,
    RequestPartitionData,
    RequestTopicData,
)
from moldau.protocol.messages.leader_and_isr import LeaderAndIsrRequest
from tests.unit.controller.controlled_cluster import Cluster, run_cluster

ORDERS = ("orders", 0)


async def grow_isr(cluster: Cluster, *isr: int) -> None:
    """The leader finds replicas in sync."""
    state, assignment = await cluster.state("orders"), await cluster.assignment("orders")
    assert assignment is not None
    assert assignment.topic_id is not None
    data = RequestPartitionData(
        partition_index=0,
        leader_epoch=state.leader_epoch,
        new_isr_with_epochs=[BrokerState(broker_id=replica) for replica in isr],
        partition_epoch=state.partition_epoch,
    )
    request = AlterPartitionRequest(
        broker_id=state.leader,
        broker_epoch=cluster.brokers[state.leader].broker_epoch,
        topics=[RequestTopicData(topic_id=assignment.topic_id, partitions=[data])],
    )
    response = await cluster.controller.alter_partition(request, 3)
    assert [each.error_code for topic in response.topics for each in topic.partitions] == [0]
    await cluster.settle()


async def move(cluster: Cluster, *target: int) -> ApiError | None:
    outcomes = await cluster.controller.alter_partition_reassignments({ORDERS: target})
    await cluster.settle()
    return outcomes[ORDERS]


async def assignment_of(cluster: Cluster) -> ReplicaAssignment:
    found = await cluster.assignment("orders")
    assert found is not None
    return ReplicaAssignment(found.partitions[0], found.adding_replicas.get(0, ()), found.removing_replicas.get(0, ()))


def test_a_partition_moves_when_all_its_new_replicas_are_in_sync() -> None:
    async def scenario(cluster: Cluster) -> None:
        await cluster.start(0, 1, 2)
        await cluster.create_topic("orders", [2])
        assert await move(cluster, 0, 1) is None
        assert await assignment_of(cluster) == ReplicaAssignment((0, 1, 2), (0, 1), (2,))
        listed = await cluster.controller.list_partition_reassignments(None)
        assert listed == {ORDERS: ReplicaAssignment((0, 1, 2), (0, 1), (2,))}
        assert (await cluster.state("orders")).leader_epoch == 1
        told = cluster.brokers[0].replicas[ORDERS]
        assert (told.leader, told.adding_replicas, told.removing_replicas, told.is_new) == (2, [0, 1], [2], True)
        await grow_isr(cluster, 2, 0)
        assert (await cluster.state("orders")).leader == 2
        await grow_isr(cluster, 2, 0, 1)
        state = await cluster.state("orders")
        assert (state.leader, state.isr) == (0, (0, 1))
        assert await assignment_of(cluster) == ReplicaAssignment((0, 1))
        assert cluster.brokers[2].deleted == [ORDERS]
        assert cluster.brokers[2].metadata[ORDERS].replicas == [0, 1]
        assert cluster.brokers[1].replicas[ORDERS].leader == 0
        assert await cluster.controller.list_partition_reassignments([ORDERS]) == {}

    run_cluster(scenario)


def test_a_leader_that_stays_keeps_leading_under_a_new_epoch() -> None:
    async def scenario(cluster: Cluster) -> None:
        await cluster.start(1, 2, 3)
        await cluster.create_topic("orders", [1, 2])
        assert await move(cluster, 1, 3) is None
        await grow_isr(cluster, 1, 2, 3)
        state = await cluster.state("orders")
        assert (state.leader, state.isr) == (1, (1, 3))
        assert cluster.brokers[1].replicas[ORDERS].leader_epoch == state.leader_epoch
        assert cluster.brokers[1].replicas[ORDERS].replicas == [1, 3]
        assert cluster.brokers[2].deleted == [ORDERS]

    run_cluster(scenario)


def test_cancelling_goes_back_and_deletes_what_was_added() -> None:
    async def scenario(cluster: Cluster) -> None:
        await cluster.start(1, 2, 3)
        await cluster.create_topic("orders", [1, 2])
        await move(cluster, 3, 1)
        await grow_isr(cluster, 1, 2)
        outcomes = await cluster.controller.alter_partition_reassignments({ORDERS: None})
        assert outcomes == {ORDERS: None}
        await cluster.settle()
        assert await assignment_of(cluster) == ReplicaAssignment((1, 2))
        assert cluster.brokers[3].deleted == [ORDERS]
        assert cluster.brokers[2].deleted == []
        state = await cluster.state("orders")
        assert (state.leader, state.isr) == (1, (1, 2))
        again = await cluster.controller.alter_partition_reassignments({ORDERS: None})
        error = again[ORDERS]
        assert error is not None
        assert error.code is ErrorCode.NO_REASSIGNMENT_IN_PROGRESS

    run_cluster(scenario)


def test_what_alone_is_in_sync_is_not_given_up() -> None:
    async def scenario(cluster: Cluster) -> None:
        await cluster.start(1, 2, 3)
        await cluster.create_topic("orders", [2])
        await move(cluster, 1, 3)
        await grow_isr(cluster, 2, 1)
        await cluster.kill(2)
        await cluster.start(2)
        state = await cluster.state("orders")
        assert (state.leader, state.isr) == (1, (1,))
        outcomes = await cluster.controller.alter_partition_reassignments({ORDERS: None})
        error = outcomes[ORDERS]
        assert error is not None
        assert error.code is ErrorCode.INVALID_REPLICA_ASSIGNMENT
        assert (await cluster.state("orders")).leader == 1
        await grow_isr(cluster, 1, 2)
        outcomes = await cluster.controller.alter_partition_reassignments({ORDERS: None})
        assert outcomes == {ORDERS: None}
        await cluster.settle()
        state = await cluster.state("orders")
        assert (state.leader, state.isr) == (2, (2,))
        assert await assignment_of(cluster) == ReplicaAssignment((2,))

    run_cluster(scenario)


def test_a_new_target_replaces_the_old_one() -> None:
    async def scenario(cluster: Cluster) -> None:
        await cluster.start(1, 2, 3, 4)
        await cluster.create_topic("orders", [1, 2])
        await move(cluster, 3, 1)
        await move(cluster, 4, 1)
        assert await assignment_of(cluster) == ReplicaAssignment((4, 1, 2), (4,), (2,))
        assert cluster.brokers[3].deleted == [ORDERS]
        await grow_isr(cluster, 1, 2, 4)
        assert await assignment_of(cluster) == ReplicaAssignment((4, 1))
        assert cluster.brokers[2].deleted == [ORDERS]

    run_cluster(scenario)


def test_the_replication_factor_can_be_raised_and_lowered() -> None:
    async def scenario(cluster: Cluster) -> None:
        await cluster.start(1, 2, 3)
        await cluster.create_topic("orders", [1])
        await move(cluster, 1, 2, 3)
        await grow_isr(cluster, 1, 2, 3)
        assert await assignment_of(cluster) == ReplicaAssignment((1, 2, 3))
        await move(cluster, 2)
        state = await cluster.state("orders")
        assert (state.leader, state.isr) == (2, (2,))
        assert await assignment_of(cluster) == ReplicaAssignment((2,))
        refused = await cluster.controller.alter_partition_reassignments(
            {ORDERS: (1, 2)}, allow_replication_factor_change=False
        )
        error = refused[ORDERS]
        assert error is not None
        assert error.code is ErrorCode.INVALID_REPLICATION_FACTOR

    run_cluster(scenario)


def test_a_new_controller_goes_on_with_a_move() -> None:
    async def scenario(cluster: Cluster) -> None:
        await cluster.start(1, 2, 3, 4)
        await cluster.create_topic("orders", [2, 3])
        await move(cluster, 4, 2)
        await cluster.kill(1)
        assert await cluster.controller.list_partition_reassignments(None) == {
            ORDERS: ReplicaAssignment((4, 2, 3), (4,), (3,))
        }
        await grow_isr(cluster, 2, 3, 4)
        assert await assignment_of(cluster) == ReplicaAssignment((4, 2))
        assert cluster.brokers[3].deleted == [ORDERS]

    run_cluster(scenario)


@pytest.mark.parametrize(
    ("target", "code"),
    [
        ((), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ((1, 1), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ((-1, 1), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ((1, 9), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
    ],
)
def test_a_target_that_cannot_be_is_refused(target: tuple[int, ...], code: ErrorCode) -> None:
    async def scenario(cluster: Cluster) -> None:
        await cluster.start(1, 2)
        await cluster.create_topic("orders", [1])
        error = await move(cluster, *target)
        assert error is not None
        assert error.code is code
        assert await assignment_of(cluster) == ReplicaAssignment((1,))

    run_cluster(scenario)


def test_unknown_partitions_and_topics_being_deleted_do_not_move() -> None:
    async def scenario(cluster: Cluster) -> None:
        await cluster.start(1, 2)
        await cluster.create_topic("orders", [1, 2])
        outcomes = await cluster.controller.alter_partition_reassignments({("nothing", 0): (1,)})
        error = outcomes["nothing", 0]
        assert error is not None
        assert error.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        await cluster.kill(2)
        await cluster.delete_topic("orders")
        error = await move(cluster, 1)
        assert error is not None
        assert error.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

    run_cluster(scenario)


def test_a_topic_that_moves_is_deleted_when_it_has_arrived() -> None:
    async def scenario(cluster: Cluster) -> None:
        await cluster.start(1, 2, 3)
        await cluster.create_topic("orders", [1])
        await move(cluster, 2)
        await cluster.delete_topic("orders")
        assert await cluster.client.children(DELETE_TOPICS) == ["orders"]
        assert await cluster.assignment("orders") is not None
        await grow_isr(cluster, 1, 2)
        await cluster.settle()
        assert await cluster.assignment("orders") is None
        assert cluster.brokers[1].deleted == cluster.brokers[2].deleted == [ORDERS]

    run_cluster(scenario)


def test_the_znode_of_old_tools_is_obeyed_and_shrinks() -> None:
    async def scenario(cluster: Cluster) -> None:
        await cluster.start(1, 2, 3)
        await cluster.create_topic("orders", [1])
        await cluster.create_topic("other", [1])
        await cluster.create_topic("third", [1])
        asked = {ORDERS: (2,), ("other", 0): (1,), ("nothing", 0): (1,), ("third", 0): ()}
        await cluster.client.create(REASSIGN_PARTITIONS, encode_reassignment(asked))
        await cluster.settle()
        assert await cluster.json(REASSIGN_PARTITIONS) == {
            "version": 1,
            "partitions": [{"topic": "orders", "partition": 0, "replicas": [2]}],
        }
        assert len(cluster.brokers[2].heard(LeaderAndIsrRequest)) <= 2
        await grow_isr(cluster, 1, 2)
        assert await cluster.client.exists(REASSIGN_PARTITIONS) is None
        assert await assignment_of(cluster) == ReplicaAssignment((2,))
        await cluster.client.create(REASSIGN_PARTITIONS, encode_reassignment({ORDERS: (3,)}))
        await cluster.settle()
        assert await assignment_of(cluster) == ReplicaAssignment((3, 2), (3,), (2,))

    run_cluster(scenario)


def test_a_znode_written_while_there_was_no_controller_is_obeyed() -> None:
    async def scenario(cluster: Cluster) -> None:
        await cluster.start(1, 2)
        await cluster.create_topic("orders", [2])
        await cluster.kill(1, 2)
        await cluster.client.create(REASSIGN_PARTITIONS, encode_reassignment({ORDERS: (1,)}))
        await cluster.start(2, 1)
        assert await assignment_of(cluster) == ReplicaAssignment((1, 2), (1,), (2,))
        await grow_isr(cluster, 2, 1)
        assert await assignment_of(cluster) == ReplicaAssignment((1,))
        assert await cluster.client.exists(REASSIGN_PARTITIONS) is None

    run_cluster(scenario)


def test_a_znode_that_makes_no_sense_is_deleted() -> None:
    async def scenario(cluster: Cluster) -> None:
        await cluster.start(1)
        await cluster.client.create(REASSIGN_PARTITIONS, b"nonsense")
        await cluster.settle()
        assert await cluster.client.exists(REASSIGN_PARTITIONS) is None

    run_cluster(scenario)


def test_a_topic_to_be_deleted_that_moves_and_has_lost_its_leader_arrives_and_is_deleted() -> None:
    async def scenario(cluster: Cluster) -> None:
        await cluster.start(1, 2, 3)
        await cluster.create_topic("orders", [3])
        await move(cluster, 2)
        await cluster.kill(3)
        await cluster.delete_topic("orders")
        assert (await cluster.state("orders")).leader == -1
        await cluster.start(3)
        assert (await cluster.state("orders")).leader == 3
        await grow_isr(cluster, 3, 2)
        await cluster.settle()
        assert await cluster.assignment("orders") is None
        assert await cluster.client.children(DELETE_TOPICS) == []

    run_cluster(scenario)
