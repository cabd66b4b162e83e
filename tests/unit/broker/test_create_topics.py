"""CreateTopics: what is created, what is answered, and what is refused."""

from __future__ import annotations

import asyncio

import pytest

from moldau.base.error_codes import ErrorCode
from moldau.base.ids import ZERO_UUID
from moldau.cluster.znodes.configs import decode_config
from moldau.cluster.znodes.layout import config_path, delete_topic_path, topic_path
from moldau.cluster.znodes.topics import TopicAssignment
from moldau.controller.topic_admin import PARTITIONS_MAX
from moldau.protocol.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from tests.unit.broker.handler_node import HandlerNode, live_broker, with_node


def topic(
    name: str,
    partitions: int = -1,
    replication_factor: int = -1,
    assignments: dict[int, list[int]] | None = None,
    **configs: str | None,
) -> CreatableTopic:
    return CreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=replication_factor,
        assignments=[
            CreatableReplicaAssignment(partition_index=index, broker_ids=brokers)
            for index, brokers in (assignments or {}).items()
        ],
        configs=[CreatableTopicConfig(name=key.replace("_", "."), value=value) for key, value in configs.items()],
    )


async def create(
    node: HandlerNode, *topics: CreatableTopic, version: int = 7, **more: int
) -> list[CreatableTopicResult]:
    request = CreateTopicsRequest(topics=list(topics), timeout_ms=5_000)
    for name, value in more.items():
        setattr(request, name, value)
    return (await node.ask(request, version, CreateTopicsResponse)).topics


async def refused(node: HandlerNode, one: CreatableTopic, **more: int) -> tuple[int, str | None]:
    (result,) = await create(node, one, **more)
    assert (result.num_partitions, result.replication_factor, result.configs) == (-1, -1, [])
    assert result.topic_id == ZERO_UUID
    return result.error_code, result.error_message


@pytest.mark.parametrize("version", range(8))
def test_every_version_creates_a_topic_and_answers_when_it_has_leaders(version: int) -> None:
    async def scenario(node: HandlerNode) -> None:
        (result,) = await create(node, topic("orders", 2, 1, cleanup_policy="compact"), version=version)
        assert (result.name, result.error_code, result.error_message) == ("orders", ErrorCode.NONE, None)
        assert {index: one.leader for index, one in node.metadata.topics["orders"].items()} == {0: 1, 1: 1}
        stored = TopicAssignment.decode("orders", (await node.session.get(topic_path("orders"))).data)
        assert dict(stored.partitions) == {0: (1,), 1: (1,)}
        path = config_path("topics", "orders")
        assert decode_config(path, (await node.session.get(path)).data) == {"cleanup.policy": "compact"}
        assert result.topic_id == (stored.topic_id if version >= 7 else ZERO_UUID)
        if version < 5:
            assert (result.num_partitions, result.replication_factor, result.configs) == (-1, -1, [])
        else:
            assert (result.num_partitions, result.replication_factor) == (2, 1)
            configs = {entry.name: entry for entry in result.configs or ()}
            assert (configs["cleanup.policy"].value, configs["cleanup.policy"].config_source) == ("compact", 1)
            assert (configs["segment.bytes"].value, configs["segment.bytes"].config_source) == ("1073741824", 5)
            assert not configs["segment.bytes"].read_only
            assert not configs["segment.bytes"].is_sensitive

    with_node(scenario)


def test_minus_one_asks_for_the_brokers_defaults() -> None:
    async def scenario(node: HandlerNode) -> None:
        (result,) = await create(node, topic("a"))
        assert (result.error_code, result.num_partitions, result.replication_factor) == (ErrorCode.NONE, 4, 2)

    with_node(scenario, live_broker(1), live_broker(2), num_partitions="4", default_replication_factor="2")


