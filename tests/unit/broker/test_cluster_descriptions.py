"""DescribeCluster, DescribeTopicPartitions, ListConfigResources, and the requests that are refused on purpose."""

from __future__ import annotations

import pytest

from moldau.base.error_codes import ErrorCode
from moldau.broker.authorized_operations import CLUSTER_OPERATIONS, TOPIC_OPERATIONS
from moldau.protocol.messages.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from moldau.protocol.messages.describe_quorum import DescribeQuorumRequest, DescribeQuorumResponse
from moldau.protocol.messages.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    TopicRequest,
)
from moldau.protocol.messages.list_config_resources import ListConfigResourcesRequest, ListConfigResourcesResponse
from moldau.protocol.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from moldau.protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from moldau.protocol.messages.update_metadata import UpdateMetadataTopicState
from tests.unit.broker.handler_node import HandlerNode, live_broker, partition_states, update, with_node

Page = list[tuple[str | None, int, list[int]]]


def know(node: HandlerNode, **partitions: int) -> None:
    for name, count in partitions.items():
        states = partition_states(dict.fromkeys(range(count), 1), {})
        state = UpdateMetadataTopicState(topic_name=name, topic_id=name.encode() * 16, partition_states=states)
        node.metadata.apply(update(node.metadata, state), 8)


@pytest.mark.parametrize("version", range(3))
def test_every_version_describes_the_cluster(version: int) -> None:
    async def scenario(node: HandlerNode) -> None:
        request = DescribeClusterRequest(include_cluster_authorized_operations=True)
        response = await node.ask(request, version, DescribeClusterResponse)
        assert (response.error_code, response.cluster_id, response.controller_id) == (0, node.cluster_id, 1)
        assert [(one.broker_id, one.host, one.port, one.rack) for one in response.brokers] == [
            (1, "host1", 9092, "r"),
            (2, "host2", 9092, None),
        ]
        assert response.cluster_authorized_operations == CLUSTER_OPERATIONS
        response = await node.ask(DescribeClusterRequest(), version, DescribeClusterResponse, listener="OTHER")
        assert (response.brokers, response.controller_id) == ([], -1)
        assert response.cluster_authorized_operations == -(2**31)

    with_node(scenario, live_broker(1, "r"), live_broker(2), controller=False)


@pytest.mark.parametrize(
    ("kind", "code"), [(2, ErrorCode.MISMATCHED_ENDPOINT_TYPE), (3, ErrorCode.UNSUPPORTED_ENDPOINT_TYPE)]
)
def test_a_broker_describes_brokers_only(kind: int, code: ErrorCode) -> None:
    async def scenario(node: HandlerNode) -> None:
        response = await node.ask(DescribeClusterRequest(endpoint_type=kind), 1, DescribeClusterResponse)
        assert response.error_code == code
        assert response.error_message

    with_node(scenario, controller=False)


async def page_of(
    node: HandlerNode, *names: str, limit: int = 2000, cursor: tuple[str, int] | None = None
) -> tuple[Page, tuple[str, int] | None]:
    request = DescribeTopicPartitionsRequest(
        topics=[TopicRequest(name=name) for name in names],
        response_partition_limit=limit,
        cursor=Cursor(topic_name=cursor[0], partition_index=cursor[1]) if cursor else None,
    )
    response = await node.ask(request, 0, DescribeTopicPartitionsResponse)
    page = [(one.name, one.error_code, [known.partition_index for known in one.partitions]) for one in response.topics]
    following = response.next_cursor
    return page, (following.topic_name, following.partition_index) if following else None


def test_topics_come_in_the_order_of_their_names_page_by_page() -> None:
    async def scenario(node: HandlerNode) -> None:
        know(node, c=1, a=3, b=2)
        assert await page_of(node) == ([("a", 0, [0, 1, 2]), ("b", 0, [0, 1]), ("c", 0, [0])], None)
        assert await page_of(node, limit=2) == ([("a", 0, [0, 1])], ("a", 2))
        assert await page_of(node, limit=2, cursor=("a", 2)) == ([("a", 0, [2]), ("b", 0, [0])], ("b", 1))
        assert await page_of(node, limit=1, cursor=("b", 1)) == ([("b", 0, [1])], ("c", 0))
        assert await page_of(node, limit=0, cursor=("c", 0)) == ([("c", 0, [0])], None)
        assert await page_of(node, cursor=("bb", 7)) == ([("c", 0, [0])], None)

    with_node(scenario, controller=False)


