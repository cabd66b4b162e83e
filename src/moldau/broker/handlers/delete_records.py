"""DeleteRecords: forget the records before an offset; answered when all replicas have done so (KIP-107)."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError
from moldau.broker.call import Call
from moldau.broker.handlers import handles
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.delete_records import (
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)
from moldau.replication.delayed_offsets import INVALID_LOW_WATERMARK, DelayedDeleteRecords, DeleteRecordsOutcome
from moldau.storage.log_directory import TopicPartition

if TYPE_CHECKING:
    from moldau.broker.node import Node


def refused(request: DeleteRecordsRequest, code: ErrorCode, _message: str) -> DeleteRecordsResponse:
    keys = [(topic.name, one.partition_index) for topic in request.topics for one in topic.partitions]
    return response_of(dict.fromkeys(keys, DeleteRecordsOutcome(code, INVALID_LOW_WATERMARK)))


def response_of(outcomes: dict[TopicPartition, DeleteRecordsOutcome]) -> DeleteRecordsResponse:
    topics: dict[str, DeleteRecordsTopicResult] = {}
    for (topic, index), outcome in outcomes.items():
        result = DeleteRecordsPartitionResult(
            partition_index=index, low_watermark=outcome.low_watermark, error_code=outcome.error
        )
        topics.setdefault(topic, DeleteRecordsTopicResult(name=topic)).partitions.append(result)
    return DeleteRecordsResponse(topics=list(topics.values()))


@handles(ApiKey.DELETE_RECORDS, "0-2", on_error=refused)
def delete_records(node: Node, request: DeleteRecordsRequest, call: Call) -> None:
    wanted = {(topic.name, one.partition_index): one.offset for topic in request.topics for one in topic.partitions}
    outcomes: dict[TopicPartition, DeleteRecordsOutcome] = {}
    required: dict[Hashable, int] = {}
    for key, offset in wanted.items():
        try:
            required[key] = _delete(node, key, offset)
        except ApiError as error:
            outcomes[key] = DeleteRecordsOutcome(error.code, INVALID_LOW_WATERMARK)

    def check(key: Hashable, offset: int) -> DeleteRecordsOutcome | None:
        try:
            low_watermark = node.replicas.partition(key).low_watermark()  # type: ignore[arg-type]
        except ApiError as error:
            return DeleteRecordsOutcome(error.code, INVALID_LOW_WATERMARK)
        return DeleteRecordsOutcome(ErrorCode.NONE, low_watermark) if low_watermark >= offset else None

    def send(found: dict[Hashable, DeleteRecordsOutcome]) -> None:
        call.respond(response_of({key: outcomes.get(key) or found[key] for key in wanted}))

    delayed = DelayedDeleteRecords(request.timeout_ms, required, check, send)
    call.park()
    node.replicas.deletions.try_complete_else_watch(delayed, required)


def _delete(node: Node, key: TopicPartition, offset: int) -> int:
    """Move the start of the log; the offset that all replicas have to come to."""
    if key[0] in node.internal_topics:
        raise ApiError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"{key[0]} is internal")
    partition = node.replicas.partition(key)
    log = partition.require_log()
    if not log.settings.delete and log.settings.compact:
        raise ApiError(ErrorCode.POLICY_VIOLATION, f"{key[0]} is compacted, and its records are not deleted")
    target = partition.offset_to_delete_to(offset)
    try:
        log.advance_log_start_offset(target)
    except OSError as error:
        raise node.directories.failed(log, error) from error
    return target
