"""Metadata and UpdateMetadata as clients and the controller use them."""

from __future__ import annotations

import asyncio
from functools import partial

import pytest

from moldau.base.error_codes import ErrorCode
from moldau.base.ids import ZERO_UUID
from moldau.broker.authorized_operations import CLUSTER_OPERATIONS, TOPIC_OPERATIONS
from moldau.cluster.metadata_answers import OPERATIONS_NOT_ASKED
from moldau.cluster.metadata_waits import MetadataWaits
from moldau.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from moldau.protocol.messages.update_metadata import (
    UpdateMetadataRequest,
    UpdateMetadataResponse,
    UpdateMetadataTopicState,
)
from tests.unit.broker.handler_node import HandlerNode, live_broker, partition_states, update, with_node

ID = b"orders-topic-id!"
NONE, UNKNOWN = ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def know(node: HandlerNode, topic: str, topic_id: bytes = ID, leaders: dict[int, int] | None = None) -> None:
    states = partition_states(leaders or {0: 1}, {})
    state = UpdateMetadataTopicState(topic_name=topic, topic_id=topic_id, partition_states=states)
    node.metadata.apply(update(node.metadata, state), 8)


def named(*names: str | None, **flags: bool) -> MetadataRequest:
    return MetadataRequest(topics=[MetadataRequestTopic(name=name) for name in names], **flags)


def codes(response: MetadataResponse) -> dict[str | None, int]:
    return {topic.name: topic.error_code for topic in response.topics}


@pytest.mark.parametrize("version", range(14))
def test_every_version_describes_the_cluster_and_a_topic(version: int) -> None:
    async def scenario(node: HandlerNode) -> None:
        know(node, "orders", leaders={0: 1, 1: 2})
        response = await node.ask(named("orders"), version, MetadataResponse)
        assert [(one.node_id, one.host, one.port) for one in response.brokers] == [
            (1, "host1", 9092),
            (2, "host2", 9092),
        ]
        (topic,) = response.topics
        assert (topic.error_code, topic.name) == (NONE, "orders")
        assert [(one.partition_index, one.leader_id, one.error_code) for one in topic.partitions] == [
            (0, 1, NONE),
            (1, 2, NONE),
        ]
        assert response.brokers[1].rack == ("r2" if version >= 1 else None)
        assert response.controller_id == (1 if version >= 1 else -1)
        assert response.cluster_id == (node.cluster_id if version >= 2 else None)
        assert topic.topic_id == (ID if version >= 10 else ZERO_UUID)
        assert response.error_code == NONE

    with_node(scenario, live_broker(1, "r1"), live_broker(2, "r2"), controller=False)


def test_all_topics_are_asked_for_by_null_and_in_version_0_by_none() -> None:
    async def scenario(node: HandlerNode) -> None:
        know(node, "a", b"a" * 16)
        know(node, "__consumer_offsets", b"b" * 16)
        for version, topics in ((0, []), (1, None), (12, None)):
            response = await node.ask(MetadataRequest(topics=topics), version, MetadataResponse)
            assert codes(response) == {"a": NONE, "__consumer_offsets": NONE}
            internal = [topic.name for topic in response.topics if topic.is_internal]
            assert internal == (["__consumer_offsets"] if version else [])
        assert (await node.ask(MetadataRequest(topics=[]), 1, MetadataResponse)).topics == []

    with_node(scenario, controller=False)


def test_topics_are_found_by_id_and_names_beside_ids_are_ignored() -> None:
    async def scenario(node: HandlerNode) -> None:
        know(node, "orders")
        asked = [
            MetadataRequestTopic(name="other"),
            MetadataRequestTopic(name=None, topic_id=ID),
            MetadataRequestTopic(name=None, topic_id=b"?" * 16),
        ]
        response = await node.ask(MetadataRequest(topics=asked), 12, MetadataResponse)
        assert [(topic.error_code, topic.name, topic.topic_id) for topic in response.topics] == [
            (ErrorCode.UNKNOWN_TOPIC_ID, None, b"?" * 16),
            (NONE, "orders", ID),
        ]

    with_node(scenario, controller=False)


