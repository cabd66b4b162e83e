"""OffsetFetch, DescribeGroups and ListGroups: what can be seen of groups. Nothing here changes anything."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from moldau.base.error_codes import ErrorCode
from moldau.coordinator.group.group import ClassicGroup
from moldau.coordinator.group.offset_store import NO_OFFSETS, OffsetStore, TopicPartition
from moldau.coordinator.group.states import DEAD, STABLE
from moldau.protocol.messages.describe_groups import DescribedGroup, DescribedGroupMember
from moldau.protocol.messages.list_groups import ListedGroup, ListGroupsRequest
from moldau.protocol.messages.offset_fetch import (
    OffsetFetchRequestGroup,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopics,
)

NO_OFFSET = -1
CLASSIC_TYPE = "classic"
GROUP_ID_NOT_FOUND_VERSION = 6


class GroupReads:
    """Of the groups of a shard."""

    def __init__(self, groups: dict[str, ClassicGroup], offsets: OffsetStore) -> None:
        self._groups = groups
        self._offsets = offsets

    # -- offsets

    def fetch(self, request: OffsetFetchRequestGroup, require_stable: bool) -> OffsetFetchResponseGroup:
        """The offsets of the partitions that are named, or all; topics are named, whatever the version.

        With `require_stable` an offset that an open transaction is about to change is not told (KIP-447).
        """
        group_id = request.group_id
        is_stable: Callable[[TopicPartition], bool] = lambda _key: True  # noqa: E731
        if require_stable and self._offsets.has_open_transactions(group_id):
            is_stable = lambda key: not self._offsets.is_pending(group_id, key)  # noqa: E731
        offsets = self._offsets.committed.get(group_id, NO_OFFSETS)

        def partition(key: TopicPartition) -> OffsetFetchResponsePartitions:
            found = offsets.get(key)
            if not is_stable(key):
                return _no_offset(key[1], ErrorCode.UNSTABLE_OFFSET_COMMIT)
            if found is None:
                return _no_offset(key[1], ErrorCode.NONE)
            return OffsetFetchResponsePartitions(
                partition_index=key[1],
                committed_offset=found.offset,
                committed_leader_epoch=found.leader_epoch,
                metadata=found.metadata,
            )

        if request.topics is None:
            by_topic: dict[str, list[OffsetFetchResponsePartitions]] = {}
            for key in offsets:
                by_topic.setdefault(key[0], []).append(partition(key))
            topics = [OffsetFetchResponseTopics(name=name, partitions=found) for name, found in by_topic.items()]
        else:
            topics = [
                OffsetFetchResponseTopics(
                    name=topic.name,
                    topic_id=topic.topic_id,
                    partitions=[partition((topic.name, index)) for index in topic.partition_indexes],
                )
                for topic in request.topics
            ]
        return OffsetFetchResponseGroup(group_id=group_id, topics=topics)

    # -- groups

    def describe(self, group_id: str, version: int) -> DescribedGroup:
        """What a member said and got is told of a Stable group only, since else it is about to change."""
        group = self._groups.get(group_id)
        if group is None:
            described = DescribedGroup(group_id=group_id, group_state=DEAD.value)
            if version >= GROUP_ID_NOT_FOUND_VERSION:
                described.error_code = ErrorCode.GROUP_ID_NOT_FOUND
                described.error_message = f"Group {group_id} not found."
            return described
        protocol = group.protocol_name if group.state is STABLE else None
        return DescribedGroup(
            group_id=group_id,
            group_state=group.state.value,
            protocol_type=group.protocol_type or "",
            protocol_data=protocol or "",
            members=[
                DescribedGroupMember(
                    member_id=member.member_id,
                    group_instance_id=member.group_instance_id,
                    client_id=member.client_id,
                    client_host=member.client_host,
                    member_metadata=b"" if protocol is None else member.metadata(protocol),
                    member_assignment=member.assignment,
                )
                for member in group.members.values()
            ],
        )

    def listed(self, request: ListGroupsRequest) -> Iterator[ListedGroup]:
        """The groups in these states and of these types; none named means any."""
        states = {state.strip().lower() for state in request.states_filter}
        types = {kind.strip().lower() for kind in request.types_filter}
        if types and CLASSIC_TYPE not in types:
            return
        for group in self._groups.values():
            if not states or group.state.value.lower() in states:
                yield ListedGroup(
                    group_id=group.group_id,
                    protocol_type=group.protocol_type or "",
                    group_state=group.state.value,
                    group_type=CLASSIC_TYPE,
                )


def _no_offset(index: int, error: ErrorCode) -> OffsetFetchResponsePartitions:
    return OffsetFetchResponsePartitions(
        partition_index=index, committed_offset=NO_OFFSET, metadata="", error_code=error
    )