def test_replicas_may_be_given_even_on_brokers_that_are_not_there() -> None:
    async def scenario(node: HandlerNode) -> None:
        (result,) = await create(node, topic("a", assignments={1: [2, 1], 0: [1, 9]}))
        assert (result.error_code, result.num_partitions, result.replication_factor) == (ErrorCode.NONE, 2, 2)
        assert [one.replicas for one in node.metadata.topics["a"].values()] == [(1, 9), (2, 1)]

    with_node(scenario, live_broker(1), live_broker(2))


def test_many_topics_are_created_at_once_and_each_has_its_own_outcome() -> None:
    async def scenario(node: HandlerNode) -> None:
        good = [topic(f"t{number}", 1, 1) for number in range(50)]
        results = await create(node, *good, topic("bad", 0, 1))
        assert [result.error_code for result in results] == [ErrorCode.NONE] * 50 + [ErrorCode.INVALID_PARTITIONS]
        assert len({result.topic_id for result in results}) == 51
        assert len(node.metadata.topics) == 50

    with_node(scenario)


def test_racks_are_respected() -> None:
    async def scenario(node: HandlerNode) -> None:
        await create(node, topic("a", 6, 2))
        racks = {1: "x", 2: "x", 3: "y", 4: "y"}
        assert all({racks[one] for one in known.replicas} == {"x", "y"} for known in node.metadata.topics["a"].values())

    brokers = [live_broker(number, "x" if number < 3 else "y") for number in (1, 2, 3, 4)]
    with_node(scenario, *brokers)


@pytest.mark.parametrize(
    ("asked", "code", "text"),
    [
        (topic("a", 0, 1), ErrorCode.INVALID_PARTITIONS, "Number of partitions must be larger than 0."),
        (topic("a", PARTITIONS_MAX + 1, 1), ErrorCode.INVALID_PARTITIONS, "must be at most 100000"),
        (topic("a", 1, 0), ErrorCode.INVALID_REPLICATION_FACTOR, "Replication factor must be larger than 0."),
        (topic("a", 1, 2), ErrorCode.INVALID_REPLICATION_FACTOR, "2 larger than available brokers: 1."),
        (topic("", 1, 1), ErrorCode.INVALID_TOPIC_EXCEPTION, "the empty string is not allowed"),
        (topic("a b", 1, 1), ErrorCode.INVALID_TOPIC_EXCEPTION, "'a b' contains one or more characters"),
        (topic("old.name", 1, 1), ErrorCode.TOPIC_ALREADY_EXISTS, "Topic 'old.name' already exists."),
        (topic("old_name", 1, 1), ErrorCode.INVALID_TOPIC_EXCEPTION, "collides with existing topics: old.name"),
        (topic("going", 1, 1), ErrorCode.TOPIC_ALREADY_EXISTS, "Topic 'going' is marked for deletion."),
        (topic("a", 1, -1, {0: [1]}), ErrorCode.INVALID_REQUEST, "Both numPartitions or replicationFactor and"),
        (topic("a", -1, 1, {0: [1]}), ErrorCode.INVALID_REQUEST, "Both cannot be used at the same time."),
        (topic("a", assignments={0: [1], 2: [1]}), ErrorCode.INVALID_REPLICA_ASSIGNMENT, "consecutive 0-based"),
        (topic("a", assignments={0: [1], 1: [1, 2]}), ErrorCode.INVALID_REPLICA_ASSIGNMENT, "same number of replicas"),
        (topic("a", assignments={0: [1, 1]}), ErrorCode.INVALID_REPLICA_ASSIGNMENT, "Duplicate brokers not allowed"),
        (topic("a", assignments={0: []}), ErrorCode.INVALID_REPLICA_ASSIGNMENT, "replication factor of 0"),
        (topic("a", assignments={0: [-1]}), ErrorCode.INVALID_REPLICA_ASSIGNMENT, "broker ids are not negative"),
        (topic("a", 1, 1, no_such="1"), ErrorCode.INVALID_CONFIG, "Unknown topic config name: no.such"),
        (
            topic("a", 1, 1, retention_ms="x"),
            ErrorCode.INVALID_CONFIG,
            "Invalid value x for configuration retention.ms",
        ),
        (topic("a", 1, 1, retention_ms=None), ErrorCode.INVALID_CONFIG, "Null value not supported for topic configs"),
        (topic("__cluster_metadata", 1, 1), ErrorCode.INVALID_REQUEST, "Creation of internal topic"),
    ],
)
def test_a_topic_that_makes_no_sense_is_refused_with_the_reason(
    asked: CreatableTopic, code: ErrorCode, text: str
) -> None:
    async def scenario(node: HandlerNode) -> None:
        await create(node, topic("old.name", 1, 1), timeout_ms=0)
        await node.session.create(delete_topic_path("going"))
        for flags in ({"validate_only": True}, {}):
            found, message = await refused(node, asked, **flags)
            assert found == code
            assert text in (message or "")
        assert await node.session.children("/brokers/topics") == ["old.name"]

    with_node(scenario, controller=False)