@pytest.mark.parametrize("version", [10, 11])
@pytest.mark.parametrize("topic", [MetadataRequestTopic(name=None), MetadataRequestTopic(name="a", topic_id=ID)])
def test_versions_10_and_11_refuse_ids_and_missing_names(version: int, topic: MetadataRequestTopic) -> None:
    async def scenario(node: HandlerNode) -> None:
        response = await node.ask(MetadataRequest(topics=[topic]), version, MetadataResponse)
        assert codes(response) == {topic.name or "": ErrorCode.INVALID_REQUEST}

    with_node(scenario, controller=False)


def test_neither_name_nor_id_is_refused() -> None:
    async def scenario(node: HandlerNode) -> None:
        response = await node.ask(named(None), 13, MetadataResponse)
        assert (response.error_code, response.topics[0].error_code) == (
            ErrorCode.INVALID_REQUEST,
            ErrorCode.INVALID_REQUEST,
        )

    with_node(scenario, controller=False)


def test_a_topic_asked_for_twice_is_answered_once() -> None:
    async def scenario(node: HandlerNode) -> None:
        know(node, "orders")
        response = await node.ask(
            named("orders", "x", "orders", "x", allow_auto_topic_creation=False), 9, MetadataResponse
        )
        assert [topic.name for topic in response.topics] == ["orders", "x"]

    with_node(scenario, controller=False)


@pytest.mark.parametrize(("allowed", "enabled"), [(False, "true"), (True, "false")])
def test_unknown_topics_are_created_only_if_both_sides_want_it(allowed: bool, enabled: str) -> None:
    async def scenario(node: HandlerNode) -> None:
        request = named("new", "not legal", allow_auto_topic_creation=allowed)
        response = await node.ask(request, 12, MetadataResponse)
        assert codes(response) == {"new": UNKNOWN, "not legal": ErrorCode.INVALID_TOPIC_EXCEPTION}
        await asyncio.sleep(0.01)
        assert node.metadata.topics == {}

    with_node(scenario, auto_create_topics_enable=enabled)


@pytest.mark.parametrize("version", [0, 3, 4, 12])
def test_an_unknown_topic_is_created_with_the_brokers_defaults(version: int) -> None:
    async def scenario(node: HandlerNode) -> None:
        response = await node.ask(named("new", "no/name"), version, MetadataResponse)
        assert codes(response) == {
            "new": ErrorCode.LEADER_NOT_AVAILABLE,
            "no/name": ErrorCode.INVALID_TOPIC_EXCEPTION,
        }
        assert await node.topics.waits.until_led({"new": range(3)}, 5_000) == set()
        response = await node.ask(named("new"), version, MetadataResponse)
        assert [len(topic.partitions) for topic in response.topics] == [3]

    with_node(scenario, num_partitions="3")


def test_a_creation_under_way_is_not_begun_again_and_a_finished_one_has_no_leader_yet() -> None:
    async def scenario(node: HandlerNode) -> None:
        first = asyncio.get_running_loop().create_task(node.auto_topics.create(["new"]))
        await asyncio.sleep(0)
        assert await node.auto_topics.create(["new"]) == {"new": UNKNOWN}
        assert await first == {"new": ErrorCode.LEADER_NOT_AVAILABLE}
        assert await node.auto_topics.create(["new"]) == {"new": ErrorCode.LEADER_NOT_AVAILABLE}

    with_node(scenario, controller=False)


def test_a_topic_that_cannot_be_created_says_why() -> None:
    async def scenario(node: HandlerNode) -> None:
        assert codes(await node.ask(named("new"), 9, MetadataResponse)) == {"new": ErrorCode.INVALID_REPLICATION_FACTOR}

    with_node(scenario, default_replication_factor="3")


def test_internal_topics_are_created_with_their_own_settings() -> None:
    async def scenario(node: HandlerNode) -> None:
        names = ["__consumer_offsets", "__transaction_state"]
        assert set((await node.auto_topics.create(names)).values()) == {ErrorCode.LEADER_NOT_AVAILABLE}
        assert await node.topics.waits.until_led({names[0]: range(50), names[1]: range(7)}, 5_000) == set()
        assert [len(node.metadata.topics[name]) for name in names] == [50, 7]
        assert await node.configs.overrides("topics", names[0]) == {
            "cleanup.policy": "compact",
            "compression.type": "producer",
            "segment.bytes": "104857600",
        }
        assert (await node.configs.overrides("topics", names[1]))["min.insync.replicas"] == "2"

    with_node(
        scenario,
        offsets_topic_replication_factor="1",
        transaction_state_log_replication_factor="1",
        transaction_state_log_num_partitions="7",
    )


