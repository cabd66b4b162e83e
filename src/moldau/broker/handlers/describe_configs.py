"""DescribeConfigs: the settings of topics and of this broker, and where their values come from.

v0 says of an entry whether it has its default, v1 where its value comes from and which other names could supply it
(KIP-226), v3 its type and documentation (KIP-569). The broker without a name shows what is set for all brokers. A
broker's settings, and its log levels, are known to that broker alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from typing import TYPE_CHECKING, Final

from moldau.base.config.describe import ConfigEntry
from moldau.base.config.layer import ConfigSource
from moldau.base.config.topic_config import TopicConfig
from moldau.base.config.value_types import ConfigType
from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError
from moldau.broker.broker_loggers import logger_levels
from moldau.broker.call import Call
from moldau.broker.config_resources import ResourceType, check_broker_id
from moldau.broker.handlers import handles
from moldau.controller.topic_names import check_topic_name
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)

if TYPE_CHECKING:
    from moldau.broker.node import Node

RESOURCES_PER_TURN: Final = 20  # a tool asks for thousands of topics at once, and others are served meanwhile


def refused(request: DescribeConfigsRequest, code: ErrorCode, message: str) -> DescribeConfigsResponse:
    return DescribeConfigsResponse(results=[failed(resource, code, message) for resource in request.resources])


def failed(resource: DescribeConfigsResource, code: ErrorCode, message: str) -> DescribeConfigsResult:
    return DescribeConfigsResult(
        error_code=code,
        error_message=message,
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
    )


@handles(ApiKey.DESCRIBE_CONFIGS, "0-4", on_error=refused)
async def describe_configs(node: Node, request: DescribeConfigsRequest, call: Call) -> DescribeConfigsResponse:
    results = []
    # Topics without settings of their own share one configuration, and what is said of it.
    of_topics: dict[tuple[int, tuple[str, ...]], tuple[TopicConfig, list[DescribeConfigsResourceResult]]] = {}
    for number, resource in enumerate(request.resources, 1):
        answer = failed(resource, ErrorCode.NONE, "")
        names = tuple(resource.configuration_keys or ())
        try:
            if resource.resource_type == ResourceType.TOPIC:
                config = await topic_config(node, resource.resource_name)
                if (id(config), names) not in of_topics:
                    entries = config.describe(names or None)
                    made = [described(entry, request, call.version) for entry in entries]
                    of_topics[id(config), names] = config, made
                answer.configs = of_topics[id(config), names][1]
            else:
                entries = broker_entries(node, resource, names or None)
                answer.configs = [described(entry, request, call.version) for entry in entries]
        except ApiError as error:
            answer = failed(resource, error.code, error.message)
        results.append(answer)
        if number % RESOURCES_PER_TURN == 0:
            await asyncio.sleep(0)
    return DescribeConfigsResponse(results=results)


async def topic_config(node: Node, topic: str) -> TopicConfig:
    check_topic_name(topic)
    if topic not in node.metadata.topics:
        raise ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{topic}' does not exist.")
    return await node.configs.read_topic(topic)


def broker_entries(node: Node, resource: DescribeConfigsResource, names: Collection[str] | None) -> list[ConfigEntry]:
    name = resource.resource_name
    match ResourceType(resource.resource_type):
        case ResourceType.BROKER:
            if not name:
                return node.config.describe_cluster_default(names)
            check_broker_id(node, name, " or empty string")
            return node.config.describe(names)
        case ResourceType.BROKER_LOGGER:
            if not name:
                raise ApiError(ErrorCode.INVALID_REQUEST, "Broker id must not be empty")
            check_broker_id(node, name, "")
            return [level_entry(*one) for one in logger_levels().items() if names is None or one[0] in names]
        case other:
            number = resource.resource_type
            raise ApiError(ErrorCode.INVALID_REQUEST, f"Unsupported resource type: {other.name} ({number})")


def level_entry(name: str, level: str) -> ConfigEntry:
    return ConfigEntry(
        name=name,
        value=level,
        source=ConfigSource.DYNAMIC_BROKER_LOGGER,
        read_only=False,
        sensitive=False,
        type=ConfigType.UNKNOWN,
        documentation=None,
        synonyms=(),
    )


def described(entry: ConfigEntry, request: DescribeConfigsRequest, version: int) -> DescribeConfigsResourceResult:
    result = DescribeConfigsResourceResult(
        name=entry.name,
        value=None if entry.sensitive else entry.value,
        read_only=entry.read_only,
        config_source=entry.source,
        is_sensitive=entry.sensitive,
        config_type=entry.type,
    )
    if version == 0:
        result.is_default = entry.is_default
    if request.include_synonyms:
        result.synonyms = [
            DescribeConfigsSynonym(name=synonym.name, value=synonym.value, source=synonym.source)
            for synonym in entry.synonyms
        ]
    if request.include_documentation:
        result.documentation = entry.documentation
    return result