def test_the_same_topic_twice_in_a_request_is_refused() -> None:
    async def scenario(node: HandlerNode) -> None:
        results = await create(node, topic("a", 1, 1), topic("a", 2, 1), topic("b", 1, 1))
        twice = (ErrorCode.INVALID_REQUEST, "Found multiple entries for this topic.")
        assert [(one.error_code, one.error_message) for one in results] == [twice, twice, (ErrorCode.NONE, None)]
        assert list(node.metadata.topics) == ["b"]

    with_node(scenario)


def test_topics_of_one_request_may_collide_with_each_other() -> None:
    async def scenario(node: HandlerNode) -> None:
        results = await create(node, topic("x.y", 1, 1), topic("x_y", 1, 1))
        assert [one.error_code for one in results] == [ErrorCode.NONE, ErrorCode.INVALID_TOPIC_EXCEPTION]

    with_node(scenario)


def test_validation_alone_creates_nothing() -> None:
    async def scenario(node: HandlerNode) -> None:
        (result,) = await create(node, topic("a", 3, 1), validate_only=True)
        assert (result.error_code, result.num_partitions, result.topic_id) == (ErrorCode.NONE, 3, ZERO_UUID)
        assert await node.session.children("/brokers/topics") == []

    with_node(scenario)


@pytest.mark.parametrize("timeout_ms", [0, -1, 20])
def test_who_does_not_wait_is_answered_a_timeout_and_the_topic_is_created(timeout_ms: int) -> None:
    async def scenario(node: HandlerNode) -> None:
        (result,) = await create(node, topic("a", 1, 1), timeout_ms=timeout_ms)
        assert result.error_code == ErrorCode.REQUEST_TIMED_OUT
        stored = TopicAssignment.decode("a", (await node.session.get(topic_path("a"))).data)
        assert result.topic_id == stored.topic_id

    with_node(scenario, controller=False)


def test_a_topic_that_somebody_creates_meanwhile_exists() -> None:
    async def scenario(node: HandlerNode) -> None:
        one = node.topics.create([topic("a", 1, 1)])
        other = node.topics.create([topic("a", 1, 1)])
        first, second = await asyncio.gather(one, other)
        codes = [getattr(outcome["a"], "code", None) for outcome in (first, second)]
        assert codes == [None, ErrorCode.TOPIC_ALREADY_EXISTS]

    with_node(scenario, controller=False)


def test_a_configuration_that_was_left_behind_is_replaced() -> None:
    async def scenario(node: HandlerNode) -> None:
        await node.session.create(config_path("topics", "a"), b'{"version":1,"config":{"retention.ms":"5"}}')
        (result,) = await create(node, topic("a", 1, 1))
        assert result.error_code == ErrorCode.NONE
        assert await node.configs.overrides("topics", "a") == {}

    with_node(scenario)


@pytest.mark.parametrize("version", range(8))
def test_another_broker_is_the_controller(version: int) -> None:
    async def scenario(node: HandlerNode) -> None:
        node.controller.is_active = False
        (result,) = await create(node, topic("a", 1, 1), version=version)
        assert result.error_code == ErrorCode.NOT_CONTROLLER
        assert result.error_message == ("the controller is broker 1" if version else None)

    with_node(scenario, controller=False)
