"""A consumer put together from its parts, and what happens between two looks for records."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from inspect import isawaitable
from typing import Any

from moldau.base.config.schema import Scope
from moldau.base.errors import ApiError, ConfigError, MoldauError
from moldau.clients.consumer.assignors import ASSIGNORS, Assignor
from moldau.clients.consumer.deserializing import RecordFinisher
from moldau.clients.consumer.errors import WakeUp
from moldau.clients.consumer.fetching.fetcher import Fetcher
from moldau.clients.consumer.group.commits import OffsetCommits, Offsets
from moldau.clients.consumer.group.coordination import GroupCoordination, Invoke
from moldau.clients.consumer.group.membership import Membership
from moldau.clients.consumer.metrics import ConsumerMetrics
from moldau.clients.consumer.offset_lookup import OffsetLookup
from moldau.clients.consumer.offset_reset import reset_policy
from moldau.clients.consumer.position_updates import Committed, PositionUpdates
from moldau.clients.consumer.subscription import SubscriptionState
from moldau.clients.network.cluster import Cluster
from moldau.clients.network.metadata import ClusterMetadata
from moldau.clients.records import OffsetAndMetadata
from moldau.clients.settings import ClientSettings, client_settings

logger = logging.getLogger(__name__)

# How long what is due may wait while there are records to give out.
FRESH_MS = 20

_JAVA = "org.apache.kafka.clients.consumer."
ASSIGNOR_ALIASES = {
    f"{_JAVA}{assignor.__name__}": f"{assignor.__module__}.{assignor.__name__}" for assignor in ASSIGNORS.values()
} | {name: f"{assignor.__module__}.{assignor.__name__}" for name, assignor in ASSIGNORS.items()}


def consumer_settings(settings: Mapping[str, object] | None, keywords: Mapping[str, object]) -> ClientSettings:
    """Read and check a consumer's settings. Assignors may be given by their own names: `sticky`."""
    read = client_settings(Scope.CONSUMER, settings, keywords)
    if read.config.text("group.protocol").upper() == "CONSUMER":
        raise ConfigError("group.protocol=consumer is not supported by this client yet; classic is")
    return read


