"""AlterPartition with all that can be wrong about it, and the notifications of old leaders."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError
from moldau.cluster.store import CreateMode
from moldau.cluster.znodes.layout import ISR_CHANGE_PREFIX, ISR_CHANGES
from moldau.cluster.znodes.partition_lists import encode_partitions
from moldau.protocol.messages.alter_partition import (
    AlterPartitionRequest,
    BrokerState,
    RequestPartitionData,
    RequestTopicData,
    ResponsePartitionData,
)
from tests.unit.controller.controlled_cluster import Cluster, run_cluster

ORDERS = ("orders", 0)


async def topic_id(cluster: Cluster) -> bytes:
    assignment = await cluster.assignment("orders")
    assert assignment is not None
    assert assignment.topic_id is not None
    return assignment.topic_id


async def ask(
    cluster: Cluster,
    *isr: int,
    version: int = 3,
    leader: int = 1,
    leader_epoch: int | None = None,
    partition_epoch: int | None = None,
    recovery_state: int = 0,
    epochs: Callable[[int], int] = lambda _broker_id: -1,
) -> ResponsePartitionData:
    """What the leader's request with this ISR is answered."""
    state = await cluster.state("orders")
    data = RequestPartitionData(
        partition_index=0,
        leader_epoch=state.leader_epoch if leader_epoch is None else leader_epoch,
        new_isr=list(isr),
        new_isr_with_epochs=[BrokerState(broker_id=each, broker_epoch=epochs(each)) for each in isr],
        leader_recovery_state=recovery_state,
        partition_epoch=state.partition_epoch if partition_epoch is None else partition_epoch,
    )
    topic = RequestTopicData(topic_name="orders", topic_id=await topic_id(cluster), partitions=[data])
    request = AlterPartitionRequest(broker_id=leader, broker_epoch=cluster.brokers[leader].broker_epoch, topics=[topic])
    response = await cluster.controller.alter_partition(request, version)
    (answered,) = response.topics
    assert (answered.topic_name, answered.topic_id) == (topic.topic_name, topic.topic_id)
    await cluster.settle()
    return answered.partitions[0]


async def three_brokers(cluster: Cluster) -> None:
    await cluster.start(1, 2, 3)
    await cluster.create_topic("orders", [1, 2, 3])


@pytest.mark.parametrize("version", range(4))
def test_the_isr_shrinks_and_grows_within_the_leader_epoch(version: int) -> None:
    async def scenario(cluster: Cluster) -> None:
        await three_brokers(cluster)
        answer = await ask(cluster, 1, 3, version=version)
        assert (answer.error_code, answer.leader_id, answer.leader_epoch) == (0, 1, 0)
        assert (answer.isr, answer.partition_epoch) == ([1, 3], 1)
        state = await cluster.state("orders")
        assert (state.isr, state.leader_epoch, state.partition_epoch) == ((1, 3), 0, 1)
        assert [broker.metadata[ORDERS].isr for broker in cluster.brokers.values()] == [[1, 3]] * 3
        assert (await ask(cluster, 1, 3, 2, version=version)).partition_epoch == 2

    run_cluster(scenario)


def test_what_is_so_already_is_answered_as_done_even_with_an_older_partition_epoch() -> None:
    async def scenario(cluster: Cluster) -> None:
        await three_brokers(cluster)
        await ask(cluster, 1, 2)
        answer = await ask(cluster, 2, 1, partition_epoch=0)
        assert (answer.error_code, answer.isr, answer.partition_epoch) == (0, [1, 2], 1)
        assert (await cluster.state("orders")).partition_epoch == 1

    run_cluster(scenario)


def test_epochs_of_the_past_and_of_the_future() -> None:
    async def scenario(cluster: Cluster) -> None:
        await three_brokers(cluster)
        await cluster.kill(3)
        await cluster.start(3)
        state = await cluster.state("orders")
        assert (state.leader_epoch, state.partition_epoch) == (1, 1)
        for leader_epoch, partition_epoch, code in (
            (0, 1, ErrorCode.FENCED_LEADER_EPOCH),
            (1, 0, ErrorCode.INVALID_UPDATE_VERSION),
            (2, 1, ErrorCode.NOT_CONTROLLER),
            (1, 2, ErrorCode.NOT_CONTROLLER),
        ):
            answer = await ask(cluster, 1, leader_epoch=leader_epoch, partition_epoch=partition_epoch)
            assert answer.error_code == code, (leader_epoch, partition_epoch)
        assert await cluster.state("orders") == state

    run_cluster(scenario)


@pytest.mark.parametrize(("version", "code"), [(1, 55), (2, 107), (3, 107)])
def test_a_replica_that_is_dead_cannot_join(version: int, code: int) -> None:
    async def scenario(cluster: Cluster) -> None:
        await three_brokers(cluster)
        await cluster.kill(3)
        assert (await ask(cluster, 1, 2, 3, version=version)).error_code == code

    run_cluster(scenario)


