"""DeleteTopics: the active controller deletes topics, and answers when no broker knows them any more.

v3 can say TOPIC_DELETION_DISABLED, v5 has error messages, v6 takes names or ids (KIP-516). A topic whose deletion is
under way already is waited for like the others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError
from moldau.base.ids import ZERO_UUID
from moldau.broker.call import Call
from moldau.broker.handlers import handles
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)

if TYPE_CHECKING:
    from moldau.broker.node import Node


def asked(request: DeleteTopicsRequest) -> list[DeleteTopicState]:
    """What is to be deleted; up to version 5 there are only names."""
    return request.topics or [DeleteTopicState(name=name) for name in request.topic_names]


def refused(request: DeleteTopicsRequest, code: ErrorCode, message: str) -> DeleteTopicsResponse:
    error = ApiError(code, message)
    return DeleteTopicsResponse(responses=[result(topic, topic.name, error) for topic in asked(request)])


def result(topic: DeleteTopicState, name: str | None, error: ApiError | None) -> DeletableTopicResult:
    answer = DeletableTopicResult(name=name, topic_id=topic.topic_id)
    if error is not None:
        answer.error_code, answer.error_message = error.code, error.message or None
    return answer


@handles(ApiKey.DELETE_TOPICS, "0-6", on_error=refused)
async def delete_topics(node: Node, request: DeleteTopicsRequest, call: Call) -> DeleteTopicsResponse:
    check_allowed(node, call.version)
    call.park()
    topics = asked(request)
    names = [name_of(node, topic) for topic in topics]
    known = dict.fromkeys(name for name in names if name is not None and name in node.metadata.topics)
    errors = await node.topics.delete(known)
    deleting = [marked for marked, error in errors.items() if error is None]
    for late in await node.topics.waits.until_gone(deleting, request.timeout_ms):
        errors[late] = ApiError(ErrorCode.REQUEST_TIMED_OUT, "The topic is being deleted.")
    await node.topics.settle_deletions([name for name in deleting if errors[name] is None], request.timeout_ms)
    responses = []
    for topic, name in zip(topics, names, strict=True):
        if name is None:
            error: ApiError | None = ApiError(ErrorCode.UNKNOWN_TOPIC_ID, "This server does not host this topic ID.")
        elif name in errors:
            error = errors[name]
        else:
            error = ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"Topic `{name}` to delete does not exist")
        responses.append(result(topic, name, error))
    return DeleteTopicsResponse(responses=responses)


def check_allowed(node: Node, version: int) -> None:
    if not node.controller.is_active:
        raise ApiError(ErrorCode.NOT_CONTROLLER, f"the controller is broker {node.metadata.controller_id}")
    if not node.config.boolean("delete.topic.enable"):
        code = ErrorCode.INVALID_REQUEST if version < 3 else ErrorCode.TOPIC_DELETION_DISABLED
        raise ApiError(code, "Topic deletion is disabled: delete.topic.enable is false.")


def name_of(node: Node, topic: DeleteTopicState) -> str | None:
    """The name of the topic that is meant; None if its id is unknown."""
    if topic.topic_id == ZERO_UUID:
        if topic.name is None:
            raise ApiError(ErrorCode.INVALID_REQUEST, "Neither topic name nor id were specified.")
        return topic.name
    if topic.name is not None:
        raise ApiError(ErrorCode.INVALID_REQUEST, "Topic name and topic ID can not both be specified.")
    return node.metadata.topic_names.get(topic.topic_id)
