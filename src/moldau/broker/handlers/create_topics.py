"""CreateTopics: the active controller creates topics, and answers when all their partitions have leaders.

v1 adds validate_only and error messages, v5 the configuration that came of it (KIP-525), v7 topic ids. Up to 3 no
default could be asked for by -1 (KIP-464); we take it in every version, as Kafka does. A client that is not willing to
wait is answered REQUEST_TIMED_OUT, and the topic is created all the same.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from moldau.base.config.topic_config import TopicConfig
from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError
from moldau.broker.call import Call
from moldau.broker.handlers import handles
from moldau.controller.topic_admin import NewTopic
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.create_topics import (
    CreatableTopicConfigs,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)

if TYPE_CHECKING:
    from moldau.broker.node import Node

CLUSTER_METADATA: Final = "__cluster_metadata"  # the log of KRaft controllers, never a topic


def refused(request: CreateTopicsRequest, code: ErrorCode, message: str) -> CreateTopicsResponse:
    error = ApiError(code, message)
    return CreateTopicsResponse(topics=[failed(topic.name, error) for topic in request.topics])


def failed(name: str, error: ApiError) -> CreatableTopicResult:
    return CreatableTopicResult(name=name, error_code=error.code, error_message=error.message or None)


@handles(ApiKey.CREATE_TOPICS, "0-7", on_error=refused)
async def create_topics(node: Node, request: CreateTopicsRequest, call: Call) -> CreateTopicsResponse:
    if not node.controller.is_active:
        raise ApiError(ErrorCode.NOT_CONTROLLER, f"the controller is broker {node.metadata.controller_id}")
    call.park()
    errors = request_errors(request)
    topics = [topic for topic in request.topics if topic.name not in errors]
    outcomes = await node.topics.create(topics, validate_only=request.validate_only)
    created = {name: topic for name, topic in outcomes.items() if isinstance(topic, NewTopic)}
    if not request.validate_only:
        partitions = {name: topic.assignment.keys() for name, topic in created.items()}
        for name in await node.topics.waits.until_led(partitions, request.timeout_ms):
            outcomes[name] = ApiError(ErrorCode.REQUEST_TIMED_OUT, "The topic is being created.")
    results = [result(topic.name, errors.get(topic.name) or outcomes[topic.name]) for topic in request.topics]
    if call.version >= 5:
        describe(results, created)
    if not request.validate_only:
        for answer in results:
            if answer.name in created:
                answer.topic_id = created[answer.name].topic_id
    return CreateTopicsResponse(topics=results)


def request_errors(request: CreateTopicsRequest) -> dict[str, ApiError]:
    """What is wrong with names whatever topics there are."""
    times = Counter(topic.name for topic in request.topics)
    errors = {
        name: ApiError(ErrorCode.INVALID_REQUEST, "Found multiple entries for this topic.")
        for name, count in times.items()
        if count > 1
    }
    if CLUSTER_METADATA in times:
        text = f"Creation of internal topic {CLUSTER_METADATA} is prohibited."
        errors[CLUSTER_METADATA] = ApiError(ErrorCode.INVALID_REQUEST, text)
    return errors


def result(name: str, outcome: NewTopic | ApiError) -> CreatableTopicResult:
    if isinstance(outcome, ApiError):
        return failed(name, outcome)
    return CreatableTopicResult(name=name)


def describe(results: list[CreatableTopicResult], created: dict[str, NewTopic]) -> None:
    """Add what came of each topic; those of a request that set the same are described once."""
    made: dict[frozenset[tuple[str, object]], list[CreatableTopicConfigs]] = {}
    for answer in results:
        if answer.error_code:
            continue
        topic = created[answer.name]
        answer.num_partitions = len(topic.assignment)
        answer.replication_factor = len(topic.assignment[0])
        overrides = frozenset(topic.config.layer.entries.items())
        if overrides not in made:
            made[overrides] = described(topic.config)
        answer.configs = made[overrides]


def described(config: TopicConfig) -> list[CreatableTopicConfigs]:
    return [
        CreatableTopicConfigs(
            name=entry.name,
            value=entry.value,
            read_only=entry.read_only,
            config_source=entry.source,
            is_sensitive=entry.sensitive,
        )
        for entry in config.describe()
    ]
