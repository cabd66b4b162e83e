"""DescribeTopicPartitions: topics in the order of their names, page by page (KIP-966).

No topic at all means every topic. A page ends after as many partitions as the client or
`max.request.partition.size.limit` allows; its cursor says where the next one begins. Nothing keeps the pages
together: what changes between them is seen or not. Eligible leader replicas exist with KRaft only; they are empty and
not null, which Java's client cannot read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError
from moldau.broker.authorized_operations import TOPIC_OPERATIONS
from moldau.broker.call import Call
from moldau.broker.handlers import handles
from moldau.cluster.internal_topics import INTERNAL_TOPICS
from moldau.cluster.metadata_answers import Era, View
from moldau.controller.topic_names import problem_of_topic_name
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
)
from moldau.protocol.messages.metadata import MetadataResponsePartition

if TYPE_CHECKING:
    from moldau.broker.node import Node


def refused(request: DescribeTopicPartitionsRequest, code: ErrorCode, _message: str) -> DescribeTopicPartitionsResponse:
    topics = [DescribeTopicPartitionsResponseTopic(error_code=code, name=topic.name) for topic in request.topics]
    return DescribeTopicPartitionsResponse(topics=topics)


@handles(ApiKey.DESCRIBE_TOPIC_PARTITIONS, "0", on_error=refused)
def describe_topic_partitions(
    node: Node, request: DescribeTopicPartitionsRequest, call: Call
) -> DescribeTopicPartitionsResponse:
    names = wanted(node, request)
    limit = node.config.integer("max.request.partition.size.limit")
    room = max(min(limit, request.response_partition_limit), 1)
    view = View(call.answer.connection.listener, Era.LISTENER_NOT_FOUND)
    response = DescribeTopicPartitionsResponse()
    for name in names:
        if room == 0:
            response.next_cursor = Cursor(topic_name=name, partition_index=0)
            break
        topic = node.metadata.answers.topic(name, view)
        if topic is None:
            response.topics.append(absent(name))
            continue
        cursor = request.cursor
        start = cursor.partition_index if cursor is not None and cursor.topic_name == name else 0
        page = topic.partitions[start : start + room]
        response.topics.append(
            DescribeTopicPartitionsResponseTopic(
                name=name,
                topic_id=topic.topic_id,
                is_internal=topic.is_internal,
                partitions=[described(partition) for partition in page],
                topic_authorized_operations=TOPIC_OPERATIONS,
            )
        )
        room -= len(page)
        if start + len(page) < len(topic.partitions):
            response.next_cursor = Cursor(topic_name=name, partition_index=start + len(page))
            break
    return response


def wanted(node: Node, request: DescribeTopicPartitionsRequest) -> list[str]:
    """The names from the cursor on, in order."""
    cursor = request.cursor
    first = "" if cursor is None else cursor.topic_name
    asked = {topic.name for topic in request.topics} or node.metadata.topics.keys()
    if cursor is not None and request.topics and first not in asked:
        text = f"DescribeTopicPartitionsRequest topic list should contain the cursor topic: {first}"
        raise ApiError(ErrorCode.INVALID_REQUEST, text)
    if cursor is not None and cursor.partition_index < 0:
        text = f"DescribeTopicPartitionsRequest cursor partition must be valid: {cursor.partition_index}"
        raise ApiError(ErrorCode.INVALID_REQUEST, text)
    return sorted(name for name in asked if name >= first)


def absent(name: str) -> DescribeTopicPartitionsResponseTopic:
    is_legal = problem_of_topic_name(name) is None
    return DescribeTopicPartitionsResponseTopic(
        error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if is_legal else ErrorCode.INVALID_TOPIC_EXCEPTION,
        name=name,
        is_internal=name in INTERNAL_TOPICS,
        topic_authorized_operations=TOPIC_OPERATIONS,
    )


def described(partition: MetadataResponsePartition) -> DescribeTopicPartitionsResponsePartition:
    return DescribeTopicPartitionsResponsePartition(
        partition_index=partition.partition_index,
        leader_id=partition.leader_id,
        leader_epoch=partition.leader_epoch,
        replica_nodes=partition.replica_nodes,
        isr_nodes=partition.isr_nodes,
        offline_replicas=partition.offline_replicas,
        eligible_leader_replicas=[],
        last_known_elr=[],
    )
