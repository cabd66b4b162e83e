"""Transactions: records of several partitions and a group's offsets, visible together or not at all (KIP-98).

Theory of operation. The coordinator of the transactional id gives the producer its id and epoch, which fences whoever
had them before. A partition is added to the transaction before its first batch is sent; the sender asks `may_send`, and
what is missing is added in the background. Committing first sends everything, then ends the transaction; aborting gives
up what is not sent. A record that is lost makes the transaction one that can only be aborted. What a newer producer of
the same id has fenced is finished for good.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, TypeVar

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError, Disconnected, MoldauError
from moldau.base.supervision import OnFailure
from moldau.clients.errors import IllegalState, ProducerFenced, TimedOut, TransactionAborted, check, error_code
from moldau.clients.network.cluster import Cluster
from moldau.clients.network.coordinators import CoordinatorKind
from moldau.clients.producer.sequences import Sequences
from moldau.clients.producer.transaction_states import WHAT_COMES_FIRST, TransactionState, is_legal
from moldau.clients.records import GroupMetadata, OffsetAndMetadata, TopicPartition
from moldau.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from moldau.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from moldau.protocol.messages.end_txn import EndTxnRequest
from moldau.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from moldau.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from moldau.protocol.schema import Message

Result = TypeVar("Result")
_S = TransactionState

# The newest versions of the protocol in which a producer adds partitions itself and keeps its epoch (before KIP-890's
# second part), spoken by every broker.
_VERSIONS_MAX: Final[Mapping[type[Message], int]] = {
    AddPartitionsToTxnRequest: 3,
    AddOffsetsToTxnRequest: 3,
    TxnOffsetCommitRequest: 3,
    EndTxnRequest: 3,
    InitProducerIdRequest: 4,
}
_RESUMABLE_SINCE: Final = 3  # InitProducerId that takes the present id and epoch (KIP-360)
_OF_THE_COORDINATOR: Final = frozenset({ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE})
_FENCED: Final = frozenset({ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH})
_FATAL: Final = frozenset(
    {
        ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        ErrorCode.INVALID_TXN_STATE,
        ErrorCode.UNSUPPORTED_VERSION,
        ErrorCode.INVALID_TRANSACTION_TIMEOUT,
        ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
    }
)
_ADDING_TIMEOUT_MS: Final = 60_000.0


class Transactions:
    """The transactions of one producer, one after the other; all in the loop."""

    def __init__(self, cluster: Cluster, transactional_id: str, sequences: Sequences, wake: Callable[[], None]) -> None:
        self.transactional_id = transactional_id
        self.state = _S.UNINITIALIZED
        self.on_abortable: Callable[[Exception], None] = lambda _error: None
        self._error: Exception | None = None
        self._cluster = cluster
        self._sequences = sequences
        self._wake = wake
        self._timeout_ms = cluster.config.integer("transaction.timeout.ms")
        self._loop = asyncio.get_running_loop()
        self._added: set[TopicPartition] = set()
        self._to_add: set[TopicPartition] = set()
        self._not_adding = asyncio.Event()
        self._not_adding.set()
        self._has_offsets = False

    # -- what the user calls

    async def init(self, timeout_ms: float) -> None:
        """Get an id and an epoch; whoever had this transactional id is fenced, its open transaction ended."""
        self._become(_S.INITIALIZING)
        await self._call(self._init_producer_id, timeout_ms, "init_transactions()")
        self._become(_S.READY)

    def begin(self) -> None:
        self._become(_S.IN_TRANSACTION)

    async def send_offsets(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata], group: GroupMetadata, timeout_ms: float
    ) -> None:
        """Make a group's offsets part of the transaction."""
        self.check_in_transaction()
        if not offsets:
            return
        deadline_ms = self._cluster.clock.monotonic_ms() + timeout_ms

        async def add() -> None:
            request = AddOffsetsToTxnRequest(
                transactional_id=self.transactional_id,
                producer_id=self._sequences.producer_id,
                producer_epoch=self._sequences.epoch,
                group_id=group.group_id,
            )
            check((await self._ask(request)).error_code)

        await self._call(add, timeout_ms, "send_offsets_to_transaction()")
        self._has_offsets = True
        left_ms = max(0.0, deadline_ms - self._cluster.clock.monotonic_ms())
        await self._call(lambda: self._commit_offsets(offsets, group), left_ms, "send_offsets_to_transaction()")

    async def commit(self, flush: Callable[[], Awaitable[None]], timeout_ms: float) -> None:
        self._become(_S.COMMITTING)
        await self._end(flush, timeout_ms, committed=True)

    async def abort(self, drain: Callable[[], Awaitable[None]], timeout_ms: float) -> None:
        self._become(_S.ABORTING)
        self.on_abortable(TransactionAborted("the transaction was aborted before the record was sent"))
        await self._end(drain, timeout_ms, committed=False)

    async def abort_at_close(self, drain: Callable[[], Awaitable[None]]) -> None:
        """End what was left open, as far as that is possible."""
        if self.state in (_S.IN_TRANSACTION, _S.ABORTABLE_ERROR):
            try:
                await self.abort(drain, self._cluster.request_timeout_ms)
            except MoldauError:
                return  # the coordinator will, after transaction.timeout.ms

    def check_in_transaction(self) -> None:
        """Raise if no record can be sent now."""
        if self.state is not _S.IN_TRANSACTION:
            self._refuse("send")

    # -- what the sender calls

    def is_sending(self) -> bool:
        """Whether records of the transaction are sent, rather than given up."""
        return self.state in (_S.IN_TRANSACTION, _S.COMMITTING)

    def may_send(self, of: TopicPartition) -> bool:
        if not self.is_sending():
            return False
        if of in self._added:
            return True
        self._to_add.add(of)
        if self._not_adding.is_set():
            self._not_adding.clear()
            self._cluster.supervisor.start("partitions to transaction", self._add_partitions, OnFailure.RESTART)
        return False

    def failed(self, error: Exception) -> None:
        """A record of the transaction is lost, or a request for it failed for good."""
        if self.state in (_S.FATAL_ERROR, _S.ABORTING, _S.UNINITIALIZED):
            return
        fatal = isinstance(error, ApiError) and (error.code in _FENCED or error.code in _FATAL)
        if fatal:
            self.state = _S.FATAL_ERROR
            self._error = error
        elif self.state is not _S.ABORTABLE_ERROR and is_legal(self.state, _S.ABORTABLE_ERROR):
            self.state = _S.ABORTABLE_ERROR
            self._error = error
        else:
            return
        self._loop.call_soon(self.on_abortable, error)

    # -- states

    def _become(self, after: TransactionState) -> None:
        if not is_legal(self.state, after):
            self._refuse(after.name)
        self.state = after

    def _refuse(self, what: str) -> None:
        state = self.state
        text = f"{WHAT_COMES_FIRST[state]} (transactional.id {self.transactional_id}, {state.name}, {what})"
        if state is _S.FATAL_ERROR and isinstance(self._error, ProducerFenced):
            raise ProducerFenced(text) from self._error
        raise IllegalState(text) from self._error

    async def _end(self, settle: Callable[[], Awaitable[None]], timeout_ms: float, *, committed: bool) -> None:
        what = "commit_transaction()" if committed else "abort_transaction()"
        deadline_ms = self._cluster.clock.monotonic_ms() + timeout_ms
        try:
            async with asyncio.timeout(timeout_ms / 1000):
                await settle()
                await self._not_adding.wait()  # or the end could overtake what it is to end
        except TimeoutError:
            raise TimedOut(f"{what} could not send all records within {timeout_ms:.0f} ms; call it again") from None
        if self.state in (_S.ABORTABLE_ERROR, _S.FATAL_ERROR):
            assert self._error is not None
            raise self._error
        left_ms = max(0.0, deadline_ms - self._cluster.clock.monotonic_ms())
        if self._added or self._has_offsets:
            await self._call(lambda: self._end_txn(committed), left_ms, what)
        if self._sequences.needs_new_epoch:
            await self._call(self._init_producer_id, left_ms, what)
        self._added.clear()
        self._to_add.clear()
        self._has_offsets = False
        self._error = None
        self._become(_S.READY)

    # -- requests

    async def _call(self, attempt: Callable[[], Awaitable[Result]], timeout_ms: float, what: str) -> Result:
        """Repeat an attempt as long as it may help, and remember what an error means for the transaction."""
        try:
            return await self._cluster.retrying(attempt, timeout_ms=timeout_ms, what=what)
        except TimedOut:
            raise
        except ApiError as error:
            if error.code in _FENCED:
                text = f"{what}: a newer producer has transactional.id {self.transactional_id}; close this one"
                self._fail_fatally(ProducerFenced(text))
                raise ProducerFenced(text) from error
            if error.code in _FATAL or self.state is _S.ABORTING:
                self._fail_fatally(error)
            else:
                self.failed(error)
            raise

    def _fail_fatally(self, error: Exception) -> None:
        self.state = _S.FATAL_ERROR
        self._error = error
        self._loop.call_soon(self.on_abortable, error)

    async def _ask(self, request: Message, kind: CoordinatorKind = CoordinatorKind.TRANSACTION, key: str = "") -> Any:
        """One attempt with a coordinator; one that is gone is looked for anew with the next."""
        key = key or self.transactional_id
        try:
            node_id = await self._cluster.coordinator(kind, key, self._cluster.request_timeout_ms)
            connection = await self._cluster.connection(node_id)
            version = min(connection.version_of(type(request)), _VERSIONS_MAX[type(request)])
            answer = await connection.request(request, version)
        except Disconnected:
            self._cluster.coordinator_lost(kind, key)
            raise
        if error_code(getattr(answer, "error_code", 0)) in _OF_THE_COORDINATOR:
            self._cluster.coordinator_lost(kind, key)
        return answer

    async def _init_producer_id(self) -> None:
        request = InitProducerIdRequest(transactional_id=self.transactional_id, transaction_timeout_ms=self._timeout_ms)
        if self._sequences.has_id:
            request.producer_id, request.producer_epoch = self._sequences.producer_id, self._sequences.epoch
        answer: InitProducerIdResponse = await self._ask(request)
        check(answer.error_code)
        self._sequences.begin(answer.producer_id, answer.producer_epoch)

    async def _end_txn(self, committed: bool) -> None:
        request = EndTxnRequest(
            transactional_id=self.transactional_id,
            producer_id=self._sequences.producer_id,
            producer_epoch=self._sequences.epoch,
            committed=committed,
        )
        check((await self._ask(request)).error_code)

    async def _add_partitions(self) -> None:
        while self._to_add and self.is_sending():
            adding = frozenset(self._to_add)
            try:
                await self._cluster.retrying(
                    lambda adding=adding: self._add(adding),  # type: ignore[misc]
                    timeout_ms=_ADDING_TIMEOUT_MS,
                    what="adding partitions to the transaction",
                )
            except MoldauError as error:
                fenced = isinstance(error, ApiError) and error.code in _FENCED
                self.failed(ProducerFenced(str(error)) if fenced else error)
                break
            self._added |= adding
            self._to_add -= adding
            self._wake()
        self._not_adding.set()

    async def _add(self, partitions: frozenset[TopicPartition]) -> None:
        topics: defaultdict[str, list[int]] = defaultdict(list)
        for topic, partition in sorted(partitions):
            topics[topic].append(partition)
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self.transactional_id,
            v3_and_below_producer_id=self._sequences.producer_id,
            v3_and_below_producer_epoch=self._sequences.epoch,
            v3_and_below_topics=[AddPartitionsToTxnTopic(name=name, partitions=each) for name, each in topics.items()],
        )
        answer = await self._ask(request)
        for topic in answer.results_by_topic_v3_and_below:
            for each in topic.results_by_partition:
                self._check_coordinator(each.partition_error_code, CoordinatorKind.TRANSACTION, self.transactional_id)
                if error_code(each.partition_error_code) is not ErrorCode.OPERATION_NOT_ATTEMPTED:
                    check(each.partition_error_code, f"{topic.name}-{each.partition_index}")

    async def _commit_offsets(self, offsets: Mapping[TopicPartition, OffsetAndMetadata], group: GroupMetadata) -> None:
        topics: defaultdict[str, list[TxnOffsetCommitRequestPartition]] = defaultdict(list)
        for (topic, partition), (offset, metadata, leader_epoch) in offsets.items():
            topics[topic].append(
                TxnOffsetCommitRequestPartition(
                    partition_index=partition,
                    committed_offset=offset,
                    committed_leader_epoch=-1 if leader_epoch is None else leader_epoch,
                    committed_metadata=metadata,
                )
            )
        request = TxnOffsetCommitRequest(
            transactional_id=self.transactional_id,
            group_id=group.group_id,
            producer_id=self._sequences.producer_id,
            producer_epoch=self._sequences.epoch,
            generation_id=group.generation_id,
            member_id=group.member_id,
            group_instance_id=group.group_instance_id,
            topics=[TxnOffsetCommitRequestTopic(name=name, partitions=each) for name, each in topics.items()],
        )
        answer = await self._ask(request, CoordinatorKind.GROUP, group.group_id)
        for topic_answer in answer.topics:
            for each in topic_answer.partitions:
                self._check_coordinator(each.error_code, CoordinatorKind.GROUP, group.group_id)
                check(each.error_code, f"offsets of group {group.group_id}")

    def _check_coordinator(self, number: int, kind: CoordinatorKind, key: str) -> None:
        if error_code(number) in _OF_THE_COORDINATOR:
            self._cluster.coordinator_lost(kind, key)
