"""DeleteTopics by name and by id."""

from __future__ import annotations

import pytest

from moldau.base.error_codes import ErrorCode
from moldau.base.ids import ZERO_UUID
from moldau.cluster.znodes.layout import delete_topic_path, topic_path
from moldau.cluster.znodes.topics import TopicAssignment
from moldau.protocol.messages.create_topics import CreatableTopic
from moldau.protocol.messages.delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)
from tests.unit.broker.handler_node import HandlerNode, topic_update, with_node


async def make(node: HandlerNode, *names: str) -> None:
    """Topics that the metadata knows."""
    await node.topics.create(CreatableTopic(name=name, num_partitions=2, replication_factor=1) for name in names)
    for name in names:
        if name not in node.metadata.topics:
            stored = TopicAssignment.decode(name, (await node.session.get(topic_path(name))).data)
            node.metadata.apply(topic_update(name, stored, node.metadata, stored.partitions), 8)


async def delete(
    node: HandlerNode, *topics: str | bytes, version: int = 6, timeout_ms: int = 5_000
) -> list[DeletableTopicResult]:
    request = DeleteTopicsRequest(timeout_ms=timeout_ms)
    if version < 6:
        request.topic_names = [str(topic) for topic in topics]
    else:
        request.topics = [
            DeleteTopicState(name=topic) if isinstance(topic, str) else DeleteTopicState(topic_id=topic)
            for topic in topics
        ]
    return (await node.ask(request, version, DeleteTopicsResponse)).responses


@pytest.mark.parametrize("version", range(7))
def test_every_version_deletes_a_topic_and_answers_when_it_is_gone(version: int) -> None:
    async def scenario(node: HandlerNode) -> None:
        await node.topics.create([CreatableTopic(name="a", num_partitions=2, replication_factor=1)])
        await node.topics.waits.until_led({"a": (0, 1)}, 5_000)
        (result,) = await delete(node, "a", version=version)
        assert (result.name, result.error_code) == ("a", ErrorCode.NONE)
        assert "a" not in node.metadata.topics
        (again,) = await delete(node, "a", version=version)
        assert again.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        assert again.error_message == ("Topic `a` to delete does not exist" if version >= 5 else None)

    with_node(scenario)


def test_topics_are_deleted_by_id() -> None:
    async def scenario(node: HandlerNode) -> None:
        await make(node, "a", "b")
        topic_id = node.metadata.topic_ids["a"]
        results = await delete(node, topic_id, b"?" * 16, "b", timeout_ms=0)
        assert [(one.name, one.topic_id, one.error_code) for one in results] == [
            ("a", topic_id, ErrorCode.REQUEST_TIMED_OUT),
            (None, b"?" * 16, ErrorCode.UNKNOWN_TOPIC_ID),
            ("b", ZERO_UUID, ErrorCode.REQUEST_TIMED_OUT),
        ]
        assert await node.session.children("/admin/delete_topics") == ["a", "b"]

    with_node(scenario, controller=False)


@pytest.mark.parametrize(
    "topic", [DeleteTopicState(name="a", topic_id=b"i" * 16), DeleteTopicState(name=None, topic_id=ZERO_UUID)]
)
def test_name_and_id_together_or_neither_is_refused(topic: DeleteTopicState) -> None:
    async def scenario(node: HandlerNode) -> None:
        response = await node.ask(DeleteTopicsRequest(topics=[topic]), 6, DeleteTopicsResponse)
        assert [(one.name, one.error_code) for one in response.responses] == [(topic.name, ErrorCode.INVALID_REQUEST)]
        assert response.responses[0].error_message

    with_node(scenario, controller=False)


def test_a_topic_named_twice_has_the_same_outcome_twice() -> None:
    async def scenario(node: HandlerNode) -> None:
        await make(node, "a")
        results = await delete(node, "a", "a", timeout_ms=0)
        assert [one.error_code for one in results] == [ErrorCode.REQUEST_TIMED_OUT] * 2

    with_node(scenario, controller=False)


def test_a_topic_that_is_marked_already_is_waited_for() -> None:
    async def scenario(node: HandlerNode) -> None:
        await make(node, "a")
        await node.session.create(delete_topic_path("a"))
        (result,) = await delete(node, "a", timeout_ms=20)
        assert (result.error_code, result.error_message) == (
            ErrorCode.REQUEST_TIMED_OUT,
            "The topic is being deleted.",
        )

    with_node(scenario, controller=False)


def test_a_topic_that_only_the_metadata_knows_does_not_exist() -> None:
    async def scenario(node: HandlerNode) -> None:
        await make(node, "a")
        await node.session.delete(topic_path("a"))
        (result,) = await delete(node, "a")
        assert result.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

    with_node(scenario, controller=False)


@pytest.mark.parametrize("version", range(7))
def test_deletion_may_be_disabled(version: int) -> None:
    async def scenario(node: HandlerNode) -> None:
        await make(node, "a")
        (result,) = await delete(node, "a", version=version)
        expected = ErrorCode.INVALID_REQUEST if version < 3 else ErrorCode.TOPIC_DELETION_DISABLED
        assert (result.name, result.error_code) == ("a", expected)
        assert await node.session.children("/admin/delete_topics") == []

    with_node(scenario, controller=False, delete_topic_enable="false")


def test_another_broker_is_the_controller_of_deletions() -> None:
    async def scenario(node: HandlerNode) -> None:
        node.controller.is_active = False
        assert [one.error_code for one in await delete(node, "a", b"i" * 16)] == [ErrorCode.NOT_CONTROLLER] * 2

    with_node(scenario, controller=False)
