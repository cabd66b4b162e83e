"""Committed offsets of groups: list, alter, delete."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from moldau.base.errors import MoldauError
from moldau.clients.admin.calls import Call
from moldau.clients.admin.operations import Operations, SomePartition, by_topic, checked_partitions
from moldau.clients.admin.results import Results, outcome
from moldau.clients.admin.routes import CoordinatorOf, CoordinatorRoute
from moldau.clients.errors import check
from moldau.clients.network.coordinators import CoordinatorKind
from moldau.clients.records import OffsetAndMetadata, TopicPartition
from moldau.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from moldau.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from moldau.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
)

GroupOffsets = Mapping[TopicPartition, OffsetAndMetadata | None]
# From this version on several groups in one request (KIP-709); the one after the last here has topics by id.
_SEVERAL_GROUPS: Final = 8
_BY_NAME_MAX: Final = 9
_CAN_REQUIRE_STABLE: Final = 7


class GroupOffsetOperations(Operations):
    """What Admin does with committed offsets."""

    async def list_consumer_group_offsets(
        self,
        groups: Iterable[str] | Mapping[str, Iterable[SomePartition] | None],
        *,
        require_stable: bool = False,
        timeout_s: float | None = None,
        raise_errors: bool = True,
    ) -> Results[str, GroupOffsets]:
        """What groups have committed, for all partitions or for some; None where nothing is committed.

        >>> admin.list_consumer_group_offsets(["billing"])["billing"][TopicPartition("orders", 0)].offset
        7
        >>> admin.list_consumer_group_offsets({"billing": [("orders", 1)]})["billing"]
        {TopicPartition(topic='orders', partition=1): None}

        With `require_stable` offsets that an open transaction may still change are waited for (KIP-447).
        """
        wanted = {
            group_id: None if partitions is None else checked_partitions(partitions)
            for group_id, partitions in _partitions_by_group(groups).items()
        }

        async def ask(call: Call, node_id: int | None, items: list[str]) -> Mapping[str, GroupOffsets | MoldauError]:
            version = min(await call.version_of(OffsetFetchRequest, node_id), _BY_NAME_MAX)
            if version < _CAN_REQUIRE_STABLE and require_stable:
                raise call.unsupported("the broker does not know stable offsets (it takes Kafka 2.5)")
            if version < _SEVERAL_GROUPS:
                return {item: await _fetch_one(call, node_id, version, item, wanted[item]) for item in items}
            request = OffsetFetchRequest(
                groups=[_asked_group(item, wanted[item]) for item in items], require_stable=require_stable
            )
            answer = await call.ask(request, node_id, version)
            assert isinstance(answer, OffsetFetchResponse)
            return {
                each.group_id: outcome(
                    {
                        TopicPartition(topic.name, one.partition_index): _offset(one)
                        for topic in each.topics
                        for one in topic.partitions
                    },
                    each.error_code,
                    of=each.group_id,
                )
                for each in answer.groups
            }

        return await self._calls.each(
            "listing group offsets",
            wanted,
            ask,
            route=CoordinatorRoute(CoordinatorKind.GROUP),
            timeout_s=timeout_s,
            raise_errors=raise_errors,
        )

    async def alter_consumer_group_offsets(
        self,
        group_id: str,
        offsets: Mapping[TopicPartition, OffsetAndMetadata | int],
        *,
        timeout_s: float | None = None,
        raise_errors: bool = True,
    ) -> Results[TopicPartition, None]:
        """Commit offsets for a group that has no members now.

        >>> _ = admin.alter_consumer_group_offsets("billing", {TopicPartition("orders", 0): 42})
        """
        wanted = {
            TopicPartition(*partition): OffsetAndMetadata(each) if isinstance(each, int) else each
            for partition, each in offsets.items()
        }

        async def ask(
            call: Call, node_id: int | None, items: list[TopicPartition]
        ) -> Mapping[TopicPartition, MoldauError | None]:
            topics = [
                OffsetCommitRequestTopic(
                    name=topic,
                    partitions=[_committed(number, wanted[TopicPartition(topic, number)]) for number in numbers],
                )
                for topic, numbers in by_topic(items).items()
            ]
            version = min(await call.version_of(OffsetCommitRequest, node_id), _BY_NAME_MAX)
            answer = await call.ask(OffsetCommitRequest(group_id=group_id, topics=topics), node_id, version)
            outcomes: dict[TopicPartition, MoldauError | None] = {}
            for topic in answer.topics:
                for each in topic.partitions:
                    partition = TopicPartition(topic.name, each.partition_index)
                    outcomes[partition] = outcome(None, each.error_code, of=f"{partition} of group {group_id}")
            return outcomes

        return await self._calls.each(
            f"altering offsets of group {group_id}",
            wanted,
            ask,
            route=CoordinatorOf(CoordinatorKind.GROUP, group_id),
            timeout_s=timeout_s,
            raise_errors=raise_errors,
        )

    async def delete_consumer_group_offsets(
        self,
        group_id: str,
        partitions: Iterable[SomePartition],
        *,
        timeout_s: float | None = None,
        raise_errors: bool = True,
    ) -> Results[TopicPartition, None]:
        """Forget what a group has committed for partitions of topics that it does not read now (KIP-496).

        >>> _ = admin.delete_consumer_group_offsets("billing", [("orders", 0)])
        """

        async def ask(
            call: Call, node_id: int | None, items: list[TopicPartition]
        ) -> Mapping[TopicPartition, MoldauError | None]:
            topics = [
                OffsetDeleteRequestTopic(
                    name=topic,
                    partitions=[OffsetDeleteRequestPartition(partition_index=number) for number in numbers],
                )
                for topic, numbers in by_topic(items).items()
            ]
            answer = await call.ask(OffsetDeleteRequest(group_id=group_id, topics=topics), node_id)
            check(answer.error_code, f"group {group_id}")
            outcomes: dict[TopicPartition, MoldauError | None] = {}
            for topic in answer.topics:
                for each in topic.partitions:
                    partition = TopicPartition(topic.name, each.partition_index)
                    outcomes[partition] = outcome(None, each.error_code, of=f"{partition} of group {group_id}")
            return outcomes

        return await self._calls.each(
            f"deleting offsets of group {group_id}",
            checked_partitions(partitions),
            ask,
            route=CoordinatorOf(CoordinatorKind.GROUP, group_id),
            timeout_s=timeout_s,
            raise_errors=raise_errors,
        )


def _partitions_by_group(
    groups: Iterable[str] | Mapping[str, Iterable[SomePartition] | None],
) -> Mapping[str, Iterable[SomePartition] | None]:
    return groups if isinstance(groups, Mapping) else dict.fromkeys(groups)


def _asked_group(group_id: str, partitions: list[TopicPartition] | None) -> OffsetFetchRequestGroup:
    topics = None
    if partitions is not None:
        topics = [
            OffsetFetchRequestTopics(name=topic, partition_indexes=numbers)
            for topic, numbers in by_topic(partitions).items()
        ]
    return OffsetFetchRequestGroup(group_id=group_id, topics=topics)


async def _fetch_one(
    call: Call, node_id: int | None, version: int, group_id: str, partitions: list[TopicPartition] | None
) -> GroupOffsets | MoldauError:
    topics = None
    if partitions is not None:
        topics = [
            OffsetFetchRequestTopic(name=topic, partition_indexes=numbers)
            for topic, numbers in by_topic(partitions).items()
        ]
    answer = await call.ask(OffsetFetchRequest(group_id=group_id, topics=topics), node_id, version)
    assert isinstance(answer, OffsetFetchResponse)
    found = {
        TopicPartition(topic.name, one.partition_index): _offset(one)
        for topic in answer.topics
        for one in topic.partitions
    }
    return outcome(found, answer.error_code, of=group_id)


def _offset(found: OffsetFetchResponsePartition | OffsetFetchResponsePartitions) -> OffsetAndMetadata | None:
    check(found.error_code)
    if found.committed_offset < 0:
        return None
    epoch = found.committed_leader_epoch
    return OffsetAndMetadata(found.committed_offset, found.metadata or "", epoch if epoch >= 0 else None)


def _committed(number: int, offset: OffsetAndMetadata) -> OffsetCommitRequestPartition:
    return OffsetCommitRequestPartition(
        partition_index=number,
        committed_offset=offset.offset,
        committed_leader_epoch=-1 if offset.leader_epoch is None else offset.leader_epoch,
        committed_metadata=offset.metadata,
    )
