"""Committed offsets: writing them, reading them, and writing them now and then without being asked.

Commits are sent one after the other, so that a later one is never overtaken by an earlier one. What a callback is to
hear waits until the consumer's owner makes its next call.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import TypeAlias

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError, Disconnected, MoldauError
from moldau.base.supervision import OnFailure
from moldau.clients.consumer.errors import CommitFailed
from moldau.clients.consumer.group.membership import Membership, MemberState, Reaction
from moldau.clients.consumer.group.turns import Turns
from moldau.clients.consumer.metrics import ConsumerMetrics
from moldau.clients.consumer.topic_partitions import by_topic
from moldau.clients.errors import check, error_code
from moldau.clients.network.cluster import Cluster
from moldau.clients.network.coordinators import CoordinatorKind
from moldau.clients.records import OffsetAndMetadata, TopicPartition
from moldau.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from moldau.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
)

logger = logging.getLogger(__name__)

Offsets: TypeAlias = dict[TopicPartition, OffsetAndMetadata]
CommitCallback: TypeAlias = Callable[[Mapping[TopicPartition, OffsetAndMetadata], Exception | None], object]

# From the next version on topics have no names.
_COMMIT_BY_NAME_MAX = 9
_FETCH_BY_NAME_MAX = 9
_SEVERAL_GROUPS = 8
_REQUIRE_STABLE = 7
ASYNC_COMMITS_MAX = 1_000
REBALANCING = "offset commit cannot be completed since the group is rebalancing; the next polls take part in it"


class OffsetCommits:
    """Offsets of one group. `done` holds what callbacks are to be told."""

    def __init__(
        self,
        cluster: Cluster,
        membership: Membership,
        metrics: ConsumerMetrics,
        *,
        by_group: Callable[[], bool],
        changed: Callable[[], None],
    ) -> None:
        """`by_group` says whether the group assigns partitions: then only its members may commit."""
        self.done: deque[tuple[CommitCallback | None, Offsets, MoldauError | None]] = deque()
        self._cluster = cluster
        self._membership = membership
        self._metrics = metrics
        self._by_group = by_group
        self._changed = changed
        self._turns = Turns()
        self._waiting = 0
        self._read_committed = cluster.config.text("isolation.level") == "read_committed"

    # -- writing

    async def commit(self, offsets: Offsets, timeout_ms: float, *, topics_may_be_gone: bool = False) -> None:
        """Commit, and try again while the coordinator is to be found or does not answer.

        If topics may be gone, their offsets are not worth waiting for: those of the others have been committed.
        """

        async def attempt() -> None:
            try:
                await self._commit_once(offsets, timeout_ms)
            except ApiError as error:
                if not topics_may_be_gone or error.code is not ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                    raise

        async with self._turns.take():
            if offsets:
                await self._cluster.retrying(attempt, timeout_ms=timeout_ms, what="committing offsets")
                self.done.append((None, offsets, None))

    def commit_async(self, offsets: Offsets, callback: CommitCallback | None = None) -> None:
        """Commit in the background, once: a later commit will do what this one has not done."""
        if self._waiting >= ASYNC_COMMITS_MAX:
            busy = ApiError(ErrorCode.THROTTLING_QUOTA_EXCEEDED, f"{ASYNC_COMMITS_MAX} commits are under way already")
            self.done.append((callback, offsets, busy))
            return
        self._waiting += 1
        work = partial(self._commit_in_background, self._turns.take(), offsets, callback)
        self._cluster.supervisor.start(f"commit of {self._membership.group_id}", work, OnFailure.LOG)

    async def wait_for_async(self, timeout_ms: float) -> None:
        """Until the commits in the background are through."""
        if self._waiting:
            try:
                async with asyncio.timeout(timeout_ms / 1000), self._turns.take():
                    return
            except TimeoutError:
                logger.warning("%d commits did not end within %d ms", self._waiting, timeout_ms)

    async def _commit_in_background(
        self, turn: AbstractAsyncContextManager[None], offsets: Offsets, callback: CommitCallback | None
    ) -> None:
        failure: MoldauError | None = None
        try:
            async with turn:
                await self._commit_once(offsets, self._cluster.request_timeout_ms)
        except MoldauError as error:
            failure = error
            if callback is None:
                logger.warning("Committing offsets of group %s failed: %s", self._membership.group_id, error)
        finally:
            self._waiting -= 1
        self.done.append((callback, offsets, failure))
        self._changed()

    async def _commit_once(self, offsets: Offsets, timeout_ms: float) -> None:
        membership = self._membership
        if membership.fatal is not None:
            raise membership.fatal
        self._check_membership()
        node_id = await self._coordinator(timeout_ms)
        topics: dict[str, OffsetCommitRequestTopic] = {}
        for (name, number), committed in offsets.items():
            topic = topics.setdefault(name, OffsetCommitRequestTopic(name=name, partitions=[]))
            topic.partitions.append(
                OffsetCommitRequestPartition(
                    partition_index=number,
                    committed_offset=committed.offset,
                    committed_leader_epoch=-1 if committed.leader_epoch is None else committed.leader_epoch,
                    committed_metadata=committed.metadata,
                )
            )
        asked_in = membership.generation_id
        request = OffsetCommitRequest(
            group_id=membership.group_id,
            generation_id_or_member_epoch=asked_in,
            member_id=membership.member_id,
            group_instance_id=membership.group_instance_id,
            topics=list(topics.values()),
        )
        sent_ms = self._cluster.clock.monotonic_ms()
        answer = await self._ask(node_id, request, _COMMIT_BY_NAME_MAX)
        assert isinstance(answer, OffsetCommitResponse)
        for topic_answer in answer.topics:
            for each in topic_answer.partitions:
                if each.error_code:
                    self._refused(each.error_code, asked_in)
        self._metrics.committed(self._cluster.clock.monotonic_ms() - sent_ms)

    def _check_membership(self) -> None:
        if self._by_group() and self._membership.state is not MemberState.STABLE:
            if self._membership.generation_lost:
                raise CommitFailed(ErrorCode.UNKNOWN_MEMBER_ID)
            raise ApiError(ErrorCode.REBALANCE_IN_PROGRESS, REBALANCING)

    def _refused(self, number: int, asked_in: int) -> None:
        code = error_code(number)
        reaction = self._membership.refused(number, asked_in)
        if reaction is Reaction.COORDINATOR_LOST:
            self._coordinator_lost()
        elif code in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION):
            raise CommitFailed(code)
        elif code is ErrorCode.REBALANCE_IN_PROGRESS:
            raise ApiError(code, REBALANCING)
        if self._membership.fatal is not None:
            raise self._membership.fatal
        check(number, "committing offsets")

    # -- reading

    async def committed(
        self, partitions: Collection[TopicPartition], timeout_ms: float
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        """What the group has committed; None where it has not."""

        async def attempt() -> dict[TopicPartition, OffsetAndMetadata | None]:
            return await self.try_committed(partitions, timeout_ms)

        if not partitions:
            return {}
        return await self._cluster.retrying(attempt, timeout_ms=timeout_ms, what="fetching committed offsets")

    async def try_committed(
        self, partitions: Collection[TopicPartition], timeout_ms: float
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        """The same in one attempt."""
        group_id = self._membership.group_id
        node_id = await self._coordinator(timeout_ms)
        connection = await self._cluster.connection(node_id)
        version = min(connection.version_of(OffsetFetchRequest), _FETCH_BY_NAME_MAX)
        request = OffsetFetchRequest(require_stable=self._read_committed and version >= _REQUIRE_STABLE)
        topics = by_topic(partitions).items()
        if version >= _SEVERAL_GROUPS:
            named = [OffsetFetchRequestTopics(name=topic, partition_indexes=numbers) for topic, numbers in topics]
            request.groups = [OffsetFetchRequestGroup(group_id=group_id, topics=named)]
        else:
            request.group_id = group_id
            request.topics = [
                OffsetFetchRequestTopic(name=topic, partition_indexes=numbers) for topic, numbers in topics
            ]
        answer = await self._ask(node_id, request, version)
        assert isinstance(answer, OffsetFetchResponse)
        code = answer.groups[0].error_code if answer.groups else answer.error_code
        if code:
            self._fetch_refused(code)
        found: dict[TopicPartition, OffsetAndMetadata | None] = dict.fromkeys(partitions)
        for topic in answer.groups[0].topics if answer.groups else answer.topics:
            for each in topic.partitions:
                if each.error_code and each.error_code != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                    self._fetch_refused(each.error_code)
                if each.committed_offset >= 0:
                    epoch = None if each.committed_leader_epoch < 0 else each.committed_leader_epoch
                    found[TopicPartition(topic.name, each.partition_index)] = OffsetAndMetadata(
                        each.committed_offset, each.metadata or "", epoch
                    )
        return found

    def _fetch_refused(self, number: int) -> None:
        if self._membership.refused(number, self._membership.generation_id) is Reaction.COORDINATOR_LOST:
            self._coordinator_lost()
        check(number, "fetching committed offsets")

    # -- the coordinator

    async def _coordinator(self, timeout_ms: float) -> int:
        return await self._cluster.coordinator(CoordinatorKind.GROUP, self._membership.group_id, timeout_ms)

    def _coordinator_lost(self) -> None:
        self._cluster.coordinator_lost(CoordinatorKind.GROUP, self._membership.group_id)

    async def _ask(self, node_id: int, request: OffsetCommitRequest | OffsetFetchRequest, version_max: int) -> object:
        try:
            connection = await self._cluster.connection(node_id)
            version = min(connection.version_of(type(request)), version_max)
            answer: object = await connection.request(request, version)
        except Disconnected:
            self._coordinator_lost()
            raise
        return answer
