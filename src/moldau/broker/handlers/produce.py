"""Produce: append record batches to partitions.

acks=0 gets no answer, and an error closes the connection, since there is no other way to tell; acks=1 is answered when
the leader has written, acks=all when all in-sync replicas have. From version 3 exactly one v2 batch per partition is
taken, from 7 it may be zstd, from 13 topics go by id. Records of a transaction need its transactional id, and a
partition that has been made part of it.
"""

from __future__ import annotations

import logging
from collections.abc import Hashable
from typing import TYPE_CHECKING

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError
from moldau.base.supervision import OnFailure
from moldau.broker.call import Call
from moldau.broker.handlers import handles
from moldau.broker.leaders import add_leader
from moldau.broker.plain_produce import produce_plain
from moldau.broker.produced import check_format
from moldau.broker.repeated_produce import expect_repetition
from moldau.broker.transaction_verification import Appends, has_transactional_records, transactional_batches, verify
from moldau.net.traffic import CloseReason
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.produce import (
    BatchIndexAndErrorMessage,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from moldau.replication.delayed_offsets import DelayedProduce
from moldau.replication.replicas import ACKS_ALL, NO_TRANSACTION
from moldau.storage.log import Log
from moldau.storage.log_directory import TopicPartition

if TYPE_CHECKING:
    from moldau.broker.node import Node

logger = logging.getLogger(__name__)

TOPIC_IDS_VERSION = 13
LEADER_HINT_VERSION = 10
NO_OFFSET = -1
ADMIN_CLIENT_ID = "__admin_client"  # who may write into internal topics


def refused(request: ProduceRequest, code: ErrorCode, message: str) -> ProduceResponse:
    return ProduceResponse(
        responses=[
            TopicProduceResponse(
                name=topic.name,
                topic_id=topic.topic_id,
                partition_responses=[failed(data.index, code, message) for data in topic.partition_data],
            )
            for topic in request.topic_data
        ]
    )


def failed(index: int, code: ErrorCode, message: str) -> PartitionProduceResponse:
    response = PartitionProduceResponse(
        index=index, error_code=code, base_offset=NO_OFFSET, error_message=message or None
    )
    if code is ErrorCode.INVALID_RECORD:
        response.record_errors = [BatchIndexAndErrorMessage(batch_index=0, batch_index_error_message=message)]
    return response


@handles(ApiKey.PRODUCE, "0-13", on_error=refused)
def produce(node: Node, request: ProduceRequest, call: Call) -> ProduceResponse | None:
    if produce_plain(node, request, call):
        expect_repetition(node, request, call)
        return None
    if request.acks not in (0, 1, ACKS_ALL):
        raise ApiError(ErrorCode.INVALID_REQUIRED_ACKS, f"acks is {request.acks}, not 0, 1 or -1 (all)")
    if not has_transactional_records(request):
        return append(Appending(node, request, call))
    if request.transactional_id is None:
        raise ApiError(
            ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, "records of a transaction came without a transactional id"
        )
    if not node.config.boolean("transaction.partition.verification.enable"):
        return append(Appending(node, request, call))
    verify_and_append(node, request, call)
    return None


def append(appending: Appending) -> ProduceResponse | None:
    """Append what may be appended; the answer, if it need not wait."""
    response = ProduceResponse(responses=[appending.append_topic(topic) for topic in appending.request.topic_data])
    if appending.failures:
        response = appending.explain(response)
    if appending.unflushed:
        appending.flush_first(response)
        return None
    return appending.finish(response)


def verify_and_append(node: Node, request: ProduceRequest, call: Call) -> None:
    """Records of a transaction: perhaps the coordinator has to be asked first."""
    batches = transactional_batches(node, request)

    def go_on(transactional: Appends) -> None:
        response = append(Appending(node, request, call, transactional))
        if response is not None:
            call.respond(response)

    call.park()
    verify(node, request, batches, call.version, go_on)


class Appending:
    """The records of one request on their way into their logs."""

    __slots__ = ("call", "failures", "node", "request", "transactional", "unflushed", "waiting")

    def __init__(self, node: Node, request: ProduceRequest, call: Call, transactional: Appends | None = None) -> None:
        self.node = node
        self.request = request
        self.call = call
        self.transactional = transactional
        self.failures = 0
        self.unflushed: list[Log] = []  # those that `flush.messages` wants on disk before they are acknowledged
        self.waiting: dict[TopicPartition, tuple[int, PartitionProduceResponse]] = {}

    def append_topic(self, topic: TopicProduceData) -> TopicProduceResponse:
        name = topic.name
        if self.call.version >= TOPIC_IDS_VERSION:
            name = self.node.metadata.topic_names.get(topic.topic_id, "")
        partitions = []
        for data in topic.partition_data:
            try:
                partitions.append(self._append(name, data.index, data.records))
            except ApiError as error:
                self.failures += 1
                partitions.append(failed(data.index, error.code, error.message))
        return TopicProduceResponse(name=topic.name, topic_id=topic.topic_id, partition_responses=partitions)

    def _append(self, topic: str, index: int, records: bytes | memoryview | None) -> PartitionProduceResponse:
        if not topic:
            raise ApiError(ErrorCode.UNKNOWN_TOPIC_ID, "there is no topic with this id")
        if topic in self.node.internal_topics and self.call.client_id != ADMIN_CLIENT_ID:
            raise ApiError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"{topic} is internal: clients do not write into it")
        check_format(records, self.call.version)
        assert records is not None
        key, acks, replicas = (topic, index), self.request.acks, self.node.replicas
        if self.transactional is None:
            result = replicas.append(key, records, acks)
        else:
            transaction = self.transactional.get(key, NO_TRANSACTION)
            if isinstance(transaction, ApiError):
                raise transaction
            result = replicas.append(key, records, acks, transaction=transaction)
        response = PartitionProduceResponse(
            index=index,
            base_offset=result.first_offset,
            log_append_time_ms=result.log_append_time,
            log_start_offset=result.log_start_offset,
        )
        log = replicas.partitions[key].log
        if log is not None and log.log_end_offset - log.recovery_point >= log.settings.flush_messages:
            self.unflushed.append(log)
        if acks == ACKS_ALL:
            required = result.last_offset + 1
            outcome = replicas.replicated_to(key, required)
            if outcome is None:
                self.waiting[key] = required, response
            else:
                response.error_code = outcome
        return response

    def explain(self, response: ProduceResponse) -> ProduceResponse:
        """Who came to the wrong broker hears which one is right."""
        if self.call.version >= LEADER_HINT_VERSION:
            for topic in response.responses:
                name = topic.name or self.node.metadata.topic_names.get(topic.topic_id, "")
                for data in topic.partition_responses:
                    add_leader(self.node, self.call, response, name, data)
        return response

    def finish(self, response: ProduceResponse) -> ProduceResponse | None:
        """Answer, now or when all in-sync replicas have the records."""
        if self.waiting:
            self._wait(response)
            return None
        if self.request.acks == 0:
            self._answer_nothing(response)
            return None
        return response

    def _answer_nothing(self, response: ProduceResponse) -> None:
        """With acks=0 a closed connection is all that a client can be told."""
        if self.failures:
            codes = {
                ErrorCode(data.error_code).name for topic in response.responses for data in topic.partition_responses
            }
            connection = self.call.answer.connection
            reason = ", ".join(sorted(codes - {"NONE"}))
            logger.info("Closing the connection from %s: a produce with acks=0 failed: %s", connection.peer, reason)
            connection.close(CloseReason.PRODUCE_FAILED)
        self.call.respond_nothing()

    # -- waiting

    def _wait(self, response: ProduceResponse) -> None:
        replicas = self.node.replicas

        def send(outcomes: dict[Hashable, ErrorCode]) -> None:
            for key, (_, partition) in self.waiting.items():
                partition.error_code = outcomes[key]
                if partition.error_code:
                    partition.base_offset = NO_OFFSET
            self.call.respond(response)

        required: dict[Hashable, int] = {key: offset for key, (offset, _) in self.waiting.items()}
        delayed = DelayedProduce(self.request.timeout_ms, required, replicas.replicated_to, send)  # type: ignore[arg-type]
        self.call.park()
        replicas.produces.try_complete_else_watch(delayed, required)

    def flush_first(self, response: ProduceResponse) -> None:
        """`flush.messages`: nothing is acknowledged before it is on disk."""

        async def flush() -> None:
            try:
                for log in self.unflushed:
                    await self.node.directories.flusher.flush(log)
            except ApiError as error:
                self.call.respond(refused(self.request, error.code, error.message))
                return
            answer = self.finish(response)
            if answer is not None:
                self.call.respond(answer)

        self.call.park()
        self.node.supervisor.start("flush before acknowledging", flush, OnFailure.LOG)