def test_a_replica_that_shuts_down_or_was_seen_in_a_former_life_cannot_join() -> None:
    async def scenario(cluster: Cluster) -> None:
        await three_brokers(cluster)
        await ask(cluster, 1)
        old = cluster.brokers[3].broker_epoch
        await cluster.kill(3)
        await cluster.start(3)
        answer = await ask(cluster, 1, 3, epochs=lambda broker_id: old if broker_id == 3 else -1)
        assert answer.error_code == ErrorCode.INELIGIBLE_REPLICA
        assert (await ask(cluster, 1, 3, epochs=lambda each: cluster.brokers[each].broker_epoch)).error_code == 0
        await cluster.controller.controlled_shutdown(2, cluster.brokers[2].broker_epoch)
        assert (await ask(cluster, 1, 2, 3)).error_code == ErrorCode.INELIGIBLE_REPLICA

    run_cluster(scenario)


def test_requests_that_no_leader_may_send() -> None:
    async def scenario(cluster: Cluster) -> None:
        await three_brokers(cluster)
        await cluster.start(4)
        assert (await ask(cluster, 1, 4)).error_code == ErrorCode.INVALID_REQUEST
        assert (await ask(cluster, 2, 3)).error_code == ErrorCode.INVALID_REQUEST
        assert (await ask(cluster, 1, 2, leader=2)).error_code == ErrorCode.INVALID_REQUEST
        assert (await ask(cluster, 1, 2, recovery_state=1)).error_code == ErrorCode.INVALID_REQUEST

    run_cluster(scenario)


def test_a_leader_elected_uncleanly_says_when_it_has_recovered() -> None:
    async def scenario(cluster: Cluster) -> None:
        await cluster.start(1, 2)
        await cluster.create_topic("orders", [2, 1], config={"unclean.leader.election.enable": "true"})
        await cluster.set_isr(ORDERS, 2)
        await cluster.kill(2)
        await cluster.start(2)
        assert (await cluster.state("orders")).is_recovering
        assert (await ask(cluster, 1, 2, recovery_state=1)).error_code == ErrorCode.INVALID_REQUEST
        answer = await ask(cluster, 1)
        assert (answer.error_code, answer.leader_recovery_state) == (0, 0)
        assert not (await cluster.state("orders")).is_recovering
        assert (await ask(cluster, 1, recovery_state=1)).error_code == ErrorCode.INVALID_REQUEST

    run_cluster(scenario)


def test_unknown_topics_and_partitions() -> None:
    async def scenario(cluster: Cluster) -> None:
        await three_brokers(cluster)
        epoch = cluster.brokers[1].broker_epoch
        missing = RequestPartitionData(partition_index=7, new_isr_with_epochs=[BrokerState(broker_id=1)])
        topics = [
            RequestTopicData(topic_id=b"x" * 16, partitions=[missing]),
            RequestTopicData(topic_id=await topic_id(cluster), partitions=[missing]),
        ]
        request = AlterPartitionRequest(broker_id=1, broker_epoch=epoch, topics=topics)
        response = await cluster.controller.alter_partition(request, 3)
        codes = [each.error_code for topic in response.topics for each in topic.partitions]
        assert codes == [ErrorCode.UNKNOWN_TOPIC_ID, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]

    run_cluster(scenario)


def test_a_broker_of_a_former_life_or_none_is_refused_as_a_whole() -> None:
    async def scenario(cluster: Cluster) -> None:
        await three_brokers(cluster)
        for broker_id, broker_epoch in ((1, -1), (1, cluster.brokers[1].broker_epoch - 1), (9, 1)):
            request = AlterPartitionRequest(broker_id=broker_id, broker_epoch=broker_epoch)
            with pytest.raises(ApiError) as refused:
                await cluster.controller.alter_partition(request, 3)
            assert refused.value.code is ErrorCode.STALE_BROKER_EPOCH

    run_cluster(scenario)


def test_a_broker_that_is_not_the_controller_says_so() -> None:
    async def scenario(cluster: Cluster) -> None:
        await three_brokers(cluster)
        with pytest.raises(ApiError) as refused:
            await cluster.nodes[2].controller.alter_partition(AlterPartitionRequest(broker_id=1), 3)
        assert refused.value.code is ErrorCode.NOT_CONTROLLER

    run_cluster(scenario)


def test_a_conflict_in_the_store_is_an_old_version_and_then_known() -> None:
    async def scenario(cluster: Cluster) -> None:
        await three_brokers(cluster)
        await cluster.set_isr(ORDERS, 1, 2)  # a leader of old wrote it, and has not told yet
        assert (await ask(cluster, 1, partition_epoch=0)).error_code == ErrorCode.INVALID_UPDATE_VERSION
        answer = await ask(cluster, 1)
        assert (answer.error_code, answer.partition_epoch) == (0, 2)

    run_cluster(scenario)


def test_leaders_of_old_write_themselves_and_leave_a_notification() -> None:
    async def scenario(cluster: Cluster) -> None:
        await three_brokers(cluster)
        await cluster.set_isr(ORDERS, 1, 2)
        for data in (encode_partitions([ORDERS, ("nothing", 3)]), b"nonsense"):
            await cluster.client.create(ISR_CHANGE_PREFIX, data, CreateMode.PERSISTENT_SEQUENTIAL)
        await cluster.settle()
        assert [broker.metadata[ORDERS].isr for broker in cluster.brokers.values()] == [[1, 2]] * 3
        assert await cluster.client.children(ISR_CHANGES) == []

    run_cluster(scenario)
