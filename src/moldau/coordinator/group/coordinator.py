"""All groups that a broker coordinates: finds the shard of a group and runs an operation on it.

A group belongs to the partition of `__consumer_offsets` that the hash of its id names; the broker that leads the
partition coordinates it. How many partitions there are is what the topic had when this broker first heard of it, since
another number would give groups to the wrong brokers.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from concurrent.futures import Executor
from functools import lru_cache
from random import Random
from typing import Any

from moldau.base.clock import Clock
from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError
from moldau.base.hashing import coordinator_partition
from moldau.base.supervision import Supervisor
from moldau.cluster.internal_topics import CONSUMER_OFFSETS
from moldau.cluster.metadata_cache import MetadataCache
from moldau.coordinator.group.joins import Joiner
from moldau.coordinator.group.repeated_offsets import RepeatedOffsets
from moldau.coordinator.group.settings import GroupSettings
from moldau.coordinator.group.shard import GroupShard
from moldau.coordinator.runtime.active_shard import Done
from moldau.coordinator.runtime.result import Result
from moldau.coordinator.runtime.runtime import Runtime, RuntimeSettings
from moldau.coordinator.runtime.shard import ShardContext
from moldau.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from moldau.protocol.messages.join_group import JoinGroupRequest
from moldau.protocol.messages.leave_group import MemberIdentity
from moldau.protocol.messages.list_groups import ListedGroup, ListGroupsRequest
from moldau.protocol.messages.offset_commit import OffsetCommitRequest
from moldau.protocol.messages.offset_delete import OffsetDeleteRequest
from moldau.protocol.messages.offset_fetch import OffsetFetchRequestGroup
from moldau.protocol.messages.sync_group import SyncGroupRequest
from moldau.protocol.messages.txn_offset_commit import TxnOffsetCommitRequest
from moldau.replication.delayed import Timers
from moldau.replication.replicas import Replicas


class GroupCoordinator:
    """Every request of a group; `done` gets the response, or the `ApiError` that is the answer."""

    def __init__(
        self,
        replicas: Replicas,
        metadata: MetadataCache,
        settings: GroupSettings,
        *,
        timers: Timers,
        clock: Clock,
        supervisor: Supervisor,
        readers: Executor,
        random: Random,
    ) -> None:
        def make_shard(context: ShardContext) -> GroupShard:
            return GroupShard(context, settings, random)

        self.runtime: Runtime[GroupShard] = Runtime(
            CONSUMER_OFFSETS,
            make_shard,
            replicas,
            timers=timers,
            clock=clock,
            supervisor=supervisor,
            readers=readers,
            settings=RuntimeSettings(settings.commit_timeout_ms, settings.compression),
        )
        self._metadata = metadata
        self._settings = settings
        self._clock = clock
        self._partitions: int | None = None
        metadata.add_listener(self._topics_changed)

    # -- where a group is

    @property
    def partitions(self) -> int:
        return self._settings.partitions if self._partitions is None else self._partitions

    def _run(self, group_id: str, operation: Callable[[GroupShard], Result[Any]], done: Done) -> None:
        self.runtime.run(_partition_of(group_id, self.partitions), operation, done)

    # -- members

    def join(self, request: JoinGroupRequest, joiner: Joiner, done: Done) -> None:
        _require_group_id(request.group_id)
        shortest_ms, longest_ms = self._settings.session_timeout_ms_min, self._settings.session_timeout_ms_max
        if not shortest_ms <= request.session_timeout_ms <= longest_ms:
            text = f"a session timeout is between {shortest_ms} and {longest_ms} ms here"
            raise ApiError(ErrorCode.INVALID_SESSION_TIMEOUT, text)
        now_ms = self._clock.now_ms()
        self._run(request.group_id, lambda shard: shard.joins.join(request, joiner, now_ms), done)

    def sync(self, request: SyncGroupRequest, done: Done) -> None:
        _require_group_id(request.group_id)
        self._run(request.group_id, lambda shard: shard.memberships.sync(request), done)

    def heartbeat(self, request: HeartbeatRequest, done: Done) -> HeartbeatResponse | None:
        """Returns or raises the answer if it waits for nothing, as nearly always; there is nothing more frequent."""
        _require_group_id(request.group_id)
        shard = self.runtime.settled(_partition_of(request.group_id, self.partitions))
        if shard is not None:
            return shard.memberships.heartbeat(request)
        self._run(request.group_id, lambda shard: Result(response=shard.memberships.heartbeat(request)), done)
        return None

    def is_well(self, request: HeartbeatRequest) -> bool:
        """A heartbeat that finds nothing to tell the member; if not, or if it raises, `heartbeat` says what is."""
        shard = self.runtime.settled(_partition_of(request.group_id, self.partitions))
        return shard is not None and not shard.memberships.heartbeat(request).error_code

    def leave(self, group_id: str, members: list[MemberIdentity], done: Done) -> None:
        _require_group_id(group_id)
        self._run(group_id, lambda shard: shard.memberships.leave(group_id, members), done)

    # -- offsets

    def commit(self, request: OffsetCommitRequest, version: int, done: Done) -> None:
        now_ms = self._clock.now_ms()
        self._run(request.group_id, lambda shard: shard.commits.commit(request, version, now_ms), done)

    def commit_now(self, again: RepeatedOffsets, offsets: Sequence[tuple[int, int]], version: int) -> bool:
        """Commit if that waits for nobody; False if nothing was done, and the general way has to be taken."""
        now_ms = self._clock.now_ms()
        partition = _partition_of(again.request.group_id, self.partitions)
        return self.runtime.run_now(
            partition, lambda shard: shard.commits.commit_again(again, offsets, version, now_ms)
        )

    def commit_in_transaction(self, request: TxnOffsetCommitRequest, done: Done) -> None:
        _require_group_id(request.group_id)
        now_ms = self._clock.now_ms()
        self._run(request.group_id, lambda shard: shard.commits.commit_in_transaction(request, now_ms), done)

    def fetch(self, request: OffsetFetchRequestGroup, require_stable: bool, done: Done) -> None:
        self._run(request.group_id, lambda shard: Result(response=shard.reads.fetch(request, require_stable)), done)

    def delete_offsets(self, request: OffsetDeleteRequest, done: Done) -> None:
        _require_group_id(request.group_id)
        self._run(request.group_id, lambda shard: shard.commits.delete_offsets(request), done)

    # -- groups

    def describe(self, group_id: str, version: int, done: Done) -> None:
        self._run(group_id, lambda shard: Result(response=shard.reads.describe(group_id, version)), done)

    def listed(self, request: ListGroupsRequest) -> list[ListedGroup]:
        if self.runtime.is_loading:
            raise ApiError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, "some groups are being loaded")
        return [group for shard in self.runtime.active.values() for group in shard.reads.listed(request)]

    def delete(self, group_id: str, done: Done) -> None:
        """`done` gets NONE if the group is no more."""
        self._run(group_id, lambda shard: shard.commits.delete_group(group_id), done)

    # -- topics

    def _topics_changed(self, changed: Collection[str]) -> None:
        if CONSUMER_OFFSETS in changed:
            known = len(self._metadata.topics.get(CONSUMER_OFFSETS, ()))
            self._partitions = (self._partitions or known) if known else None
        gone = [topic for topic in changed if topic not in self._metadata.topics]
        if gone:
            for partition in self.runtime.active:
                self._forget_topics(partition, gone)

    def _forget_topics(self, partition: int, topics: list[str]) -> None:
        """Offsets go with their topic."""

        def done(is_all: object) -> None:
            if is_all is False:
                self._forget_topics(partition, topics)

        self.runtime.run(partition, lambda shard: shard.forget_topics(topics), done)


_partition_of = lru_cache(maxsize=10_000)(coordinator_partition)


def _require_group_id(group_id: str) -> None:
    if not group_id:
        raise ApiError(ErrorCode.INVALID_GROUP_ID, "a group needs an id")
