"""What the leader of a partition is asked for: offsets, producers, and to delete records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from moldau.base.errors import MoldauError
from moldau.clients.admin.calls import Call
from moldau.clients.admin.operations import Operations, ProtocolEnum, SomePartition, by_topic, checked_partitions
from moldau.clients.admin.results import Results, outcome
from moldau.clients.admin.routes import BrokerRoute, LeaderRoute
from moldau.clients.records import TopicPartition
from moldau.protocol.messages.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from moldau.protocol.messages.describe_producers import DescribeProducersRequest, TopicRequest
from moldau.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsTopic,
)

HIGH_WATERMARK: Final = -1
_CLIENT: Final = -1


class OffsetSpec(ProtocolEnum):
    """Which offset of a partition; a time in milliseconds is the other choice."""

    LATEST = -1
    EARLIEST = -2
    MAX_TIMESTAMP = -3
    EARLIEST_LOCAL = -4
    LATEST_TIERED = -5
    EARLIEST_PENDING_UPLOAD = -6


# The first version of ListOffsets that knows each; versions before say nothing of numbers they do not know.
_KNOWS: Final = {
    OffsetSpec.MAX_TIMESTAMP: 7,
    OffsetSpec.EARLIEST_LOCAL: 8,
    OffsetSpec.LATEST_TIERED: 9,
    OffsetSpec.EARLIEST_PENDING_UPLOAD: 11,
}


class IsolationLevel(ProtocolEnum):
    READ_UNCOMMITTED = 0
    READ_COMMITTED = 1


@dataclass(frozen=True, slots=True)
class ListOffsetsResultInfo:
    """An offset, or -1 if there is no record that late; the timestamp is -1 where none was asked for."""

    offset: int
    timestamp: int
    leader_epoch: int | None


@dataclass(frozen=True, slots=True)
class DeletedRecords:
    """The first offset that is left."""

    low_watermark: int


@dataclass(frozen=True, slots=True)
class ProducerState:
    """A producer that a partition remembers; the start offset is None unless its transaction is open here."""

    producer_id: int
    producer_epoch: int
    last_sequence: int
    last_timestamp: int
    coordinator_epoch: int | None
    current_transaction_start_offset: int | None


class PartitionOperations(Operations):
    """What Admin does with partitions."""

    async def list_offsets(
        self,
        partitions: Mapping[TopicPartition, OffsetSpec | int],
        *,
        isolation_level: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
        timeout_s: float | None = None,
        raise_errors: bool = True,
    ) -> Results[TopicPartition, ListOffsetsResultInfo]:
        """The earliest or latest offset, that of the largest timestamp, or the first at or after a time.

        >>> end = TopicPartition("orders", 0)
        >>> admin.list_offsets({end: OffsetSpec.LATEST})[end].offset
        10
        """
        wanted = {TopicPartition(*partition): spec for partition, spec in partitions.items()}

        async def ask(
            call: Call, node_id: int | None, items: list[TopicPartition]
        ) -> Mapping[TopicPartition, ListOffsetsResultInfo | MoldauError]:
            version = await call.version_of(ListOffsetsRequest, node_id)
            for item in items:
                spec = wanted[item]
                if isinstance(spec, OffsetSpec) and version < _KNOWS.get(spec, 0):
                    raise call.unsupported(f"the broker does not know offsets by {spec.name}")
            request = ListOffsetsRequest(
                replica_id=_CLIENT,
                isolation_level=isolation_level,
                topics=[
                    ListOffsetsTopic(
                        name=topic,
                        partitions=[
                            ListOffsetsPartition(
                                partition_index=number, timestamp=wanted[TopicPartition(topic, number)]
                            )
                            for number in numbers
                        ],
                    )
                    for topic, numbers in by_topic(items).items()
                ],
                timeout_ms=call.broker_timeout_ms,
            )
            answer = await call.ask(request, node_id, version)
            return {
                TopicPartition(topic.name, each.partition_index): outcome(
                    _found(each), each.error_code, of=f"{topic.name}-{each.partition_index}"
                )
                for topic in answer.topics
                for each in topic.partitions
            }

        return await self._calls.each(
            "listing offsets", wanted, ask, route=LeaderRoute(), timeout_s=timeout_s, raise_errors=raise_errors
        )

    async def delete_records(
        self,
        before: Mapping[TopicPartition, int],
        *,
        timeout_s: float | None = None,
        raise_errors: bool = True,
    ) -> Results[TopicPartition, DeletedRecords]:
        """Delete the records before an offset; HIGH_WATERMARK (-1) stands for all that are committed.

        >>> admin.delete_records({TopicPartition("orders", 0): 5})
        Results({TopicPartition(topic='orders', partition=0): DeletedRecords(low_watermark=5)})
        """
        wanted = {TopicPartition(*partition): offset for partition, offset in before.items()}

        async def ask(
            call: Call, node_id: int | None, items: list[TopicPartition]
        ) -> Mapping[TopicPartition, DeletedRecords | MoldauError]:
            request = DeleteRecordsRequest(
                topics=[
                    DeleteRecordsTopic(
                        name=topic,
                        partitions=[
                            DeleteRecordsPartition(partition_index=number, offset=wanted[TopicPartition(topic, number)])
                            for number in numbers
                        ],
                    )
                    for topic, numbers in by_topic(items).items()
                ],
                timeout_ms=call.broker_timeout_ms,
            )
            answer = await call.ask(request, node_id)
            return {
                TopicPartition(topic.name, each.partition_index): outcome(
                    DeletedRecords(each.low_watermark), each.error_code, of=f"{topic.name}-{each.partition_index}"
                )
                for topic in answer.topics
                for each in topic.partitions
            }

        return await self._calls.each(
            "deleting records", wanted, ask, route=LeaderRoute(), timeout_s=timeout_s, raise_errors=raise_errors
        )

    async def describe_producers(
        self,
        partitions: Iterable[SomePartition],
        *,
        broker_id: int | None = None,
        timeout_s: float | None = None,
        raise_errors: bool = True,
    ) -> Results[TopicPartition, tuple[ProducerState, ...]]:
        """The producers that partitions remember, as their leaders see it, or one replica (KIP-664)."""

        async def ask(
            call: Call, node_id: int | None, items: list[TopicPartition]
        ) -> Mapping[TopicPartition, tuple[ProducerState, ...] | MoldauError]:
            topics = [TopicRequest(name=topic, partition_indexes=numbers) for topic, numbers in by_topic(items).items()]
            answer = await call.ask(DescribeProducersRequest(topics=topics), node_id)
            return {
                TopicPartition(topic.name, each.partition_index): outcome(
                    tuple(
                        ProducerState(
                            one.producer_id,
                            one.producer_epoch,
                            one.last_sequence,
                            one.last_timestamp,
                            one.coordinator_epoch if one.coordinator_epoch >= 0 else None,
                            one.current_txn_start_offset if one.current_txn_start_offset >= 0 else None,
                        )
                        for one in each.active_producers
                    ),
                    each.error_code,
                    each.error_message,
                    of=f"{topic.name}-{each.partition_index}",
                )
                for topic in answer.topics
                for each in topic.partitions
            }

        return await self._calls.each(
            "describing producers",
            checked_partitions(partitions),
            ask,
            route=LeaderRoute() if broker_id is None else BrokerRoute(lambda _partition: broker_id),
            timeout_s=timeout_s,
            raise_errors=raise_errors,
        )


def _found(answer: ListOffsetsPartitionResponse) -> ListOffsetsResultInfo:
    if answer.old_style_offsets:  # version 0: a list, newest first
        return ListOffsetsResultInfo(answer.old_style_offsets[0], -1, None)
    epoch = answer.leader_epoch
    return ListOffsetsResultInfo(answer.offset, answer.timestamp, epoch if epoch >= 0 else None)