def test_the_brokers_own_limit_holds_as_well() -> None:
    async def scenario(node: HandlerNode) -> None:
        know(node, a=5)
        assert await page_of(node) == ([("a", 0, [0, 1, 2])], ("a", 3))

    with_node(scenario, controller=False, max_request_partition_size_limit="3")


def test_topics_that_are_asked_for_and_do_not_exist_are_named() -> None:
    async def scenario(node: HandlerNode) -> None:
        know(node, a=1)
        unknown, illegal = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.INVALID_TOPIC_EXCEPTION
        page, _ = await page_of(node, "z", "a", "not legal", "a")
        assert page == [("a", 0, [0]), ("not legal", illegal, []), ("z", unknown, [])]

    with_node(scenario, controller=False)


def test_a_partition_is_described_with_its_replicas_and_what_may_be_done() -> None:
    async def scenario(node: HandlerNode) -> None:
        know(node, a=1, __consumer_offsets=1)
        response = await node.ask(DescribeTopicPartitionsRequest(), 0, DescribeTopicPartitionsResponse)
        internal, topic = response.topics
        assert (internal.is_internal, topic.is_internal, topic.topic_id) == (True, False, b"a" * 16)
        assert topic.topic_authorized_operations == TOPIC_OPERATIONS
        (one,) = topic.partitions
        assert (one.leader_id, one.replica_nodes, one.isr_nodes, one.offline_replicas) == (1, [1], [1], [])
        assert (one.eligible_leader_replicas, one.last_known_elr) == ([], [])

    with_node(scenario, controller=False)


@pytest.mark.parametrize("cursor", [("b", 0), ("a", -1)])
def test_a_cursor_that_makes_no_sense_is_refused(cursor: tuple[str, int]) -> None:
    async def scenario(node: HandlerNode) -> None:
        know(node, a=1, b=1)
        page, _ = await page_of(node, "a", cursor=cursor)
        assert page == [("a", ErrorCode.INVALID_REQUEST, [])]

    with_node(scenario, controller=False)


def test_resources_with_settings_are_listed_by_type() -> None:
    async def scenario(node: HandlerNode) -> None:
        know(node, a=1)

        async def listed(*types: int, version: int = 1) -> tuple[int, list[tuple[int, str]]]:
            request = ListConfigResourcesRequest(resource_types=list(types))
            response = await node.ask(request, version, ListConfigResourcesResponse)
            return response.error_code, [(one.resource_type, one.resource_name) for one in response.config_resources]

        assert await listed(version=0) == (0, [])
        assert await listed(2, 2) == (0, [(2, "a")])
        assert await listed() == (0, [(2, "a"), (4, "1"), (8, "1")])
        assert await listed(16, 32) == (0, [])
        assert await listed(99) == (ErrorCode.UNSUPPORTED_VERSION, [])

    with_node(scenario, controller=False)


@pytest.mark.parametrize("version", range(3))
def test_there_is_no_quorum_to_describe(version: int) -> None:
    async def scenario(node: HandlerNode) -> None:
        response = await node.ask(DescribeQuorumRequest(), version, DescribeQuorumResponse)
        assert response.error_code == ErrorCode.UNSUPPORTED_VERSION
        assert ("no KRaft quorum" in (response.error_message or "")) is (version == 2)

    with_node(scenario, controller=False)


def test_sasl_is_not_expected_where_nothing_is_authenticated() -> None:
    async def scenario(node: HandlerNode) -> None:
        for version in range(2):
            response = await node.ask(SaslHandshakeRequest(mechanism="PLAIN"), version, SaslHandshakeResponse)
            assert (response.error_code, response.mechanisms) == (ErrorCode.ILLEGAL_SASL_STATE, [])
        for version in range(3):
            answer = await node.ask(SaslAuthenticateRequest(auth_bytes=b"x"), version, SaslAuthenticateResponse)
            assert answer.error_code == ErrorCode.ILLEGAL_SASL_STATE
            assert "listener PLAINTEXT" in (answer.error_message or "")

    with_node(scenario, controller=False)
