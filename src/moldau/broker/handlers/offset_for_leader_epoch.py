"""OffsetForLeaderEpoch: where an epoch of a partition ends, so that who has more can cut it off (KIP-101, KIP-320)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError
from moldau.broker.call import Call
from moldau.broker.handlers import handles
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopicResult,
)

if TYPE_CHECKING:
    from moldau.broker.node import Node


def refused(request: OffsetForLeaderEpochRequest, code: ErrorCode, _message: str) -> OffsetForLeaderEpochResponse:
    return OffsetForLeaderEpochResponse(
        topics=[
            OffsetForLeaderTopicResult(
                topic=topic.topic,
                partitions=[EpochEndOffset(partition=one.partition, error_code=code) for one in topic.partitions],
            )
            for topic in request.topics
        ]
    )


@handles(ApiKey.OFFSET_FOR_LEADER_EPOCH, "0-4", on_error=refused)
def offset_for_leader_epoch(
    node: Node, request: OffsetForLeaderEpochRequest, _call: Call
) -> OffsetForLeaderEpochResponse:
    return OffsetForLeaderEpochResponse(
        topics=[
            OffsetForLeaderTopicResult(
                topic=topic.topic, partitions=[_end_offset(node, topic.topic, one) for one in topic.partitions]
            )
            for topic in request.topics
        ]
    )


def _end_offset(node: Node, topic: str, asked: OffsetForLeaderPartition) -> EpochEndOffset:
    try:
        partition = node.replicas.partition((topic, asked.partition))
        found = partition.end_offset_for_epoch(asked.leader_epoch, asked.current_leader_epoch)
    except ApiError as error:
        return EpochEndOffset(partition=asked.partition, error_code=error.code)
    return EpochEndOffset(partition=asked.partition, leader_epoch=found.epoch, end_offset=found.end_offset)
