"""TxnOffsetCommit: store consumed offsets, which count when the producer's transaction is committed.

From version 3 on the consumer's membership is told and checked, so that a zombie is fenced (KIP-447). Up to version 1
clients do not expect COORDINATOR_LOAD_IN_PROGRESS, and hear COORDINATOR_NOT_AVAILABLE instead.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError
from moldau.broker.call import Call
from moldau.broker.coordinated import answering
from moldau.broker.handlers import handles
from moldau.broker.offset_topics import take_out_unknown
from moldau.broker.transaction_verification import verify_offsets
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)

if TYPE_CHECKING:
    from moldau.broker.node import Node

LOADING_VERSION = 2


def answered(name: str, indexes: Iterable[int], code: ErrorCode) -> TxnOffsetCommitResponseTopic:
    partitions = [TxnOffsetCommitResponsePartition(partition_index=index, error_code=code) for index in indexes]
    return TxnOffsetCommitResponseTopic(name=name, partitions=partitions)


def refused(request: TxnOffsetCommitRequest, code: ErrorCode, _message: str) -> TxnOffsetCommitResponse:
    topics = [answered(topic.name, (one.partition_index for one in topic.partitions), code) for topic in request.topics]
    return TxnOffsetCommitResponse(topics=topics)


@handles(ApiKey.TXN_OFFSET_COMMIT, "0-4", on_error=refused)
def txn_offset_commit(node: Node, request: TxnOffsetCommitRequest, call: Call) -> TxnOffsetCommitResponse | None:
    unknown = take_out_unknown(node.metadata, request)
    others = [answered(name, indexes, code) for name, _, indexes, code in unknown]
    if others and not request.topics:
        return TxnOffsetCommitResponse(topics=others)
    answer = answering(call, request, refused)

    def done(outcome: Any) -> None:
        if isinstance(outcome, ApiError):
            code = outcome.code
            if code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS and call.version < LOADING_VERSION:
                code = ErrorCode.COORDINATOR_NOT_AVAILABLE
            outcome = refused(request, code, "")
        for other in others:
            same = next((topic for topic in outcome.topics if topic.name == other.name), None)
            if same is None:
                outcome.topics.append(other)
            else:
                same.partitions += other.partitions
        answer(outcome)

    verify_offsets(node, request, call.version, lambda: node.groups.commit_in_transaction(request, done), done)
    return None
