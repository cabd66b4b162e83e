"""DescribeLogDirs: which replicas are in which directory, and how large they are (KIP-113); the disks' space (KIP-827).

`offset_lag` of a replica is what it is behind the high watermark, and of one that is being moved here, what it is
behind the one that it will replace.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Collection
from typing import TYPE_CHECKING

from moldau.base.error_codes import ErrorCode
from moldau.broker.call import Call
from moldau.broker.handlers import handles
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.describe_log_dirs import (
    DescribeLogDirsPartition,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)
from moldau.storage.log import Log
from moldau.storage.log_directory import LogDirectory, TopicPartition

if TYPE_CHECKING:
    from moldau.broker.node import Node


def refused(_request: DescribeLogDirsRequest, code: ErrorCode, _message: str) -> DescribeLogDirsResponse:
    return DescribeLogDirsResponse(error_code=code)


@handles(ApiKey.DESCRIBE_LOG_DIRS, "0-5", on_error=refused)
async def describe_log_dirs(node: Node, request: DescribeLogDirsRequest, _call: Call) -> DescribeLogDirsResponse:
    wanted: Collection[TopicPartition] | None = None
    if request.topics is not None:
        wanted = {(topic.topic, partition) for topic in request.topics for partition in topic.partitions}
    results = []
    for directory in node.directories.directories:
        if not directory.is_online:
            results.append(DescribeLogDirsResult(error_code=ErrorCode.KAFKA_STORAGE_ERROR, log_dir=str(directory.path)))
            continue
        usage = await asyncio.get_running_loop().run_in_executor(node.readers, shutil.disk_usage, directory.path)
        results.append(
            DescribeLogDirsResult(
                log_dir=str(directory.path),
                topics=_topics(node, directory, wanted),
                total_bytes=usage.total,
                usable_bytes=usage.free,
            )
        )
    return DescribeLogDirsResponse(results=results)


def _topics(
    node: Node, directory: LogDirectory, wanted: Collection[TopicPartition] | None
) -> list[DescribeLogDirsTopic]:
    topics: dict[str, DescribeLogDirsTopic] = {}
    for is_future, logs in ((False, directory.logs), (True, directory.future_logs)):
        for key, log in sorted(logs.items()):
            if wanted is None or key in wanted:
                found = topics.setdefault(key[0], DescribeLogDirsTopic(name=key[0]))
                found.partitions.append(_partition(node, key, log, is_future))
    return list(topics.values())


def _partition(node: Node, key: TopicPartition, log: Log, is_future: bool) -> DescribeLogDirsPartition:
    current = node.directories.logs.get(key, log)
    behind = current.log_end_offset if is_future else log.high_watermark
    return DescribeLogDirsPartition(
        partition_index=key[1],
        partition_size=log.size_bytes,
        offset_lag=max(behind - log.log_end_offset, 0),
        is_future_key=is_future,
    )
