"""OffsetCommit, TxnOffsetCommit, OffsetDelete and DeleteGroups: what changes the offsets of a group.

A commit of a member is a sign of life. Who commits without being a member may do so while the group is empty; if there
is no group, this makes a simple one.
"""

from __future__ import annotations

from collections.abc import Sequence

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError
from moldau.coordinator.group.group import ClassicGroup
from moldau.coordinator.group.offset_codec import NONE, CommittedOffset
from moldau.coordinator.group.offset_store import OffsetStore
from moldau.coordinator.group.rebalances import Rebalances
from moldau.coordinator.group.repeated_offsets import RepeatedOffsets
from moldau.coordinator.group.settings import GroupSettings
from moldau.coordinator.group.states import COMPLETING_REBALANCE, EMPTY, PREPARING_REBALANCE, STABLE
from moldau.coordinator.group.stored_records import group_tombstone, offset_record, offset_tombstone
from moldau.coordinator.runtime.result import Result, StoredRecord
from moldau.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from moldau.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)
from moldau.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)
from moldau.records.batch import NO_SEQUENCE, Producer

GROUP_ID_NOT_FOUND_VERSION = 9


class OffsetCommits:
    """Of the groups of a shard."""

    def __init__(
        self, groups: dict[str, ClassicGroup], offsets: OffsetStore, rebalances: Rebalances, settings: GroupSettings
    ) -> None:
        self._groups = groups
        self._offsets = offsets
        self._rebalances = rebalances
        self._metadata_max = settings.offset_metadata_bytes_max

    # -- committing

    def commit(self, request: OffsetCommitRequest, version: int, now_ms: int) -> Result[OffsetCommitResponse]:
        """Topics are named, whatever the version."""
        self._check_commit(request, version)
        group_id, retention_ms = request.group_id, request.retention_time_ms
        expire_ms = NONE if retention_ms == NONE else now_ms + retention_ms
        records: list[StoredRecord] = []
        topics = []
        for topic in request.topics:
            partitions = []
            for asked in topic.partitions:
                index, metadata = asked.partition_index, asked.committed_metadata or ""
                if len(metadata) > self._metadata_max:
                    error = ErrorCode.OFFSET_METADATA_TOO_LARGE
                else:
                    error = ErrorCode.NONE
                    commit_ms = now_ms if asked.commit_timestamp == NONE else asked.commit_timestamp
                    committed = CommittedOffset(
                        asked.committed_offset, asked.committed_leader_epoch, metadata, commit_ms, expire_ms
                    )
                    records.append(offset_record(group_id, topic.name, index, committed))
                partitions.append(OffsetCommitResponsePartition(partition_index=index, error_code=error))
            topics.append(OffsetCommitResponseTopic(name=topic.name, topic_id=topic.topic_id, partitions=partitions))
        return Result(records, OffsetCommitResponse(topics=topics))

    def commit_again(
        self, again: RepeatedOffsets, offsets: Sequence[tuple[int, int]], version: int, now_ms: int
    ) -> Result[OffsetCommitResponse]:
        """The same request with other offsets; its answer is known."""
        self._check_commit(again.request, version)
        batch, records = again.batch(offsets, now_ms)
        return Result(records, batch=batch)

    def _check_commit(self, request: OffsetCommitRequest, version: int) -> None:
        group = self._groups.get(request.group_id)
        generation_id = request.generation_id_or_member_epoch
        if group is None:
            if generation_id >= 0:
                is_new = version >= GROUP_ID_NOT_FOUND_VERSION
                code = ErrorCode.GROUP_ID_NOT_FOUND if is_new else ErrorCode.ILLEGAL_GENERATION
                raise ApiError(code, "there is no such group")
            return
        if generation_id < 0 and group.state is EMPTY:
            return
        if generation_id < 0 and not request.member_id and request.group_instance_id is None:
            raise ApiError(ErrorCode.UNKNOWN_MEMBER_ID, "the group has members, and only they commit")
        member = group.check_member(request.member_id, request.group_instance_id)
        _check_generation(group, generation_id)
        if group.state is COMPLETING_REBALANCE:
            raise ApiError(ErrorCode.REBALANCE_IN_PROGRESS, "the assignment of this generation is not known yet")
        if group.state in (STABLE, PREPARING_REBALANCE):
            self._rebalances.keep_alive(group, member)

    # -- committing in a transaction

    def commit_in_transaction(self, request: TxnOffsetCommitRequest, now_ms: int) -> Result[TxnOffsetCommitResponse]:
        """The offsets count when the producer's transaction is committed."""
        self._check_transaction(request)
        records: list[StoredRecord] = []
        topics = []
        for topic in request.topics:
            partitions = []
            for asked in topic.partitions:
                index, metadata = asked.partition_index, asked.committed_metadata or ""
                if len(metadata) > self._metadata_max:
                    error = ErrorCode.OFFSET_METADATA_TOO_LARGE
                else:
                    error = ErrorCode.NONE
                    committed = CommittedOffset(asked.committed_offset, asked.committed_leader_epoch, metadata, now_ms)
                    records.append(offset_record(request.group_id, topic.name, index, committed))
                partitions.append(TxnOffsetCommitResponsePartition(partition_index=index, error_code=error))
            topics.append(TxnOffsetCommitResponseTopic(name=topic.name, partitions=partitions))
        producer = Producer(request.producer_id, request.producer_epoch, NO_SEQUENCE)
        return Result(records, TxnOffsetCommitResponse(topics=topics), producer)

    def _check_transaction(self, request: TxnOffsetCommitRequest) -> None:
        """Up to version 2 a producer says nothing of the consumer's membership; then there is nothing to check."""
        group = self._groups.get(request.group_id)
        if group is None:
            if request.generation_id >= 0:
                raise ApiError(ErrorCode.ILLEGAL_GENERATION, "there is no such group")
            return
        if request.generation_id < 0 and group.state is EMPTY:
            return
        if request.generation_id >= 0 or request.member_id or request.group_instance_id is not None:
            group.check_member(request.member_id, request.group_instance_id)
            _check_generation(group, request.generation_id)

    # -- deleting

    def delete_offsets(self, request: OffsetDeleteRequest) -> Result[OffsetDeleteResponse]:
        group = self._groups.get(request.group_id)
        if group is None:
            raise ApiError(ErrorCode.GROUP_ID_NOT_FOUND, "there is no such group")
        if group.state is not EMPTY and not group.uses_consumer_protocol:
            raise ApiError(ErrorCode.NON_EMPTY_GROUP, "the group has members, whose subscriptions are not known")
        records: list[StoredRecord] = []
        topics = []
        known = self._offsets.known_keys(group.group_id)
        for topic in request.topics:
            is_subscribed = group.is_subscribed_to(topic.name)
            error = ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC if is_subscribed else ErrorCode.NONE
            indexes = [partition.partition_index for partition in topic.partitions]
            if not is_subscribed:
                records += [
                    offset_tombstone(group.group_id, topic.name, index)
                    for index in indexes
                    if (topic.name, index) in known
                ]
            partitions = [OffsetDeleteResponsePartition(partition_index=index, error_code=error) for index in indexes]
            topics.append(OffsetDeleteResponseTopic(name=topic.name, partitions=partitions))
        return Result(records, OffsetDeleteResponse(topics=topics))

    def delete_group(self, group_id: str) -> Result[ErrorCode]:
        """A group without members and all its offsets."""
        group = self._groups.get(group_id)
        if group is None:
            raise ApiError(ErrorCode.GROUP_ID_NOT_FOUND, "there is no such group")
        if group.state is not EMPTY:
            raise ApiError(ErrorCode.NON_EMPTY_GROUP, "the group has members")
        records = [offset_tombstone(group_id, *key) for key in sorted(self._offsets.known_keys(group_id))]
        return Result([*records, group_tombstone(group_id)], ErrorCode.NONE)


def _check_generation(group: ClassicGroup, generation_id: int) -> None:
    if generation_id != group.generation_id:
        raise ApiError(ErrorCode.ILLEGAL_GENERATION, f"the generation is {group.generation_id}")
