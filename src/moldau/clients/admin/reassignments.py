"""Where partitions are: move them between brokers (KIP-455), and elect their leaders (KIP-460)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError, MoldauError
from moldau.clients.admin.calls import Call
from moldau.clients.admin.operations import Operations, ProtocolEnum, SomePartition, by_topic, checked_partitions
from moldau.clients.admin.results import Results, outcome
from moldau.clients.admin.routes import ControllerRoute
from moldau.clients.errors import check
from moldau.clients.records import TopicPartition
from moldau.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from moldau.protocol.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from moldau.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsTopics,
)

_KNOWS_UNCLEAN: Final = 1


class ElectionType(ProtocolEnum):
    PREFERRED = 0
    UNCLEAN = 1


@dataclass(frozen=True, slots=True)
class PartitionReassignment:
    """A move that is under way: all replicas of now, and those that come and go."""

    replicas: tuple[int, ...]
    adding_replicas: tuple[int, ...]
    removing_replicas: tuple[int, ...]


class ReassignmentOperations(Operations):
    """What Admin does with the places of partitions."""

    async def alter_partition_reassignments(
        self,
        reassignments: Mapping[TopicPartition, Iterable[int] | None],
        *,
        allow_replication_factor_change: bool = True,
        timeout_s: float | None = None,
        raise_errors: bool = True,
    ) -> Results[TopicPartition, None]:
        """Begin to move partitions to these brokers, the first of which is the preferred leader; None cancels.

        >>> _ = admin.alter_partition_reassignments({TopicPartition("orders", 0): [0]})
        """
        wanted = {
            TopicPartition(*partition): None if replicas is None else list(replicas)
            for partition, replicas in reassignments.items()
        }

        async def ask(
            call: Call, node_id: int | None, items: list[TopicPartition]
        ) -> Mapping[TopicPartition, MoldauError | None]:
            request = AlterPartitionReassignmentsRequest(
                timeout_ms=call.broker_timeout_ms,
                allow_replication_factor_change=allow_replication_factor_change,
                topics=[
                    ReassignableTopic(
                        name=topic,
                        partitions=[
                            ReassignablePartition(
                                partition_index=number, replicas=wanted[TopicPartition(topic, number)]
                            )
                            for number in numbers
                        ],
                    )
                    for topic, numbers in by_topic(items).items()
                ],
            )
            answer = await call.ask(request, node_id)
            check(answer.error_code, answer.error_message)
            return {
                TopicPartition(topic.name, each.partition_index): outcome(
                    None, each.error_code, each.error_message, of=f"{topic.name}-{each.partition_index}"
                )
                for topic in answer.responses
                for each in topic.partitions
            }

        return await self._calls.each(
            "reassigning partitions",
            wanted,
            ask,
            route=ControllerRoute(),
            timeout_s=timeout_s,
            raise_errors=raise_errors,
        )

    async def list_partition_reassignments(
        self, partitions: Iterable[SomePartition] | None = None, *, timeout_s: float | None = None
    ) -> dict[TopicPartition, PartitionReassignment]:
        """The moves that are under way, of all partitions or of some."""
        topics = None
        if partitions is not None:
            topics = [
                ListPartitionReassignmentsTopics(name=topic, partition_indexes=numbers)
                for topic, numbers in by_topic(checked_partitions(partitions)).items()
            ]

        async def ask(call: Call, node_id: int | None) -> dict[TopicPartition, PartitionReassignment]:
            request = ListPartitionReassignmentsRequest(timeout_ms=call.broker_timeout_ms, topics=topics)
            answer = await call.ask(request, node_id)
            check(answer.error_code, answer.error_message)
            return {
                TopicPartition(topic.name, each.partition_index): PartitionReassignment(
                    tuple(each.replicas), tuple(each.adding_replicas), tuple(each.removing_replicas)
                )
                for topic in answer.topics
                for each in topic.partitions
            }

        return await self._calls.one("listing reassignments", ask, route=ControllerRoute(), timeout_s=timeout_s)

    async def elect_leaders(
        self,
        election_type: ElectionType = ElectionType.PREFERRED,
        partitions: Iterable[SomePartition] | None = None,
        *,
        timeout_s: float | None = None,
        raise_errors: bool = True,
    ) -> Results[TopicPartition, bool]:
        """Elect leaders of some partitions, or of all that need it: True where there is a new one, else False.

        >>> admin.elect_leaders(ElectionType.PREFERRED, [("orders", 0)])[TopicPartition("orders", 0)]
        False
        """
        wanted = None if partitions is None else checked_partitions(partitions)
        if wanted is not None and not wanted:
            return Results({})

        async def ask(call: Call, node_id: int | None) -> Results[TopicPartition, bool]:
            if election_type and await call.version_of(ElectLeadersRequest, node_id) < _KNOWS_UNCLEAN:
                raise call.unsupported("the broker elects preferred leaders only (it takes Kafka 2.4)")
            topics = None
            if wanted is not None:
                topics = [
                    TopicPartitions(topic=topic, partitions=numbers) for topic, numbers in by_topic(wanted).items()
                ]
            request = ElectLeadersRequest(
                election_type=election_type, topic_partitions=topics, timeout_ms=call.broker_timeout_ms
            )
            answer = await call.ask(request, node_id)
            check(answer.error_code)
            return Results(
                {
                    TopicPartition(topic.topic, each.partition_id): _elected(
                        TopicPartition(topic.topic, each.partition_id), each.error_code, each.error_message
                    )
                    for topic in answer.replica_election_results
                    for each in topic.partition_result
                }
            )

        results = await self._calls.one("electing leaders", ask, route=ControllerRoute(), timeout_s=timeout_s)
        if raise_errors:
            results.raise_first()
        return results


def _elected(partition: TopicPartition, error_code: int, message: str | None) -> bool | ApiError:
    if error_code == ErrorCode.ELECTION_NOT_NEEDED:
        return False
    return outcome(True, error_code, message, of=partition)