def test_authorized_operations_are_answered_when_asked_for() -> None:
    async def scenario(node: HandlerNode) -> None:
        know(node, "orders")
        for version in range(8, 14):
            flags = {"include_topic_authorized_operations": True, "allow_auto_topic_creation": False}
            if version <= 10:
                flags["include_cluster_authorized_operations"] = True
            response = await node.ask(named("orders", "x", **flags), version, MetadataResponse)
            assert [topic.topic_authorized_operations for topic in response.topics] == [TOPIC_OPERATIONS] * 2
            wanted = CLUSTER_OPERATIONS if version <= 10 else OPERATIONS_NOT_ASKED
            assert response.cluster_authorized_operations == wanted
            response = await node.ask(named("orders"), version, MetadataResponse)
            assert response.topics[0].topic_authorized_operations == OPERATIONS_NOT_ASKED
            assert response.cluster_authorized_operations == OPERATIONS_NOT_ASKED

    with_node(scenario, controller=False)


def test_the_clients_listener_decides_which_brokers_it_sees() -> None:
    async def scenario(node: HandlerNode) -> None:
        know(node, "orders", leaders={0: 1, 1: 2})
        response = await node.ask(named("orders"), 12, MetadataResponse, listener="EXTERNAL")
        assert [(one.node_id, one.port) for one in response.brokers] == [(1, 9093)]
        assert [one.error_code for one in response.topics[0].partitions] == [NONE, ErrorCode.LISTENER_NOT_FOUND]

    with_node(scenario, live_broker(1, None, "PLAINTEXT", "EXTERNAL"), live_broker(2), controller=False)


def test_a_node_that_has_just_started_answers_when_it_knows_all_topics() -> None:
    async def scenario(node: HandlerNode) -> None:
        node.metadata.apply(UpdateMetadataRequest(controller_id=-1), 8)
        waits = node.topics.waits = MetadataWaits(node.metadata)
        asked = asyncio.get_running_loop().create_task(node.ask(named("x y"), 12, MetadataResponse))
        refused = asyncio.get_running_loop().create_task(node.ask(named(None), 12, MetadataResponse))
        await asyncio.sleep(0.01)
        assert not asked.done()
        node.metadata.apply(UpdateMetadataRequest(controller_id=1, live_brokers=[live_broker(1)]), 8)
        await waits.until_known(0)
        await asyncio.sleep(0.01)
        assert not asked.done()
        waits.complete()
        assert [broker.node_id for broker in (await asked).brokers] == [1]
        assert codes(await refused) == {"": ErrorCode.INVALID_REQUEST}

    with_node(scenario, controller=False, auto_create_topics_enable="false")


def test_a_cluster_that_stays_unknown_is_answered_in_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(node: HandlerNode) -> None:
        node.metadata.apply(UpdateMetadataRequest(controller_id=-1), 8)
        waits = node.topics.waits = MetadataWaits(node.metadata)
        monkeypatch.setattr(waits, "until_complete", partial(waits.until_complete, 5))
        response = await node.ask(MetadataRequest(topics=None), 12, MetadataResponse)
        assert (response.brokers, response.controller_id) == ([], -1)

    with_node(scenario, controller=False)


@pytest.mark.parametrize("version", range(9))
def test_the_controller_is_checked_before_it_is_believed(version: int) -> None:
    async def scenario(node: HandlerNode) -> None:
        broker = live_broker(9)
        broker.v0_host, broker.v0_port = "host9", 9092
        epoch = 77 if version >= 5 else -1
        request = UpdateMetadataRequest(controller_id=9, controller_epoch=4, broker_epoch=77, live_brokers=[broker])
        response = await node.ask(request, version, UpdateMetadataResponse)
        assert response.error_code == NONE
        assert node.controller_checks == [(9, 4, epoch)]
        assert list(node.metadata.brokers) == [9]

    with_node(scenario, controller=False)
