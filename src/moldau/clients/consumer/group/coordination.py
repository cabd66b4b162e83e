"""The life of a member: join, sync, heartbeats, and the listener's calls at their places between them.

What the network does runs in the background, whatever the consumer's owner does; what the owner is told happens inside
its own calls of `poll`. So a rebalance is three parts: partitions are given up (in poll), join and sync (in the
background), partitions come (in poll).

Eager members give up everything before they join. Cooperative ones keep what they have, give up after the rebalance
what has been taken from them, and join once more so that it can go to its new owner (KIP-429).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import Any

from moldau.base.errors import ApiError, Disconnected, MoldauError
from moldau.base.supervision import OnFailure
from moldau.clients.consumer.assignors import Assignor
from moldau.clients.consumer.group.exchange import (
    assign,
    partition_racks,
    read_assignment,
    read_members,
    subscription_blob,
)
from moldau.clients.consumer.group.membership import Membership, MemberState, Reaction
from moldau.clients.consumer.metrics import ConsumerMetrics
from moldau.clients.consumer.offset_lookup import is_passing
from moldau.clients.consumer.subscription import SubscriptionKind, SubscriptionState
from moldau.clients.errors import error_code
from moldau.clients.network.cluster import Cluster
from moldau.clients.network.coordinators import CoordinatorKind
from moldau.clients.records import TopicPartition
from moldau.protocol.messages.join_group import JoinGroupResponse
from moldau.protocol.messages.leave_group import LeaveGroupRequest
from moldau.protocol.messages.sync_group import SyncGroupResponse
from moldau.protocol.schema import Message

logger = logging.getLogger(__name__)

LANE = "group"
# A join is answered when all members are there, or after the longest of their rebalance timeouts.
JOIN_GRACE_MS = 5_000

Invoke = Callable[..., Awaitable[Any]]


class GroupCoordination:
    """`invoke` calls what users have handed in; `before_revoking` is the moment for a last commit."""

    def __init__(
        self,
        cluster: Cluster,
        subscription: SubscriptionState,
        membership: Membership,
        assignors: Sequence[Assignor],
        metrics: ConsumerMetrics,
        *,
        changed: Callable[[], None],
        invoke: Invoke,
        before_revoking: Callable[[], Awaitable[None]],
    ) -> None:
        config = cluster.config
        self._cluster = cluster
        self._subscription = subscription
        self._membership = membership
        self._assignors = {assignor.name: assignor for assignor in assignors}
        self._cooperative = all(assignor.cooperative for assignor in assignors)
        self._metrics = metrics
        self._changed = changed
        self._invoke = invoke
        self._before_revoking = before_revoking
        self._heartbeat_interval_ms = config.integer("heartbeat.interval.ms")
        self._max_poll_interval_ms = config.integer("max.poll.interval.ms")
        self._exclude_internal = config.boolean("exclude.internal.topics")
        self._rack = config.text("client.rack")
        self._polled_ms = cluster.clock.monotonic_ms()
        self.polling = False
        self._prepared = False
        self._joining: asyncio.Task[None] | None = None
        self._beating: asyncio.Task[None] | None = None
        self._outcome: bytes | MoldauError | None = None
        self._joined_topics: frozenset[str] = frozenset()
        self._group_topics: frozenset[str] = frozenset()
        self._assigned_racks: object = None  # what the leader saw of the topics when it assigned
        self._began_ms = 0.0

    # -- inside poll

    async def poll(self) -> None:
        """Take the next step of a rebalance, if there is one."""
        membership = self._membership
        self._polled_ms = self._cluster.clock.monotonic_ms()
        if membership.fatal is not None:
            raise membership.fatal
        self.notice_changes()
        if self._joining is None and membership.rejoin_needed:
            if not self._prepared:
                self._prepared = True
                await self._prepare()
            if self._joining is None:
                self._began_ms = self._cluster.clock.monotonic_ms()
                self._joining = self._cluster.supervisor.start(
                    f"join of {membership.group_id}", self._join, OnFailure.LOG
                )
        if self._outcome is not None:
            await self._finish()

    def polled(self) -> None:
        """A call of poll has ended: from now on its owner processes records."""
        self._polled_ms = self._cluster.clock.monotonic_ms()

    def notice_changes(self) -> None:
        """Join again if topics have come, gone or grown."""
        subscription, metadata = self._subscription, self._cluster.metadata
        if subscription.kind is SubscriptionKind.PATTERN and metadata.topics:
            subscription.match(metadata, exclude_internal=self._exclude_internal)
        if self._membership.state is not MemberState.STABLE:
            return
        if subscription.topics != self._joined_topics:
            self._membership.request_rejoin("the subscription has changed")
        elif self._assigned_racks is not None and self._assigned_racks != partition_racks(self._group_topics, metadata):
            self._membership.request_rejoin("the partitions of subscribed topics have changed")

    async def _prepare(self) -> None:
        owned = list(self._subscription.partitions)
        if not self._membership.generation_lost:
            await self._before_revoking()
        if self._membership.generation_lost or not self._cooperative:
            await self._give_up(owned)
        else:
            await self._give_up([each for each in owned if each.topic not in self._subscription.topics])

    async def _give_up(self, partitions: Sequence[TopicPartition]) -> None:
        listener = self._subscription.listener
        tell = listener.on_partitions_lost if self._membership.generation_lost else listener.on_partitions_revoked
        try:
            if partitions:
                logger.info("Giving up partitions %s", ", ".join(map(str, partitions)))
                await self._invoke(tell, list(partitions))
        finally:
            self._subscription.take_away(set(partitions))

    async def _finish(self) -> None:
        outcome, self._outcome, self._joining = self._outcome, None, None
        if isinstance(outcome, MoldauError):
            self._metrics.failed_rebalances += 1
            self._membership.request_rejoin("the last attempt to join failed")
            raise outcome
        self._prepared = False
        if self._membership.state is not MemberState.STABLE:
            self._membership.request_rejoin("the generation was over before it began")
            return
        assert outcome is not None
        assigned = sorted(read_assignment(outcome))
        self._metrics.rebalances += 1
        self._metrics.rebalance_latency_ms += self._cluster.clock.monotonic_ms() - self._began_ms
        owned = set(self._subscription.partitions)
        try:
            if lost := sorted(owned.difference(assigned)):
                self._membership.request_rejoin("need to revoke partitions and re-join")
                await self._give_up(lost)
        finally:
            await self._take(assigned, owned)

    async def _take(self, assigned: Sequence[TopicPartition], owned: Collection[TopicPartition]) -> None:
        membership = self._membership
        membership.begins_to_read()
        self._assignors[membership.protocol_name].on_assignment(assigned, membership.generation_id)
        self._subscription.assign(assigned)
        self._cluster.set_topics(self._subscription.topics | self._group_topics | {each.topic for each in assigned})
        added = [each for each in assigned if each not in owned]
        logger.info("Adding newly assigned partitions: %s", ", ".join(map(str, added)))
        await self._invoke(self._subscription.listener.on_partitions_assigned, added)

    # -- in the background

    async def _join(self) -> None:
        failures = 0
        while self._outcome is None:
            try:
                reaction = await self._try_to_join()
            except MoldauError as error:
                if isinstance(error, Disconnected):
                    self._coordinator_lost()
                if not is_passing(error):
                    self._outcome = error
                    break
                logger.info("Joining group %s failed, and is tried again: %s", self._membership.group_id, error)
                reaction = Reaction.RETRY
            if reaction is Reaction.COORDINATOR_LOST:
                self._coordinator_lost()
            if reaction in (Reaction.RETRY, Reaction.COORDINATOR_LOST):
                await asyncio.sleep(self._cluster.backoff.delay_ms(failures) / 1000)
                failures += 1
        self._changed()

    async def _try_to_join(self) -> Reaction | None:
        """One join and sync; what to do next if it came to nothing."""
        membership = self._membership
        if self._subscription.kind is SubscriptionKind.PATTERN and not self._cluster.metadata.topics:
            await self._cluster.update()
            self.notice_changes()
        node_id = await self._coordinator()
        topics = self._subscription.topics
        protocols = [(name, self._blob(assignor, topics)) for name, assignor in self._assignors.items()]
        asked_in = membership.generation_id
        join = await self._ask(node_id, membership.join_request(protocols))
        assert isinstance(join, JoinGroupResponse)
        if join.error_code:
            return self._refused(join.error_code, asked_in, join.member_id)
        leads = membership.joined(join)
        self._joined_topics = topics
        self._keep_beating()
        assignments = await self._assignments(join) if leads else {}
        if not leads:
            self._assigned_racks = None
            self._group_topics = frozenset()
        asked_in = membership.generation_id
        sync = await self._ask(node_id, membership.sync_request(assignments))
        assert isinstance(sync, SyncGroupResponse)
        if sync.error_code:
            return self._refused(sync.error_code, asked_in)
        if membership.state is not MemberState.SYNCING:
            return Reaction.REJOIN  # a heartbeat has heard meanwhile that the generation is over
        self._outcome = membership.synced(sync)
        return None

    def _blob(self, assignor: Assignor, topics: Collection[str]) -> bytes:
        owned = self._subscription.partitions
        return subscription_blob(assignor, topics, owned, self._membership.generation_id, self._rack)

    async def _assignments(self, join: JoinGroupResponse) -> dict[str, bytes]:
        members = read_members(join.members)
        topics = frozenset(topic for member in members.values() for topic in member.topics)
        self._group_topics = topics
        self._cluster.set_topics(topics | self._subscription.topics)
        if any(topic not in self._cluster.metadata.topics for topic in topics):
            await self._cluster.update()
        metadata = self._cluster.metadata
        self._assigned_racks = partition_racks(topics, metadata)
        if join.skip_assignment:
            return {}  # a static leader that came back: the group goes on with what it has (KIP-814)
        return assign(self._assignors[self._membership.protocol_name], members, metadata)

    def _refused(self, number: int, asked_in: int, member_id: str = "") -> Reaction:
        reaction = self._membership.refused(number, asked_in, member_id)
        if reaction is Reaction.GIVE_UP:
            assert self._membership.fatal is not None
            raise self._membership.fatal
        if reaction is Reaction.RAISE:
            raise ApiError(error_code(number), f"joining group {self._membership.group_id}")
        return reaction

    def _keep_beating(self) -> None:
        if self._beating is None or self._beating.done():
            self._beating = self._cluster.supervisor.start(
                f"heartbeats of {self._membership.group_id}", self._beat, OnFailure.RESTART
            )

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(self._heartbeat_interval_ms / 1000)
            if not self._membership.beats:
                continue
            late_ms = self._cluster.clock.monotonic_ms() - self._polled_ms - self._max_poll_interval_ms
            if late_ms >= 0 and not self.polling:
                logger.warning(
                    "Consumer poll timeout has expired: the time between calls of poll() was longer than "
                    "max.poll.interval.ms. Raise that, or lower max.poll.records."
                )
                await self.leave("consumer poll timeout has expired.")
                continue
            try:
                await self._beat_once()
            except MoldauError as error:
                logger.info("A heartbeat of group %s failed: %s", self._membership.group_id, error)
                self._coordinator_lost()

    async def _beat_once(self) -> None:
        asked_in = self._membership.generation_id
        node_id = await self._coordinator()
        answer = await self._cluster.request(
            self._membership.heartbeat_request(), node_id, lane=LANE, timeout_ms=self._membership.session_timeout_ms
        )
        self._metrics.heartbeats += 1
        if answer.error_code:
            reaction = self._membership.refused(answer.error_code, asked_in)
            if reaction is Reaction.COORDINATOR_LOST:
                self._coordinator_lost()
            logger.info("A heartbeat was answered with %s", error_code(answer.error_code).name)
            self._changed()

    # -- leaving

    async def give_up_all(self) -> None:
        """Before leaving: the listener hears that everything goes."""
        await self._give_up(list(self._subscription.partitions))

    async def leave(self, reason: str, timeout_ms: float | None = None) -> None:
        """Leave the group, if the coordinator has to know: static members come back (KIP-345)."""
        membership = self._membership
        await self._stop_joining()
        member_id = membership.member_id
        if member_id and membership.group_instance_id is None and membership.fatal is None:
            try:
                node_id = await self._coordinator(timeout_ms)
                connection = await self._cluster.connection(node_id)
                version = connection.version_of(LeaveGroupRequest)
                request = membership.leave_request(version, reason)
                await connection.request(request, version, timeout_ms=timeout_ms)
            except MoldauError as error:
                logger.warning("Leaving group %s failed: %s", membership.group_id, error)
        if membership.member_id == member_id:
            membership.forget(reason)
        self._prepared = False

    async def _stop_joining(self) -> None:
        task, self._joining, self._outcome = self._joining, None, None
        if task is not None and not task.done():
            await self._cluster.supervisor.cancel([task], JOIN_GRACE_MS)

    # -- the coordinator

    async def _coordinator(self, timeout_ms: float | None = None) -> int:
        limit_ms = self._cluster.request_timeout_ms if timeout_ms is None else timeout_ms
        return await self._cluster.coordinator(CoordinatorKind.GROUP, self._membership.group_id, limit_ms)

    def _coordinator_lost(self) -> None:
        self._cluster.coordinator_lost(CoordinatorKind.GROUP, self._membership.group_id)

    async def _ask(self, node_id: int, request: Message) -> Any:
        timeout_ms = max(self._cluster.request_timeout_ms, self._membership.rebalance_timeout_ms + JOIN_GRACE_MS)
        return await self._cluster.request(request, node_id, lane=LANE, timeout_ms=timeout_ms)
