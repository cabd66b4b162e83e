"""ListOffsets: the offset of a time, and of the beginnings and ends that have negative numbers for times.

Version 0 answers with a list of the beginnings of segments. From version 2 consumers of committed records get the last
stable offset as the latest, from 4 leader epochs are checked and told.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError
from moldau.broker.call import Call
from moldau.broker.handlers import handles
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from moldau.replication.delayed_fetch import FetchIsolation
from moldau.replication.offset_search import LATEST_TIMESTAMP, NO_EPOCH, find_by_timestamp, segment_offsets_before

if TYPE_CHECKING:
    from moldau.broker.node import Node

CONSUMER = -1
DEBUGGING = -2
READ_COMMITTED = 1
EPOCHS_VERSION = 4
OFFSET_NOT_AVAILABLE_VERSION = 5
# From which version on a timestamp means what it does; before, it is refused.
SPECIAL_SINCE = {-3: 7, -4: 8, -5: 9, -6: 11}


def refused(request: ListOffsetsRequest, code: ErrorCode, _message: str) -> ListOffsetsResponse:
    return ListOffsetsResponse(
        topics=[
            ListOffsetsTopicResponse(
                name=topic.name,
                partitions=[
                    ListOffsetsPartitionResponse(partition_index=partition.partition_index, error_code=code)
                    for partition in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


@handles(ApiKey.LIST_OFFSETS, "0-11", on_error=refused)
async def list_offsets(node: Node, request: ListOffsetsRequest, call: Call) -> ListOffsetsResponse:
    asked = [(topic.name, partition.partition_index) for topic in request.topics for partition in topic.partitions]
    duplicates = {key for key in asked if asked.count(key) > 1} if len(set(asked)) < len(asked) else set()
    topics = []
    for topic in request.topics:
        partitions = []
        for partition in topic.partitions:
            try:
                is_ambiguous = (topic.name, partition.partition_index) in duplicates and call.version >= 1
                found = _twice(partition) if is_ambiguous else _find(node, request, call.version, topic.name, partition)
                partitions.append(await found)
            except ApiError as error:
                failed = ListOffsetsPartitionResponse(partition_index=partition.partition_index, error_code=error.code)
                partitions.append(failed)
        topics.append(ListOffsetsTopicResponse(name=topic.name, partitions=partitions))
    return ListOffsetsResponse(topics=topics)


async def _twice(asked: ListOffsetsPartition) -> ListOffsetsPartitionResponse:
    return ListOffsetsPartitionResponse(partition_index=asked.partition_index, error_code=ErrorCode.INVALID_REQUEST)


async def _find(
    node: Node, request: ListOffsetsRequest, version: int, topic: str, asked: ListOffsetsPartition
) -> ListOffsetsPartitionResponse:
    timestamp, index = asked.timestamp, asked.partition_index
    if timestamp < -2 and version < SPECIAL_SINCE.get(timestamp, version + 1):
        raise ApiError(ErrorCode.UNSUPPORTED_VERSION, f"timestamp {timestamp} means nothing in version {version}")
    partition = node.replicas.partition((topic, index))
    is_consumer = request.replica_id == CONSUMER
    log = partition.require_log(asked.current_leader_epoch, only_leader=request.replica_id != DEBUGGING)
    isolation = FetchIsolation.LOG_END
    if is_consumer:
        committed = request.isolation_level == READ_COMMITTED
        isolation = FetchIsolation.TXN_COMMITTED if committed else FetchIsolation.HIGH_WATERMARK
    loop = asyncio.get_running_loop()
    try:
        if version == 0:
            bound = log.high_watermark if is_consumer else log.log_end_offset
            offsets = await loop.run_in_executor(
                node.readers, segment_offsets_before, log, timestamp, bound, asked.max_num_offsets
            )
            return ListOffsetsPartitionResponse(partition_index=index, old_style_offsets=offsets)
        if is_consumer and timestamp == LATEST_TIMESTAMP:
            _check_new_leader(log.high_watermark, partition.leader_epoch_start_offset, version)
        found = await find_by_timestamp(log, timestamp, isolation, node.readers)
    except OSError as error:
        raise node.directories.failed(log, error) from error
    epoch = found.leader_epoch if version >= EPOCHS_VERSION else NO_EPOCH
    return ListOffsetsPartitionResponse(
        partition_index=index, timestamp=found.timestamp, offset=found.offset, leader_epoch=epoch
    )


def _check_new_leader(high_watermark: int, epoch_start: int | None, version: int) -> None:
    """A new leader that does not know yet what is committed must not let a consumer go back (KIP-207)."""
    if epoch_start is not None and high_watermark < epoch_start:
        is_new = version >= OFFSET_NOT_AVAILABLE_VERSION
        code = ErrorCode.OFFSET_NOT_AVAILABLE if is_new else ErrorCode.LEADER_NOT_AVAILABLE
        raise ApiError(code, "the high watermark of the new leader is not known yet")
