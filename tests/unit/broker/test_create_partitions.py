"""CreatePartitions: topics that grow."""

from __future__ import annotations

import pytest

from moldau.base.error_codes import ErrorCode
from moldau.cluster.znodes.layout import delete_topic_path, topic_path
from moldau.cluster.znodes.topics import TopicAssignment
from moldau.protocol.messages.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
    CreatePartitionsTopicResult,
)
from tests.unit.broker.handler_node import HandlerNode, live_broker, with_node

ID = b"0123456789abcdef"
BROKERS = [live_broker(number) for number in (1, 2, 3)]


def asked(count: int, *assignments: list[int] | None, name: str = "a") -> CreatePartitionsTopic:
    given = None if not assignments else [CreatePartitionsAssignment(broker_ids=one) for one in assignments if one]
    return CreatePartitionsTopic(name=name, count=count, assignments=given)


async def store(node: HandlerNode, **more: dict[int, tuple[int, ...]]) -> None:
    assignment = TopicAssignment(ID, {0: (2, 3), 1: (3, 1)}, **more)
    await node.session.create(topic_path("a"), assignment.encode())


async def stored(node: HandlerNode) -> dict[int, tuple[int, ...]]:
    assignment = TopicAssignment.decode("a", (await node.session.get(topic_path("a"))).data)
    assert assignment.topic_id == ID
    return dict(assignment.partitions)


async def expand(
    node: HandlerNode, *topics: CreatePartitionsTopic, version: int = 3, timeout_ms: int = 5_000, validate: bool = False
) -> list[CreatePartitionsTopicResult]:
    request = CreatePartitionsRequest(topics=list(topics), timeout_ms=timeout_ms, validate_only=validate)
    return (await node.ask(request, version, CreatePartitionsResponse)).results


@pytest.mark.parametrize("version", range(4))
def test_every_version_adds_partitions_and_answers_when_they_have_leaders(version: int) -> None:
    async def scenario(node: HandlerNode) -> None:
        await store(node)
        (result,) = await expand(node, asked(4), version=version)
        assert (result.name, result.error_code, result.error_message) == ("a", ErrorCode.NONE, None)
        assert list(node.metadata.topics["a"]) == [0, 1, 2, 3]
        # As Apache Kafka places them: the ring begins at broker 2, the first replica of the first partition.
        assert await stored(node) == {0: (2, 3), 1: (3, 1), 2: (1, 3), 3: (2, 3)}

    with_node(scenario, *BROKERS)


def test_replicas_of_new_partitions_may_be_given() -> None:
    async def scenario(node: HandlerNode) -> None:
        await store(node)
        (result,) = await expand(node, asked(4, [1, 2], [3, 1]))
        assert result.error_code == ErrorCode.NONE
        assert await stored(node) == {0: (2, 3), 1: (3, 1), 2: (1, 2), 3: (3, 1)}

    with_node(scenario, *BROKERS)


@pytest.mark.parametrize(
    ("topic", "code", "text"),
    [
        (asked(2), ErrorCode.INVALID_PARTITIONS, "Topic already has 2 partitions."),
        (asked(1), ErrorCode.INVALID_PARTITIONS, "2 partitions, which is higher than the requested 1."),
        (asked(-1), ErrorCode.INVALID_PARTITIONS, "which is higher than the requested -1."),
        (asked(10**6), ErrorCode.INVALID_PARTITIONS, "Number of partitions must be at most 100000"),
        (asked(3, [1, 9]), ErrorCode.INVALID_REPLICA_ASSIGNMENT, "Unknown broker(s) in replica assignment: 9."),
        (asked(4, [1, 2]), ErrorCode.INVALID_REPLICA_ASSIGNMENT, "by 2 but 1 assignments provided."),
        (asked(3, None), ErrorCode.INVALID_REPLICA_ASSIGNMENT, "by 1 but 0 assignments provided."),
        (asked(3, [1, 1]), ErrorCode.INVALID_REPLICA_ASSIGNMENT, "Duplicate brokers not allowed"),
        (asked(3, [1]), ErrorCode.INVALID_REPLICA_ASSIGNMENT, "partition 0 has 2 while partitions [2]"),
        (asked(3, name="b"), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "The topic 'b' does not exist."),
        (asked(3, name="a/b"), ErrorCode.INVALID_TOPIC_EXCEPTION, "characters other than"),
        (asked(3, name="going"), ErrorCode.INVALID_TOPIC_EXCEPTION, "The topic is queued for deletion."),
    ],
)
def test_what_cannot_be_added_is_refused_with_the_reason(
    topic: CreatePartitionsTopic, code: ErrorCode, text: str
) -> None:
    async def scenario(node: HandlerNode) -> None:
        await store(node)
        await node.session.create(delete_topic_path("going"))
        before = await stored(node)
        for validate in (True, False):
            (result,) = await expand(node, topic, validate=validate)
            assert result.error_code == code
            assert text in (result.error_message or "")
        assert await stored(node) == before

    with_node(scenario, *BROKERS, controller=False)


def test_nothing_is_added_while_the_topic_is_reassigned() -> None:
    async def scenario(node: HandlerNode) -> None:
        await store(node, adding_replicas={0: (1,)})
        (result,) = await expand(node, asked(3))
        assert result.error_code == ErrorCode.REASSIGNMENT_IN_PROGRESS
        assert result.error_message == "A partition reassignment is in progress for the topic 'a'."

    with_node(scenario, *BROKERS, controller=False)


def test_one_topic_twice_in_a_request_is_refused() -> None:
    async def scenario(node: HandlerNode) -> None:
        await store(node)
        results = await expand(node, asked(3), asked(4), asked(3, name="b"))
        assert [(one.name, one.error_code) for one in results] == [
            ("a", ErrorCode.INVALID_REQUEST),
            ("b", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ]

    with_node(scenario, *BROKERS, controller=False)


def test_validation_alone_adds_nothing() -> None:
    async def scenario(node: HandlerNode) -> None:
        await store(node)
        (result,) = await expand(node, asked(5), validate=True)
        assert result.error_code == ErrorCode.NONE
        assert len(await stored(node)) == 2

    with_node(scenario, *BROKERS, controller=False)


@pytest.mark.parametrize("timeout_ms", [0, -1, 20])
def test_who_does_not_wait_for_leaders_is_answered_a_timeout(timeout_ms: int) -> None:
    async def scenario(node: HandlerNode) -> None:
        await store(node)
        (result,) = await expand(node, asked(3), timeout_ms=timeout_ms)
        assert result.error_code == ErrorCode.REQUEST_TIMED_OUT
        assert len(await stored(node)) == 3

    with_node(scenario, *BROKERS, controller=False)


def test_another_broker_is_the_controller_of_partitions() -> None:
    async def scenario(node: HandlerNode) -> None:
        node.controller.is_active = False
        assert [one.error_code for one in await expand(node, asked(3))] == [ErrorCode.NOT_CONTROLLER]

    with_node(scenario, *BROKERS, controller=False)
