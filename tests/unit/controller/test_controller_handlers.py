"""The controller's APIs through the dispatcher: every version is decoded, carried out and answered."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any, TypeVar, cast

import pytest

from moldau.base.clock import LoopClock
from moldau.base.error_codes import ErrorCode
from moldau.broker.dispatcher import Dispatcher
from moldau.broker.handlers import all_registrations
from moldau.protocol.api import ApiKey, response_class
from moldau.protocol.codec import decode, encode
from moldau.protocol.headers import decode_response_header, encode_request_header
from moldau.protocol.messages.allocate_producer_ids import AllocateProducerIdsRequest, AllocateProducerIdsResponse
from moldau.protocol.messages.alter_partition import AlterPartitionRequest, AlterPartitionResponse
from moldau.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartition,
    ReassignableTopic,
)
from moldau.protocol.messages.controlled_shutdown import ControlledShutdownRequest, ControlledShutdownResponse
from moldau.protocol.messages.elect_leaders import ElectLeadersRequest, ElectLeadersResponse, TopicPartitions
from moldau.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    ListPartitionReassignmentsTopics,
)
from moldau.protocol.messages.update_features import (
    FeatureUpdateKey,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)
from moldau.protocol.schema import Message
from tests.unit.controller.controlled_cluster import Cluster, Node, run_cluster

Response = TypeVar("Response", bound=Message)
ORDERS = ("orders", 0)


class KeptAnswer:
    def __init__(self) -> None:
        self.sent: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

    def send(self, parts: list[bytes]) -> None:
        self.sent.set_result(b"".join(parts))

    def park(self) -> None:
        """Nothing counts requests here."""


async def ask(node: Node, request: Message, version: int, expected: type[Response]) -> Response:
    broker = SimpleNamespace(
        controller=node.controller,
        supervisor=node.supervisor,
        clock=LoopClock(asyncio.get_running_loop()),
        metadata=SimpleNamespace(
            partition=lambda topic, index: node.broker.metadata.get((topic, index)),
            topics={topic: {index: None} for topic, index in node.broker.metadata},
        ),
    )
    answer = KeptAnswer()
    frame = encode_request_header(request.KEY, version, 7, "test") + encode(request, version)
    Dispatcher(broker, all_registrations())(memoryview(frame), cast(Any, answer))
    reply = memoryview(await answer.sent)
    _, position = decode_response_header(reply, response_class(ApiKey(request.KEY)), version)
    return decode(expected, version, reply, position)


@pytest.mark.parametrize("version", range(4))
def test_controlled_shutdown(version: int) -> None:
    async def scenario(cluster: Cluster) -> None:
        await cluster.start(1, 2)
        await cluster.create_topic("orders", [2, 1])
        await cluster.set_isr(ORDERS, 2)
        await cluster.kill(1)
        await cluster.start(1)
        request = ControlledShutdownRequest(broker_id=2, broker_epoch=cluster.brokers[2].broker_epoch)
        response = await ask(cluster.nodes[2], request, version, ControlledShutdownResponse)
        remaining = [(each.topic_name, each.partition_index) for each in response.remaining_partitions]
        assert (response.error_code, remaining) == (0, [ORDERS])
        refused = await ask(cluster.nodes[1], request, version, ControlledShutdownResponse)
        assert refused.error_code == ErrorCode.NOT_CONTROLLER
        stranger = ControlledShutdownRequest(broker_id=9)
        unknown = await ask(cluster.nodes[2], stranger, version, ControlledShutdownResponse)
        assert unknown.error_code == ErrorCode.BROKER_NOT_AVAILABLE

    run_cluster(scenario)


def results(response: ElectLeadersResponse) -> dict[tuple[str, int], int]:
    return {
        (topic.topic, each.partition_id): each.error_code
        for topic in response.replica_election_results
        for each in topic.partition_result
    }


@pytest.mark.parametrize("version", range(3))
def test_elect_leaders(version: int) -> None:
    async def scenario(cluster: Cluster) -> None:
        await cluster.start(1, 2)
        await cluster.create_topic("orders", [2, 1], [1, 2])
        await cluster.kill(2)
        await cluster.start(2)
        await cluster.set_isr(ORDERS, 1, 2)
        await cluster.nodes[1].controller.stop()
        await cluster.settle()
        assert cluster.nodes[2].controller.is_active
        asked = [TopicPartitions(topic="orders", partitions=[0, 1, 2])]
        response = await ask(
            cluster.nodes[2], ElectLeadersRequest(topic_partitions=asked), version, ElectLeadersResponse
        )
        assert response.error_code == 0
        assert results(response) == {ORDERS: 0, ("orders", 1): 84, ("orders", 2): 3}
        assert cluster.brokers[2].metadata[ORDERS].leader == 2
        everything = ElectLeadersRequest(topic_partitions=None)
        assert results(await ask(cluster.nodes[2], everything, version, ElectLeadersResponse)) == {}
        refused = await ask(
            cluster.nodes[1], ElectLeadersRequest(topic_partitions=asked), version, ElectLeadersResponse
        )
        assert set(results(refused).values()) == {ErrorCode.NOT_CONTROLLER}
        refused = await ask(cluster.nodes[1], everything, version, ElectLeadersResponse)
        assert set(results(refused).values()) == {ErrorCode.NOT_CONTROLLER}

    run_cluster(scenario)


def test_an_election_that_this_broker_does_not_hear_of_in_time_says_so() -> None:
    async def scenario(cluster: Cluster) -> None:
        await cluster.start(1, 2)
        await cluster.create_topic("orders", [2, 1])
        await cluster.set_isr(ORDERS, 2)
        await cluster.kill(2)
        request = ElectLeadersRequest(
            election_type=1, timeout_ms=0, topic_partitions=[TopicPartitions(topic="orders", partitions=[0])]
        )
        response = await ask(cluster.nodes[1], request, 2, ElectLeadersResponse)
        assert results(response) == {ORDERS: ErrorCode.REQUEST_TIMED_OUT}
        assert (await cluster.state("orders")).leader == 1

    run_cluster(scenario)


def test_an_unknown_type_of_election_is_refused() -> None:
    async def scenario(cluster: Cluster) -> None:
        await cluster.start(1)
        asked = [TopicPartitions(topic="orders", partitions=[0])]
        request = ElectLeadersRequest(election_type=7, topic_partitions=asked)
        response = await ask(cluster.nodes[1], request, 2, ElectLeadersResponse)
        assert (response.error_code, results(response)) == (42, {ORDERS: 42})

    run_cluster(scenario)


@pytest.mark.parametrize("version", range(2))
def test_reassignments_are_altered_and_listed(version: int) -> None:
    async def scenario(cluster: Cluster) -> None:
        await cluster.start(1, 2)
        await cluster.create_topic("orders", [1])
        partitions = [
            ReassignablePartition(partition_index=0, replicas=[2]),
            ReassignablePartition(partition_index=1, replicas=None),
        ]
        request = AlterPartitionReassignmentsRequest(topics=[ReassignableTopic(name="orders", partitions=partitions)])
        response = await ask(cluster.nodes[1], request, version, AlterPartitionReassignmentsResponse)
        (topic,) = response.responses
        assert [(each.partition_index, each.error_code) for each in topic.partitions] == [(0, 0), (1, 85)]
        assert topic.partitions[1].error_message
        for asked in (
            None,
            [ListPartitionReassignmentsTopics(name="orders", partition_indexes=[0, 1])],
        ):
            listed = await ask(
                cluster.nodes[1],
                ListPartitionReassignmentsRequest(topics=asked),
                0,
                ListPartitionReassignmentsResponse,
            )
            (moving,) = listed.topics[0].partitions
            assert (moving.replicas, moving.adding_replicas, moving.removing_replicas) == ([2, 1], [2], [1])
        for refused in (
            await ask(cluster.nodes[2], request, version, AlterPartitionReassignmentsResponse),
            await ask(cluster.nodes[2], ListPartitionReassignmentsRequest(), 0, ListPartitionReassignmentsResponse),
        ):
            assert refused.error_code == ErrorCode.NOT_CONTROLLER
            assert refused.error_message

    run_cluster(scenario)


def test_requests_of_brokers_to_the_controller() -> None:
    async def scenario(cluster: Cluster) -> None:
        await cluster.start(1, 2)
        epoch = cluster.brokers[2].broker_epoch
        allocate = AllocateProducerIdsRequest(broker_id=2, broker_epoch=epoch)
        block = await ask(cluster.nodes[1], allocate, 0, AllocateProducerIdsResponse)
        assert (block.error_code, block.producer_id_start, block.producer_id_len) == (0, 0, 1000)
        refused = await ask(cluster.nodes[2], allocate, 0, AllocateProducerIdsResponse)
        assert refused.error_code == ErrorCode.NOT_CONTROLLER
        for version in range(4):
            request = AlterPartitionRequest(broker_id=2, broker_epoch=epoch)
            answered = await ask(cluster.nodes[1], request, version, AlterPartitionResponse)
            assert answered.error_code == 0
            stale = AlterPartitionRequest(broker_id=2, broker_epoch=epoch - 1)
            answered = await ask(cluster.nodes[1], stale, version, AlterPartitionResponse)
            assert answered.error_code == ErrorCode.STALE_BROKER_EPOCH

    run_cluster(scenario)


@pytest.mark.parametrize("version", range(3))
def test_update_features_is_refused_with_the_reason(version: int) -> None:
    async def scenario(cluster: Cluster) -> None:
        await cluster.start(1)
        update = FeatureUpdateKey(feature="metadata.version", max_version_level=21)
        request = UpdateFeaturesRequest(feature_updates=[update])
        response = await ask(cluster.nodes[1], request, version, UpdateFeaturesResponse)
        if version < 2:
            (result,) = response.results
            assert (response.error_code, result.error_code) == (0, ErrorCode.INVALID_REQUEST)
            assert "does not support metadata.version" in (result.error_message or "")
        else:
            assert response.error_code == ErrorCode.INVALID_REQUEST
            assert "does not support metadata.version" in (response.error_message or "")

    run_cluster(scenario)
