"""CreatePartitions: the active controller adds partitions to topics, and answers when the new ones have leaders.

No version changed what it means. `count` is the number of partitions afterwards, not of those that are added.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError
from moldau.broker.call import Call
from moldau.broker.handlers import handles
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopicResult,
)

if TYPE_CHECKING:
    from moldau.broker.node import Node


def refused(request: CreatePartitionsRequest, code: ErrorCode, message: str) -> CreatePartitionsResponse:
    error = ApiError(code, message)
    names = dict.fromkeys(topic.name for topic in request.topics)
    return CreatePartitionsResponse(results=[result(name, error) for name in names])


def result(name: str, error: ApiError | None) -> CreatePartitionsTopicResult:
    if error is None:
        return CreatePartitionsTopicResult(name=name)
    return CreatePartitionsTopicResult(name=name, error_code=error.code, error_message=error.message or None)


@handles(ApiKey.CREATE_PARTITIONS, "0-3", on_error=refused)
async def create_partitions(node: Node, request: CreatePartitionsRequest, call: Call) -> CreatePartitionsResponse:
    if not node.controller.is_active:
        raise ApiError(ErrorCode.NOT_CONTROLLER, f"the controller is broker {node.metadata.controller_id}")
    call.park()
    times = Counter(topic.name for topic in request.topics)
    single = [topic for topic in request.topics if times[topic.name] == 1]
    outcomes = await node.topics.expand(single, validate_only=request.validate_only)
    errors: dict[str, ApiError | None] = {
        name: ApiError(ErrorCode.INVALID_REQUEST, "Duplicate topic in request.") for name in times if times[name] > 1
    }
    added = {}
    for name, outcome in outcomes.items():
        if isinstance(outcome, ApiError):
            errors[name] = outcome
        else:
            added[name] = outcome.keys()
    if not request.validate_only:
        for name in await node.topics.waits.until_led(added, request.timeout_ms):
            errors[name] = ApiError(ErrorCode.REQUEST_TIMED_OUT, "The partitions are being created.")
    return CreatePartitionsResponse(results=[result(name, errors.get(name)) for name in times])
