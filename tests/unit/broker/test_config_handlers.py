"""DescribeConfigs, AlterConfigs and IncrementalAlterConfigs."""

from __future__ import annotations

import logging

import pytest

from moldau.base.error_codes import ErrorCode
from moldau.broker.handlers import alter_configs as alter
from moldau.broker.handlers import describe_configs as described
from moldau.broker.handlers import incremental_alter_configs as incremental
from moldau.protocol.messages import alter_configs, describe_configs, incremental_alter_configs
from moldau.protocol.messages.alter_configs import AlterConfigsRequest, AlterConfigsResponse
from moldau.protocol.messages.create_topics import CreatableTopic
from moldau.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResponse,
    DescribeConfigsResult,
)
from moldau.protocol.messages.incremental_alter_configs import (
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from tests.unit.broker.handler_node import HandlerNode, with_node

TOPIC, BROKER, LOGGER, METRICS = 2, 4, 8, 16
SET, DELETE, APPEND, SUBTRACT = range(4)
NONE, INVALID_REQUEST, INVALID_CONFIG = ErrorCode.NONE, ErrorCode.INVALID_REQUEST, ErrorCode.INVALID_CONFIG
UNKNOWN_TOPIC = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
LEVELS = "moldau.broker.broker_loggers"

Outcome = tuple[int, str | None]


async def make_topic(node: HandlerNode) -> None:
    await node.topics.create([CreatableTopic(name="a", num_partitions=1, replication_factor=1)])
    assert await node.topics.waits.until_led({"a": [0]}, 5_000) == set()


async def describe(
    node: HandlerNode, kind: int, name: str, *keys: str, version: int = 4, **flags: bool
) -> DescribeConfigsResult:
    resource = DescribeConfigsResource(resource_type=kind, resource_name=name, configuration_keys=list(keys) or None)
    request = DescribeConfigsRequest(resources=[resource], **flags)
    (result,) = (await node.ask(request, version, DescribeConfigsResponse)).results
    assert (result.resource_type, result.resource_name) == (kind, name)
    return result


async def replace(
    node: HandlerNode, kind: int, name: str, *entries: tuple[str, str | None], version: int = 2, validate: bool = False
) -> Outcome:
    configs = [alter_configs.AlterableConfig(name=key, value=value) for key, value in entries]
    resource = alter_configs.AlterConfigsResource(resource_type=kind, resource_name=name, configs=configs)
    request = AlterConfigsRequest(resources=[resource], validate_only=validate)
    (result,) = (await node.ask(request, version, AlterConfigsResponse)).responses
    assert (result.resource_type, result.resource_name) == (kind, name)
    return result.error_code, result.error_message


async def change(
    node: HandlerNode,
    kind: int,
    name: str,
    *operations: tuple[str, int, str | None],
    version: int = 1,
    validate: bool = False,
) -> Outcome:
    configs = [
        incremental_alter_configs.AlterableConfig(name=key, config_operation=operation, value=value)
        for key, operation, value in operations
    ]
    resource = incremental_alter_configs.AlterConfigsResource(resource_type=kind, resource_name=name, configs=configs)
    request = IncrementalAlterConfigsRequest(resources=[resource], validate_only=validate)
    (result,) = (await node.ask(request, version, IncrementalAlterConfigsResponse)).responses
    assert (result.resource_type, result.resource_name) == (kind, name)
    return result.error_code, result.error_message


# -- DescribeConfigs


@pytest.mark.parametrize("version", range(5))
def test_every_version_describes_a_topic(version: int) -> None:
    async def scenario(node: HandlerNode) -> None:
        await make_topic(node)
        assert await replace(node, TOPIC, "a", ("retention.ms", "5")) == (NONE, None)
        result = await describe(node, TOPIC, "a", version=version)
        assert (result.error_code, len(result.configs)) == (NONE, len(node.configs.topic("a").schema))
        found = {entry.name: entry for entry in result.configs}
        retention, segment = found["retention.ms"], found["segment.bytes"]
        assert (retention.value, segment.value, segment.read_only) == ("5", "1073741824", False)
        if version == 0:
            assert (retention.is_default, segment.is_default) == (False, True)
        else:
            assert (retention.config_source, segment.config_source) == (1, 5)
        assert retention.config_type == (5 if version >= 3 else 0)
        assert retention.synonyms == []
        assert retention.documentation is None

    with_node(scenario)


def test_synonyms_and_documentation_are_answered_when_asked_for() -> None:
    async def scenario(node: HandlerNode) -> None:
        await make_topic(node)
        await replace(node, TOPIC, "a", ("max.message.bytes", "5"))
        await change(node, BROKER, "", ("message.max.bytes", SET, "6"))
        result = await describe(
            node, TOPIC, "a", "max.message.bytes", "no.such", include_synonyms=True, include_documentation=True
        )
        (entry,) = result.configs
        assert (entry.value, entry.config_source) == ("5", 1)
        assert [(one.name, one.value, one.source) for one in entry.synonyms] == [
            ("max.message.bytes", "5", 1),
            ("message.max.bytes", "6", 3),
            ("message.max.bytes", "1048588", 5),
        ]
        assert entry.documentation

    with_node(scenario)


def test_a_broker_describes_itself_and_the_default_of_all_brokers() -> None:
    async def scenario(node: HandlerNode) -> None:
        await change(node, BROKER, "", ("message.max.bytes", SET, "6"))
        await change(node, BROKER, "1", ("message.max.bytes", SET, "7"), ("log.cleaner.backoff.ms", SET, "8"))
        everything = {entry.name: entry for entry in (await describe(node, BROKER, "1")).configs}
        assert (everything["message.max.bytes"].value, everything["message.max.bytes"].config_source) == ("7", 2)
        assert (everything["broker.id"].read_only, everything["broker.id"].config_source) == (True, 4)
        assert not everything["message.max.bytes"].read_only
        assert (everything["ssl.key.password"].is_sensitive, everything["ssl.key.password"].value) == (True, None)
        defaults = (await describe(node, BROKER, "")).configs
        assert [(entry.name, entry.value, entry.config_source) for entry in defaults] == [("message.max.bytes", "6", 3)]

    with_node(scenario)


def test_secrets_are_never_shown() -> None:
    async def scenario(node: HandlerNode) -> None:
        (entry,) = (await describe(node, BROKER, "1", "ssl.key.password", include_synonyms=True)).configs
        assert (entry.value, entry.is_sensitive) == (None, True)
        assert [synonym.value for synonym in entry.synonyms] == [None]

    with_node(scenario, ssl_key_password="hush")


@pytest.mark.parametrize(
    ("kind", "name", "code", "text"),
    [
        (TOPIC, "b", UNKNOWN_TOPIC, "The topic 'b' does not exist."),
        (TOPIC, "no name", ErrorCode.INVALID_TOPIC_EXCEPTION, "characters other than"),
        (BROKER, "2", INVALID_REQUEST, "Unexpected broker id, expected 1 or empty string, but received 2"),
        (BROKER, "one", INVALID_REQUEST, "Broker id must be an integer, but it is: one"),
        (LOGGER, "", INVALID_REQUEST, "Broker id must not be empty"),
        (LOGGER, "2", INVALID_REQUEST, "Unexpected broker id, expected 1, but received 2"),
        (METRICS, "m", INVALID_REQUEST, "Unsupported resource type: CLIENT_METRICS (16)"),
        (99, "x", INVALID_REQUEST, "Unsupported resource type: UNKNOWN (99)"),
    ],
)
def test_what_cannot_be_described_says_why(kind: int, name: str, code: ErrorCode, text: str) -> None:
    async def scenario(node: HandlerNode) -> None:
        result = await describe(node, kind, name)
        assert (result.error_code, result.configs) == (code, [])
        assert text in (result.error_message or "")

    with_node(scenario, controller=False)


def test_many_topics_are_described_in_one_answer() -> None:
    async def scenario(node: HandlerNode) -> None:
        names = [f"t{number}" for number in range(60)]
        await node.topics.create(CreatableTopic(name=name, num_partitions=1, replication_factor=1) for name in names)
        assert await node.topics.waits.until_led({name: [0] for name in names}, 5_000) == set()
        assert await replace(node, TOPIC, "t7", ("retention.ms", "5")) == (NONE, None)
        resources = [DescribeConfigsResource(resource_type=TOPIC, resource_name=name) for name in [*names, "gone"]]
        response = await node.ask(DescribeConfigsRequest(resources=resources), 4, DescribeConfigsResponse)
        assert [result.error_code for result in response.results] == [NONE] * 60 + [UNKNOWN_TOPIC]
        retention = [
            next(entry.value for entry in result.configs if entry.name == "retention.ms")
            for result in response.results[:60]
        ]
        assert [number for number, value in enumerate(retention) if value == "5"] == [7]

    with_node(scenario)


# -- AlterConfigs and IncrementalAlterConfigs


@pytest.mark.parametrize("version", range(3))
def test_alter_configs_replaces_everything(version: int) -> None:
    async def scenario(node: HandlerNode) -> None:
        await make_topic(node)
        first = [("retention.ms", "5"), ("segment.ms", "6")]
        assert await replace(node, TOPIC, "a", *first, version=version) == (NONE, None)
        assert await replace(node, TOPIC, "a", ("segment.ms", "7"), version=version) == (NONE, None)
        assert await replace(node, TOPIC, "a", ("segment.ms", "8"), version=version, validate=True) == (NONE, None)
        assert await node.configs.overrides("topics", "a") == {"segment.ms": "7"}
        assert await replace(node, BROKER, "", ("message.max.bytes", "6"), version=version) == (NONE, None)
        assert await replace(node, BROKER, "1", version=version) == (NONE, None)
        assert node.config.integer("message.max.bytes") == 6

    with_node(scenario)


@pytest.mark.parametrize("version", range(2))
def test_incremental_operations(version: int) -> None:
    async def scenario(node: HandlerNode) -> None:
        await make_topic(node)

        async def alter(*operations: tuple[str, int, str | None], validate: bool = False) -> dict[str, str]:
            assert await change(node, TOPIC, "a", *operations, version=version, validate=validate) == (NONE, None)
            return await node.configs.overrides("topics", "a")

        assert await alter(("retention.ms", SET, "5")) == {"retention.ms": "5"}
        assert await alter(("cleanup.policy", APPEND, "compact"), ("retention.ms", DELETE, None)) == {
            "cleanup.policy": "delete,compact"
        }
        assert await alter(("cleanup.policy", APPEND, "compact")) == {"cleanup.policy": "delete,compact"}
        assert await alter(("cleanup.policy", SUBTRACT, "delete")) == {"cleanup.policy": "compact"}
        assert await alter(("cleanup.policy", SET, "delete"), validate=True) == {"cleanup.policy": "compact"}
        assert await alter(("no.such", DELETE, None)) == {"cleanup.policy": "compact"}
        assert await alter(("leader.replication.throttled.replicas", APPEND, "0:1")) == {
            "cleanup.policy": "compact",
            "leader.replication.throttled.replicas": "0:1",
        }

    with_node(scenario)


@pytest.mark.parametrize(
    ("kind", "name", "entries", "code", "text"),
    [
        (TOPIC, "b", [("retention.ms", "5")], UNKNOWN_TOPIC, "The topic 'b' does not exist."),
        (TOPIC, "", [], INVALID_REQUEST, "Default topic resources are not allowed."),
        (TOPIC, "a", [("no.such", "5")], INVALID_CONFIG, "Unknown topic config name: no.such"),
        (TOPIC, "a", [("retention.ms", "x")], INVALID_CONFIG, "Invalid value x for configuration retention.ms"),
        (TOPIC, "a", [("retention.ms", None)], INVALID_REQUEST, "Null value not supported for : retention.ms"),
        (TOPIC, "a", [("segment.ms", "5")] * 2, INVALID_REQUEST, "Error due to duplicate config keys"),
        (BROKER, "2", [], INVALID_REQUEST, "Unexpected broker id, expected 1, but received 2"),
        (BROKER, "x", [], INVALID_REQUEST, "Broker id must be an integer, but it is: x"),
        (BROKER, "1", [("log.dirs", "/x")], INVALID_REQUEST, "Cannot update these configs dynamically: log.dirs"),
        (BROKER, "1", [("message.max.bytes", "x")], INVALID_REQUEST, "Invalid value x for configuration"),
        (BROKER, "", [("advertised.listeners", "A://b:1")], INVALID_REQUEST, "broker id must be specified"),
        (
            METRICS,
            "m",
            [],
            INVALID_REQUEST,
            "topics and brokers, but resource type is CLIENT_METRICS",
        ),
        (99, "m", [], INVALID_REQUEST, "Unknown resource type 99"),
    ],
)
def test_both_ways_refuse_the_same_with_the_reason(
    kind: int, name: str, entries: list[tuple[str, str | None]], code: ErrorCode, text: str
) -> None:
    async def scenario(node: HandlerNode) -> None:
        await make_topic(node)
        before = dict(node.config)
        outcomes = [
            await replace(node, kind, name, *entries),
            await replace(node, kind, name, *entries, validate=True),
            await change(node, kind, name, *((key, SET, value) for key, value in entries)),
        ]
        for found, message in outcomes:
            assert found == code
            assert text in (message or "")
        assert await node.configs.overrides("topics", "a") == {}
        assert dict(node.config) == before

    with_node(scenario)


@pytest.mark.parametrize(
    ("operation", "code", "text"),
    [
        (
            ("retention.ms", APPEND, "1"),
            INVALID_CONFIG,
            "append is not allowed for config key: retention.ms",
        ),
        (("retention.ms", SUBTRACT, "1"), INVALID_CONFIG, "Config value subtract is not allowed for config key"),
        (("no.such", APPEND, "1"), INVALID_CONFIG, "Unknown config name: no.such"),
        (("retention.ms", 9, "1"), INVALID_REQUEST, "Unknown operations type 9"),
        (("cleanup.policy", APPEND, None), INVALID_REQUEST, "Null value not supported for : cleanup.policy"),
    ],
)
def test_operations_that_make_no_sense_are_refused(
    operation: tuple[str, int, str | None], code: ErrorCode, text: str
) -> None:
    async def scenario(node: HandlerNode) -> None:
        await make_topic(node)
        found, message = await change(node, TOPIC, "a", operation)
        assert found == code
        assert text in (message or "")

    with_node(scenario)


def test_one_resource_twice_in_a_request_is_refused_and_the_others_are_altered() -> None:
    async def scenario(node: HandlerNode) -> None:
        resource = incremental_alter_configs.AlterConfigsResource
        config = incremental_alter_configs.AlterableConfig(name="message.max.bytes", value="7")
        request = IncrementalAlterConfigsRequest(
            resources=[
                resource(resource_type=BROKER, resource_name="", configs=[config]),
                resource(resource_type=BROKER, resource_name="1", configs=[config]),
                resource(resource_type=BROKER, resource_name="", configs=[config]),
            ]
        )
        response = await node.ask(request, 1, IncrementalAlterConfigsResponse)
        assert [one.error_code for one in response.responses] == [INVALID_REQUEST, NONE, INVALID_REQUEST]
        assert response.responses[0].error_message == "Each resource must appear at most once."
        assert node.config.integer("message.max.bytes") == 7
        assert await node.configs.overrides("brokers", "<default>") == {}

    with_node(scenario, controller=False)


# -- log levels


def test_log_levels_are_described_and_changed() -> None:
    log = logging.getLogger(LEVELS)

    async def scenario(node: HandlerNode) -> None:
        async def level() -> str | None:
            (entry,) = (await describe(node, LOGGER, "1", LEVELS)).configs
            assert (entry.config_source, entry.read_only) == (6, False)
            return entry.value

        names = [entry.name for entry in (await describe(node, LOGGER, "1")).configs]
        assert names[0] == "root"
        assert all(name.startswith("moldau") for name in names[1:])
        for wanted in ("FATAL", "ERROR", "WARN", "INFO", "DEBUG", "TRACE"):
            assert await change(node, LOGGER, "1", (LEVELS, SET, wanted)) == (NONE, None)
            assert await level() == wanted
        assert await change(node, LOGGER, "1", (LEVELS, SET, "ERROR"), validate=True) == (NONE, None)
        assert await level() == "TRACE"
        assert await change(node, LOGGER, "1", (LEVELS, DELETE, None)) == (NONE, None)
        assert log.level == logging.NOTSET

    try:
        with_node(scenario, controller=False)
    finally:
        log.setLevel(logging.NOTSET)


@pytest.mark.parametrize(
    ("name", "operation", "code", "text"),
    [
        ("1", ("no.such", SET, "INFO"), INVALID_CONFIG, "Logger no.such does not exist!"),
        ("1", (LEVELS, SET, "LOUD"), INVALID_CONFIG, "LOUD as it is not a supported log level. Valid log levels are"),
        ("1", ("root", DELETE, None), INVALID_REQUEST, "Removing the log level of the root logger is not allowed"),
        ("1", (LEVELS, APPEND, "INFO"), INVALID_REQUEST, "APPEND operation is not allowed for the BROKER_LOGGER"),
        ("2", (LEVELS, SET, "INFO"), INVALID_REQUEST, "Unexpected broker id, expected 1, but received 2"),
    ],
)
def test_log_levels_that_make_no_sense_are_refused(
    name: str, operation: tuple[str, int, str | None], code: ErrorCode, text: str
) -> None:
    async def scenario(node: HandlerNode) -> None:
        found, message = await change(node, LOGGER, name, operation)
        assert found == code
        assert text in (message or "")
        assert (await replace(node, LOGGER, "1"))[0] == INVALID_REQUEST

    with_node(scenario, controller=False)


def test_a_request_that_fails_as_a_whole_fails_for_each_resource() -> None:
    code = ErrorCode.UNKNOWN_SERVER_ERROR
    one = described.refused(
        DescribeConfigsRequest(resources=[describe_configs.DescribeConfigsResource(resource_name="a")]), code, "why"
    )
    two = alter.refused(AlterConfigsRequest(resources=[alter_configs.AlterConfigsResource()]), code, "why")
    resource = incremental_alter_configs.AlterConfigsResource()
    three = incremental.refused(IncrementalAlterConfigsRequest(resources=[resource]), code, "why")
    assert [(result.error_code, result.error_message) for result in one.results] == [(code, "why")]
    assert [(result.error_code, result.error_message) for result in two.responses] == [(code, "why")]
    assert [(result.error_code, result.error_message) for result in three.responses] == [(code, "why")]
