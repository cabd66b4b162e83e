"""OffsetCommit: store the offsets that a group has consumed.

Version 0 stores them in the coordination store, as Kafka did before 0.9. 1 brings membership and a timestamp for each
partition, 2 to 4 a retention for the request, from 9 on an unknown group is GROUP_ID_NOT_FOUND, from 10 on topics go
by id.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError
from moldau.base.supervision import OnFailure
from moldau.broker.call import Call
from moldau.broker.coordinated import Done, answering
from moldau.broker.handlers import handles
from moldau.broker.offset_topics import name_topics, take_out_unknown
from moldau.broker.repeated_commit import expect_repetition
from moldau.cluster.errors import CoordinationError
from moldau.coordinator.group.zookeeper_offsets import store_offset
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)

if TYPE_CHECKING:
    from moldau.broker.node import Node

TOPIC_IDS_VERSION = 10


def answered(name: str, topic_id: bytes, indexes: Iterable[int], code: ErrorCode) -> OffsetCommitResponseTopic:
    partitions = [OffsetCommitResponsePartition(partition_index=index, error_code=code) for index in indexes]
    return OffsetCommitResponseTopic(name=name, topic_id=topic_id, partitions=partitions)


def refused(request: OffsetCommitRequest, code: ErrorCode, _message: str) -> OffsetCommitResponse:
    topics = [
        answered(topic.name, topic.topic_id, (one.partition_index for one in topic.partitions), code)
        for topic in request.topics
    ]
    return OffsetCommitResponse(topics=topics)


@handles(ApiKey.OFFSET_COMMIT, "0-10", on_error=refused)
def offset_commit(node: Node, request: OffsetCommitRequest, call: Call) -> OffsetCommitResponse | None:
    others: list[OffsetCommitResponseTopic] = []
    if call.version >= TOPIC_IDS_VERSION:
        for topic in name_topics(node.metadata, request.topics):
            request.topics.remove(topic)
            indexes = [one.partition_index for one in topic.partitions]
            others.append(answered("", topic.topic_id, indexes, ErrorCode.UNKNOWN_TOPIC_ID))
    others += [answered(*unknown) for unknown in take_out_unknown(node.metadata, request)]
    if others and not request.topics:
        return OffsetCommitResponse(topics=others)
    answer = answering(call, request, refused)
    done = partial(merge, request, others, answer) if others else answer
    if call.version == 0:
        node.supervisor.start("store offsets", partial(store, node, request, done), OnFailure.LOG)
    else:
        node.groups.commit(request, call.version, done if others else partial(repeatable, node, request, call, answer))
    return None


def repeatable(node: Node, request: OffsetCommitRequest, call: Call, answer: Done, outcome: Any) -> None:
    """Answer, and expect the next commit to be like this one if it went well."""
    if not isinstance(outcome, ApiError):
        expect_repetition(node, request, call, outcome)
    answer(outcome)


def merge(request: OffsetCommitRequest, others: list[OffsetCommitResponseTopic], answer: Done, outcome: Any) -> None:
    """Answer for the partitions that were left out as well."""
    response = refused(request, outcome.code, "") if isinstance(outcome, ApiError) else outcome
    for other in others:
        same = next((topic for topic in response.topics if topic.name == other.name and other.name), None)
        if same is None:
            response.topics.append(other)
        else:
            same.partitions += other.partitions
    answer(response)


async def store(node: Node, request: OffsetCommitRequest, done: Done) -> None:
    response = refused(request, ErrorCode.NONE, "")
    try:
        for topic in request.topics:
            for one in topic.partitions:
                at = request.group_id, topic.name, one.partition_index
                await store_offset(node.session, *at, one.committed_offset)
    except ApiError as error:
        response = refused(request, error.code, error.message)
    except CoordinationError:
        response = refused(request, ErrorCode.UNKNOWN_SERVER_ERROR, "")
    done(response)