class ConsumerParts:
    """`group` parts are None without a group.id."""

    def __init__(self, settings: ClientSettings, invoke: Invoke) -> None:
        config = settings.config
        self.settings = settings
        self.cluster = Cluster(settings, allow_auto_topic_creation=config.boolean("allow.auto.create.topics"))
        self.metrics = ConsumerMetrics(self.cluster.clock)
        self.subscription = SubscriptionState(reset_policy(config.text("auto.offset.reset")))
        self.finisher = RecordFinisher(settings)
        self.lookup = OffsetLookup(self.cluster)
        self.fetcher = Fetcher(self.cluster, self.subscription, self.metrics, self.change)
        self.membership: Membership | None = None
        self.commits: OffsetCommits | None = None
        self.coordination: GroupCoordination | None = None
        self._invoke = invoke
        self._changed = asyncio.Event()
        self._woken = False
        self._fresh_until_ms = 0.0
        self._metadata: ClusterMetadata | None = None
        self._auto_commit = False
        self._auto_commit_interval_ms = config.integer("auto.commit.interval.ms")
        self._auto_commit_at_ms = self.cluster.clock.monotonic_ms() + self._auto_commit_interval_ms
        self.default_timeout_ms = config.integer("default.api.timeout.ms")
        if config["group.id"]:
            self._join_parts(config.text("group.id"))
        self.updates = PositionUpdates(self.cluster, self.subscription, self.lookup, self._committed(), self.change)
        self.cluster.on_update(lambda _metadata: self.change())

    def _committed(self) -> Committed | None:
        return None if self.commits is None else self.commits.try_committed

    def _join_parts(self, group_id: str) -> None:
        config = self.settings.config
        self._auto_commit = config.boolean("enable.auto.commit")
        self.membership = Membership(
            group_id,
            config.text_or_none("group.instance.id"),
            config.integer("session.timeout.ms"),
            config.integer("max.poll.interval.ms"),
        )
        self.commits = OffsetCommits(
            self.cluster,
            self.membership,
            self.metrics,
            by_group=lambda: self.subscription.by_group,
            changed=self.change,
        )
        plugins = self.settings.plugins("partition.assignment.strategy", ASSIGNOR_ALIASES)
        assignors = [each for each in plugins if isinstance(each, Assignor)]
        if not assignors or len(assignors) != len(plugins):
            raise ConfigError("partition.assignment.strategy: every strategy is a subclass of Assignor")
        self.coordination = GroupCoordination(
            self.cluster,
            self.subscription,
            self.membership,
            assignors,
            self.metrics,
            changed=self.change,
            invoke=self.invoke,
            before_revoking=self.commit_before_giving_up,
        )

    # -- waiting and waking

    def change(self) -> None:
        """Something has happened that a call which waits may be interested in."""
        self._changed.set()

    def wakeup(self) -> None:
        self._woken = True
        self.change()

    def prepare_to_wait(self) -> None:
        """From here on nothing that happens is missed by `wait`."""
        self._changed.clear()
        self.check_woken()

    def polling(self, begins: bool) -> None:
        """A poll begins or ends: the time in between is what max.poll.interval.ms limits."""
        self.metrics.last_poll_ms = self.cluster.clock.monotonic_ms()
        self.metrics.polls += begins
        if self.coordination is not None:
            self.coordination.polling = begins
            self.coordination.polled()

    def check_woken(self) -> None:
        if self._woken:
            self._woken = False
            raise WakeUp("wakeup() was called")

    async def wait(self, seconds: float) -> None:
        """Until something happens, or the time is up."""
        try:
            async with asyncio.timeout(seconds):
                await self._changed.wait()
        except TimeoutError:
            return

    async def invoke(self, function: Any, *arguments: Any) -> None:
        """Call what a user has handed in, where the user wants it called."""
        outcome = await self._invoke(function, *arguments)
        if isawaitable(outcome):
            await outcome

    # -- between two looks

    @property
    def fresh_s(self) -> float:
        """How long records may be taken without looking again, since all that is due was done a moment ago."""
        return 0.0 if self._woken else (self._fresh_until_ms - self.cluster.clock.monotonic_ms()) / 1000

    async def step(self) -> None:
        """Do what is due: rebalances, commits, positions. Raises what has gone wrong with any of them."""
        self.prepare_to_wait()
        await self.tell_commits()
        if self.coordination is not None and self.subscription.by_group:
            await self.coordination.poll()
        if self.cluster.clock.monotonic_ms() >= self._auto_commit_at_ms:
            self.commit_now_and_then()
        if self._metadata is not self.cluster.metadata:
            self._metadata = self.cluster.metadata
            self.subscription.leaders_are(self._metadata)
            self._raise_topic_errors(self._metadata)
        self.updates.raise_error()
        self.fetcher.raise_error()
        self.updates.start()
        self._fresh_until_ms = self.cluster.clock.monotonic_ms() + FRESH_MS

    def _raise_topic_errors(self, metadata: ClusterMetadata) -> None:
        topics = self.subscription.topics | {each.topic for each in self.subscription.partitions}
        for name in sorted(topics & metadata.topics.keys()):
            error = metadata.topics[name].error
            if error and not error.retriable:
                raise ApiError(error, f"topic {name}")

    # -- commits

    def consumed(self) -> Offsets:
        """The positions of all partitions that have one."""
        return {
            partition: OffsetAndMetadata(
                state.position.offset, "", None if state.position.offset_epoch < 0 else state.position.offset_epoch
            )
            for partition, state in self.subscription.partitions.items()
            if state.position is not None
        }

    def commit_now_and_then(self) -> None:
        """The automatic commit, where that is enabled."""
        if not self._auto_commit or self.commits is None:
            return
        self._auto_commit_at_ms = self.cluster.clock.monotonic_ms() + self._auto_commit_interval_ms
        consumed = self.consumed()
        if consumed:
            self.commits.commit_async(consumed)

    async def commit_before_giving_up(self, timeout_ms: float | None = None) -> None:
        """The last commit of partitions that go; if it fails, their next owner reads some records again."""
        consumed = self.consumed()
        if self.commits is None:
            return
        limit_ms = self.default_timeout_ms if timeout_ms is None else timeout_ms
        await self.commits.wait_for_async(limit_ms)
        if self._auto_commit and consumed:
            try:
                await self.commits.commit(consumed, limit_ms, topics_may_be_gone=True)
            except MoldauError as error:
                logger.warning("The automatic commit of offsets failed: %s", error)
        await self.tell_commits()

    async def tell_commits(self) -> None:
        """Call back for the commits that are through, in their order."""
        done = self.commits.done if self.commits is not None else ()
        while done:
            callback, offsets, error = done.popleft()
            if error is None and self.finisher.has_interceptors:
                await self.invoke(self.finisher.committed, offsets)
            if callback is not None:
                await self.invoke(callback, offsets, error)
