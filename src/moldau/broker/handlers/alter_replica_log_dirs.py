"""AlterReplicaLogDirs: move replicas to another directory of this broker while they are in use (KIP-113).

The answer comes when the moves have begun. A replica that is not here yet will be made in the directory that was
asked for: REPLICA_NOT_AVAILABLE says so.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError
from moldau.broker.call import Call
from moldau.broker.handlers import handles
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.alter_replica_log_dirs import (
    AlterReplicaLogDirPartitionResult,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopicResult,
)
from moldau.storage.log_directory import TopicPartition

if TYPE_CHECKING:
    from moldau.broker.node import Node


def refused(request: AlterReplicaLogDirsRequest, code: ErrorCode, _message: str) -> AlterReplicaLogDirsResponse:
    return response_of(dict.fromkeys(targets_of(request), code))


def targets_of(request: AlterReplicaLogDirsRequest) -> dict[TopicPartition, str]:
    return {
        (topic.name, partition): directory.path
        for directory in request.dirs
        for topic in directory.topics
        for partition in topic.partitions
    }


def response_of(outcomes: dict[TopicPartition, ErrorCode]) -> AlterReplicaLogDirsResponse:
    topics: dict[str, AlterReplicaLogDirTopicResult] = {}
    for (topic, partition), code in outcomes.items():
        result = AlterReplicaLogDirPartitionResult(partition_index=partition, error_code=code)
        topics.setdefault(topic, AlterReplicaLogDirTopicResult(topic_name=topic)).partitions.append(result)
    return AlterReplicaLogDirsResponse(results=list(topics.values()))


@handles(ApiKey.ALTER_REPLICA_LOG_DIRS, "0-2", on_error=refused)
async def alter_replica_log_dirs(
    node: Node, request: AlterReplicaLogDirsRequest, _call: Call
) -> AlterReplicaLogDirsResponse:
    outcomes = {}
    for key, target in targets_of(request).items():
        try:
            await node.replica_moves.move(key, Path(target))
            outcomes[key] = ErrorCode.NONE
        except ApiError as error:
            outcomes[key] = error.code
    return response_of(outcomes)
