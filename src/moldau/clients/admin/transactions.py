"""Transactions: list, describe, and end those that hang (KIP-664); fence producers (KIP-588)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import MoldauError
from moldau.clients.admin.calls import Call
from moldau.clients.admin.operations import Operations
from moldau.clients.admin.results import Results, outcome
from moldau.clients.admin.routes import CoordinatorRoute, LeaderRoute
from moldau.clients.errors import check
from moldau.clients.network.coordinators import CoordinatorKind
from moldau.clients.records import TopicPartition
from moldau.protocol.messages.describe_transactions import DescribeTransactionsRequest
from moldau.protocol.messages.init_producer_id import InitProducerIdRequest
from moldau.protocol.messages.list_transactions import ListTransactionsRequest
from moldau.protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)

# The timeout of a transaction that will never be begun; the broker wants one.
_FENCING_TIMEOUT_MS: Final = 1


@dataclass(frozen=True, slots=True)
class TransactionListing:
    transactional_id: str
    producer_id: int
    state: str


@dataclass(frozen=True, slots=True)
class TransactionDescription:
    """A transaction; the start time is None while there is none."""

    coordinator_id: int
    state: str
    producer_id: int
    producer_epoch: int
    transaction_timeout_ms: int
    transaction_start_time_ms: int | None
    topic_partitions: frozenset[TopicPartition]


@dataclass(frozen=True, slots=True)
class FencedProducer:
    """The id and epoch from now on; whoever has an older epoch is refused."""

    producer_id: int
    producer_epoch: int


class AbortTransactionSpec(NamedTuple):
    """An open transaction of one partition, as `describe_producers` shows it."""

    topic_partition: TopicPartition
    producer_id: int
    producer_epoch: int
    coordinator_epoch: int = -1


class TransactionOperations(Operations):
    """What Admin does with transactions."""

    async def list_transactions(
        self,
        *,
        states: Iterable[str] = (),
        producer_ids: Iterable[int] = (),
        filtered_duration_ms: int = -1,
        transactional_id_pattern: str | None = None,
        timeout_s: float | None = None,
    ) -> list[TransactionListing]:
        """Transactions of all coordinators: in these states ("Ongoing"), of these producers, older than a duration.

        >>> admin.list_transactions(states=["Ongoing"])
        []
        """
        request = ListTransactionsRequest(
            state_filters=list(states),
            producer_id_filters=list(producer_ids),
            duration_filter=filtered_duration_ms,
            transactional_id_pattern=transactional_id_pattern,
        )

        async def ask(call: Call, node_id: int) -> list[TransactionListing]:
            answer = await call.ask(request, node_id)
            check(answer.error_code)
            return [
                TransactionListing(each.transactional_id, each.producer_id, each.transaction_state)
                for each in answer.transaction_states
            ]

        answers = await self._ask_all_brokers("listing transactions", ask, timeout_s)
        return sorted(
            (each for listed in answers.values() for each in listed), key=lambda listing: listing.transactional_id
        )

    async def describe_transactions(
        self, transactional_ids: Iterable[str], *, timeout_s: float | None = None, raise_errors: bool = True
    ) -> Results[str, TransactionDescription]:
        """State, producer and partitions of transactions."""

        async def ask(
            call: Call, node_id: int | None, items: list[str]
        ) -> Mapping[str, TransactionDescription | MoldauError]:
            assert node_id is not None
            answer = await call.ask(DescribeTransactionsRequest(transactional_ids=items), node_id)
            return {
                each.transactional_id: outcome(
                    TransactionDescription(
                        node_id,
                        each.transaction_state,
                        each.producer_id,
                        each.producer_epoch,
                        each.transaction_timeout_ms,
                        each.transaction_start_time_ms if each.transaction_start_time_ms >= 0 else None,
                        frozenset(
                            TopicPartition(topic.topic, number) for topic in each.topics for number in topic.partitions
                        ),
                    ),
                    each.error_code,
                    of=each.transactional_id,
                )
                for each in answer.transaction_states
            }

        return await self._calls.each(
            "describing transactions",
            transactional_ids,
            ask,
            route=CoordinatorRoute(CoordinatorKind.TRANSACTION),
            timeout_s=timeout_s,
            raise_errors=raise_errors,
        )

    async def fence_producers(
        self, transactional_ids: Iterable[str], *, timeout_s: float | None = None, raise_errors: bool = True
    ) -> Results[str, FencedProducer]:
        """Refuse whatever the producers of these ids still send; their open transactions are aborted."""

        async def ask(call: Call, node_id: int | None, items: list[str]) -> Mapping[str, FencedProducer | MoldauError]:
            outcomes: dict[str, FencedProducer | MoldauError] = {}
            for item in items:
                request = InitProducerIdRequest(transactional_id=item, transaction_timeout_ms=_FENCING_TIMEOUT_MS)
                answer = await call.ask(request, node_id)
                fenced = FencedProducer(answer.producer_id, answer.producer_epoch)
                outcomes[item] = outcome(fenced, answer.error_code, of=item)
            return outcomes

        return await self._calls.each(
            "fencing producers",
            transactional_ids,
            ask,
            route=CoordinatorRoute(CoordinatorKind.TRANSACTION),
            timeout_s=timeout_s,
            raise_errors=raise_errors,
        )

    async def force_terminate_transaction(self, transactional_id: str, *, timeout_s: float | None = None) -> None:
        """Abort whatever transaction the id has open, by fencing its producer (KIP-939)."""
        await self.fence_producers([transactional_id], timeout_s=timeout_s)

    async def abort_transaction(self, spec: AbortTransactionSpec, *, timeout_s: float | None = None) -> None:
        """Write an abort into one partition, for a transaction that its coordinator has forgotten.

        A transaction whose coordinator knows it is better ended there: `force_terminate_transaction`.
        """

        async def ask(
            call: Call, node_id: int | None, items: list[TopicPartition]
        ) -> Mapping[TopicPartition, MoldauError | None]:
            (partition,) = items
            marker = WritableTxnMarker(
                producer_id=spec.producer_id,
                producer_epoch=spec.producer_epoch,
                coordinator_epoch=spec.coordinator_epoch,
                transaction_result=False,
                topics=[WritableTxnMarkerTopic(name=partition.topic, partition_indexes=[partition.partition])],
            )
            answer = await call.ask(WriteTxnMarkersRequest(markers=[marker]), node_id)
            codes = [each.error_code for one in answer.markers for topic in one.topics for each in topic.partitions]
            return {partition: outcome(None, *(codes or [ErrorCode.UNKNOWN_SERVER_ERROR]), of=partition)}

        await self._calls.each(
            "aborting a transaction",
            [TopicPartition(*spec.topic_partition)],
            ask,
            route=LeaderRoute(),
            timeout_s=timeout_s,
        )
