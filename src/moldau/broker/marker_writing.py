"""Writing the ends of transactions into partitions that this broker leads: what WriteTxnMarkers asks for.

The coordinator of this broker asks without a request, which saves a tenth of a small transaction's work.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import partial
from typing import TYPE_CHECKING

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError
from moldau.cluster.internal_topics import CONSUMER_OFFSETS
from moldau.protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from moldau.records.control import ControlRecordType, EndTransactionMarker, build_end_transaction_marker
from moldau.replication.delayed_offsets import DelayedProduce
from moldau.replication.replicas import ACKS_ALL, TransactionalAppend
from moldau.storage.log_directory import TopicPartition
from moldau.storage.producer_append import AppendOrigin

if TYPE_CHECKING:
    from moldau.broker.node import Node

NOT_HERE = frozenset(
    (ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.COORDINATOR_NOT_AVAILABLE)
)
Outcomes = dict[TopicPartition, ErrorCode]
Ended = Callable[[ErrorCode], None]
Respond = Callable[[WriteTxnMarkersResponse], None]


def write_markers(node: Node, request: WriteTxnMarkersRequest, respond: Respond) -> None:
    """Write all of them; `respond` is called when the last is replicated, or cannot be."""
    _Writing(node, request.markers, respond).begin()


def refusal_of(request: WriteTxnMarkersRequest, code: ErrorCode) -> WriteTxnMarkersResponse:
    outcomes = [dict.fromkeys(_keys(marker), code) for marker in request.markers]
    return _response(request.markers, outcomes)


class _Writing:
    """The markers of one request."""

    def __init__(self, node: Node, markers: list[WritableTxnMarker], respond: Respond) -> None:
        self.node = node
        self.markers = markers
        self.respond = respond
        self.outcomes: list[Outcomes] = [{} for _ in markers]
        self.pending = sum(len(_keys(marker)) for marker in markers)

    def begin(self) -> None:
        if not self.pending:
            self._answer()
        for marker, outcomes in zip(self.markers, self.outcomes, strict=True):
            kind = ControlRecordType.COMMIT if marker.transaction_result else ControlRecordType.ABORT
            batch = build_end_transaction_marker(
                EndTransactionMarker(kind, marker.coordinator_epoch),
                marker.producer_id,
                marker.producer_epoch,
                self.node.clock.now_ms(),
            )
            for key in _keys(marker):
                self._write(marker, batch, key, partial(self._ended, outcomes, key))

    def _write(self, marker: WritableTxnMarker, batch: bytes, key: TopicPartition, ended: Ended) -> None:
        replicas = self.node.replicas
        found = replicas.partitions.get(key)
        if found is None or found.log is None:
            ended(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            return
        if key[0] == CONSUMER_OFFSETS:
            self._write_offsets(marker, batch, key[1], ended)
            return
        try:
            transaction = TransactionalAppend(transaction_version=marker.transaction_version)
            result = replicas.append(key, bytearray(batch), ACKS_ALL, AppendOrigin.COORDINATOR, transaction)
        except ApiError as error:
            ended(error.code)
            return
        required = result.last_offset + 1
        outcome = replicas.replicated_to(key, required)
        if outcome is not None:
            ended(outcome)
        else:
            self._wait(key, required, ended)

    def _write_offsets(self, marker: WritableTxnMarker, batch: bytes, partition: int, ended: Ended) -> None:
        def done(outcome: ErrorCode | ApiError) -> None:
            code = outcome.code if isinstance(outcome, ApiError) else outcome
            ended(ErrorCode.NOT_LEADER_OR_FOLLOWER if code in NOT_HERE else code)

        runtime = self.node.groups.runtime
        runtime.end_transaction(partition, batch, marker.producer_id, marker.transaction_result, done)

    def _wait(self, key: TopicPartition, required: int, ended: Ended) -> None:
        replicas = self.node.replicas

        def send(outcomes: dict[Hashable, ErrorCode]) -> None:
            ended(outcomes[key])

        timeout_ms = self.node.config.integer("request.timeout.ms")
        delayed = DelayedProduce(timeout_ms, {key: required}, replicas.replicated_to, send)  # type: ignore[arg-type]
        replicas.produces.try_complete_else_watch(delayed, [key])

    def _ended(self, outcomes: Outcomes, key: TopicPartition, code: ErrorCode) -> None:
        outcomes[key] = code
        self.pending -= 1
        if not self.pending:
            self._answer()

    def _answer(self) -> None:
        self.respond(_response(self.markers, self.outcomes))


def _keys(marker: WritableTxnMarker) -> list[TopicPartition]:
    return [(topic.name, partition) for topic in marker.topics for partition in topic.partition_indexes]


def _response(markers: list[WritableTxnMarker], outcomes: list[Outcomes]) -> WriteTxnMarkersResponse:
    return WriteTxnMarkersResponse(
        markers=[
            WritableTxnMarkerResult(producer_id=marker.producer_id, topics=_by_topic(of_marker))
            for marker, of_marker in zip(markers, outcomes, strict=True)
        ]
    )


def _by_topic(outcomes: Outcomes) -> list[WritableTxnMarkerTopicResult]:
    topics: dict[str, WritableTxnMarkerTopicResult] = {}
    for (topic, partition), code in outcomes.items():
        result = WritableTxnMarkerPartitionResult(partition_index=partition, error_code=code)
        topics.setdefault(topic, WritableTxnMarkerTopicResult(name=topic)).partitions.append(result)
    return list(topics.values())
