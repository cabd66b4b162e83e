"""Requests about transactions, each to the coordinator of its id.

A transaction that is being ended is so for a few milliseconds, and the next one of the same id has to wait: so the
pauses here begin short. Versions are those in which a producer adds partitions itself and keeps its epoch (before
KIP-890's second part): only then can a transaction be ended by whoever knows its name.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Final, TypeVar

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError, ConnectFailed, Disconnected
from moldau.clients.errors import TimedOut, check, error_code
from moldau.clients.network.cluster import Cluster
from moldau.clients.network.coordinators import CoordinatorKind
from moldau.clients.records import TopicPartition
from moldau.pipeline.sink.values import Transaction
from moldau.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from moldau.protocol.messages.end_txn import EndTxnRequest
from moldau.protocol.messages.init_producer_id import InitProducerIdRequest
from moldau.protocol.schema import Message

Result = TypeVar("Result")

_VERSIONS_MAX: Final[Mapping[type[Message], int]] = {
    AddPartitionsToTxnRequest: 3,
    EndTxnRequest: 3,
    InitProducerIdRequest: 4,
}
_PAUSE_MS: Final = 2.0
_PAUSE_MAX_MS: Final = 200.0
_OF_THE_COORDINATOR: Final = frozenset({ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE})
# The broker has not done it, and says so.
_REFUSED_FOR_NOW: Final = _OF_THE_COORDINATOR | {
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.CONCURRENT_TRANSACTIONS,
    ErrorCode.BROKER_NOT_AVAILABLE,
}
# The transaction is not what it was: ended otherwise, or another has its id.
NOT_ANY_MORE: Final = frozenset(
    {
        ErrorCode.PRODUCER_FENCED,
        ErrorCode.INVALID_PRODUCER_EPOCH,
        ErrorCode.INVALID_TXN_STATE,
        ErrorCode.INVALID_PRODUCER_ID_MAPPING,
        ErrorCode.UNKNOWN_PRODUCER_ID,
        ErrorCode.TRANSACTION_ABORTABLE,
    }
)


class Unanswered(Exception):
    """Nobody knows whether the request was carried out, or still will be."""


class TransactionRequests:
    """Of one cluster; `block_ms` limits each call."""

    def __init__(self, cluster: Cluster, block_ms: float) -> None:
        self._cluster = cluster
        self._block_ms = block_ms

    async def begin(self, transactional_id: str, timeout_ms: int, *, once: bool) -> Transaction:
        """Initialise an id. With `once`, an attempt without answer is not repeated, but raises Unanswered."""
        request = InitProducerIdRequest(transactional_id=transactional_id, transaction_timeout_ms=timeout_ms)

        async def attempt() -> Transaction:
            answer = await self._ask(request, transactional_id)
            check(answer.error_code, f"transactional id {transactional_id}")
            return Transaction(transactional_id, answer.producer_id, answer.producer_epoch)

        return await self._retrying(attempt, f"initialising transactional id {transactional_id}", once=once)

    async def add(self, transaction: Transaction, partitions: Iterable[TopicPartition]) -> None:
        """Make partitions part of a transaction, and so begin it."""
        topics: defaultdict[str, list[int]] = defaultdict(list)
        for topic, partition in sorted(partitions):
            topics[topic].append(partition)
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=transaction.transactional_id,
            v3_and_below_producer_id=transaction.producer_id,
            v3_and_below_producer_epoch=transaction.epoch,
            v3_and_below_topics=[AddPartitionsToTxnTopic(name=name, partitions=each) for name, each in topics.items()],
        )

        async def attempt() -> None:
            answer = await self._ask(request, transaction.transactional_id)
            failed = [
                (f"{topic.name}-{each.partition_index}", each.partition_error_code)
                for topic in answer.results_by_topic_v3_and_below
                for each in topic.results_by_partition
                if each.partition_error_code
            ]
            # One that was not attempted says nothing: another is why.
            failed.sort(key=lambda one: one[1] == ErrorCode.OPERATION_NOT_ATTEMPTED)
            for name, number in failed[:1]:
                if error_code(number) in _OF_THE_COORDINATOR:
                    self._forget(transaction.transactional_id)
                check(number, f"partition {name} in transaction {transaction.transactional_id}")

        await self._retrying(attempt, f"adding partitions to transaction {transaction.transactional_id}")

    async def end(self, transaction: Transaction, commit: bool) -> bool:
        """Commit or abort; False if it was ended otherwise. Ending it again as it was ended is fine."""
        request = EndTxnRequest(
            transactional_id=transaction.transactional_id,
            producer_id=transaction.producer_id,
            producer_epoch=transaction.epoch,
            committed=commit,
        )

        async def attempt() -> bool:
            code = error_code((await self._ask(request, transaction.transactional_id)).error_code)
            if code in NOT_ANY_MORE:
                return False
            check(code, f"transactional id {transaction.transactional_id}")
            return True

        return await self._retrying(attempt, f"ending transaction {transaction.transactional_id}")

    async def _ask(self, request: Message, transactional_id: str) -> Any:
        cluster = self._cluster
        try:
            node_id = await cluster.coordinator(CoordinatorKind.TRANSACTION, transactional_id, self._block_ms)
            connection = await cluster.connection(node_id)
            version = min(connection.version_of(type(request)), _VERSIONS_MAX[type(request)])
            answer = await connection.request(request, version)
        except Disconnected:
            self._forget(transactional_id)
            raise
        if error_code(getattr(answer, "error_code", 0)) in _OF_THE_COORDINATOR:
            self._forget(transactional_id)
        return answer

    def _forget(self, transactional_id: str) -> None:
        self._cluster.coordinator_lost(CoordinatorKind.TRANSACTION, transactional_id)

    async def _retrying(self, attempt: Callable[[], Awaitable[Result]], what: str, *, once: bool = False) -> Result:
        clock = self._cluster.clock
        deadline_ms = clock.monotonic_ms() + self._block_ms
        pause_ms = _PAUSE_MS
        while True:
            try:
                return await attempt()
            except (ApiError, Disconnected) as error:
                if not _may_help(error, once):
                    raise
                if clock.monotonic_ms() + pause_ms > deadline_ms:
                    raise TimedOut(f"{what} did not succeed within {self._block_ms:.0f} ms; last: {error}") from error
            await asyncio.sleep(pause_ms / 1000)
            pause_ms = min(2 * pause_ms, _PAUSE_MAX_MS)


def _may_help(error: ApiError | Disconnected, once: bool) -> bool:
    """Whether an attempt is repeated; what was perhaps carried out only if that does no harm."""
    if isinstance(error, TimedOut):
        return False  # of finding the coordinator, which has taken its time already
    if isinstance(error, ConnectFailed) or (isinstance(error, ApiError) and error.code in _REFUSED_FOR_NOW):
        return True
    if isinstance(error, Disconnected) or error.code.retriable:
        if once:
            raise Unanswered(str(error)) from error
        return True
    return False
