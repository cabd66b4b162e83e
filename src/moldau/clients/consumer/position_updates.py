"""Finding positions for partitions that have none, or none that can be trusted.

Runs in the background, one task for each kind of question, so that a poll never waits for one partition while another
has records. What comes back is used only if the partition's position has not changed since it was asked.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Mapping
from functools import partial

from moldau.base.errors import MoldauError, UnsupportedVersion
from moldau.base.supervision import OnFailure
from moldau.clients.consumer.errors import LogTruncated, NoOffsetForPartition
from moldau.clients.consumer.offset_lookup import EpochEnd, OffsetLookup, is_passing
from moldau.clients.consumer.offset_reset import LATEST_TIMESTAMP, NONE
from moldau.clients.consumer.positions import NO_EPOCH, FetchPosition, FetchState, PartitionState
from moldau.clients.consumer.subscription import SubscriptionState
from moldau.clients.network.cluster import Cluster
from moldau.clients.records import OffsetAndMetadata, TopicPartition

logger = logging.getLogger(__name__)

Committed = Callable[[Collection[TopicPartition], float], Awaitable[Mapping[TopicPartition, OffsetAndMetadata | None]]]
Asked = dict[TopicPartition, tuple[PartitionState, int]]


class PositionUpdates:
    """`committed` asks the group, or is None without one; `changed` is called when something has been found."""

    def __init__(
        self,
        cluster: Cluster,
        subscription: SubscriptionState,
        lookup: OffsetLookup,
        committed: Committed | None,
        changed: Callable[[], None],
    ) -> None:
        self._cluster = cluster
        self._subscription = subscription
        self._lookup = lookup
        self._committed = committed
        self._changed = changed
        self._tasks: dict[FetchState, asyncio.Task[None]] = {}
        self._error: MoldauError | None = None

    def start(self) -> None:
        """Ask what has to be asked and is not being asked."""
        for state, work in (
            (FetchState.INITIALIZING, self._initialize),
            (FetchState.AWAIT_RESET, self._reset),
            (FetchState.AWAIT_VALIDATION, self._validate),
        ):
            running = self._tasks.get(state)
            if running is None or running.done():
                wanted = self._subscription.in_state(state)
                if wanted:
                    asked = {each: (its, its.version) for each, its in wanted.items()}
                    name = f"positions of {self._cluster.client_id}: {state.name.lower()}"
                    job = partial(self._run, state, asked, work)
                    self._tasks[state] = self._cluster.supervisor.start(name, job, OnFailure.LOG)

    def raise_error(self) -> None:
        if self._error is not None:
            error, self._error = self._error, None
            raise error

    async def _run(self, state: FetchState, asked: Asked, work: Callable[[Asked], Awaitable[None]]) -> None:
        try:
            await work(asked)
        except MoldauError as error:
            if not is_passing(error):
                self._error = error
            else:
                logger.info("Looking for positions failed, and is tried again: %s", error)
        if any(each.state is state for _, each in _unchanged(asked)):
            await asyncio.sleep(self._cluster.backoff.delay_ms(0) / 1000)
        asyncio.get_running_loop().call_soon(self._changed)  # when this task is done, so that the next may start

    # -- the three questions

    async def _initialize(self, asked: Asked) -> None:
        committed: Mapping[TopicPartition, OffsetAndMetadata | None] = {}
        if self._committed is not None:
            committed = await self._committed(list(asked), self._cluster.request_timeout_ms)
        missing = []
        for partition, state in _unchanged(asked):
            found = committed.get(partition)
            if found is not None:
                epoch = NO_EPOCH if found.leader_epoch is None else found.leader_epoch
                state.seek_and_validate(FetchPosition(found.offset, epoch, self._leader_epoch(partition)))
            elif self._subscription.default_reset == NONE:
                missing.append(partition)
            else:
                state.begin_reset(self._subscription.default_reset)
        if missing:
            raise NoOffsetForPartition(missing)

    async def _reset(self, asked: Asked) -> None:
        now_ms = self._cluster.clock.now_ms()
        timestamps = {}
        for partition, (state, _) in asked.items():
            assert state.reset is not None
            timestamp = state.reset.timestamp_at(now_ms)
            assert timestamp is not None
            timestamps[partition] = timestamp
        found = await self._lookup.try_by_time(timestamps)
        after_all = {partition: LATEST_TIMESTAMP for partition in found if found[partition] is None}
        if after_all:  # no record is as late as the time asked for: the end, then
            found |= await self._lookup.try_by_time(after_all)
        for partition, state in _unchanged(asked):
            answer = found.get(partition)
            if answer is not None:
                logger.info("Resetting offset for partition %s to position %d", partition, answer.offset)
                epoch = NO_EPOCH if answer.leader_epoch is None else answer.leader_epoch
                state.seek(FetchPosition(answer.offset, epoch, self._leader_epoch(partition)))

    async def _validate(self, asked: Asked) -> None:
        epochs = {each: its.position.offset_epoch for each, (its, _) in asked.items() if its.position is not None}
        try:
            ends = await self._lookup.try_epoch_ends(epochs)
        except UnsupportedVersion:
            ends = {}
            for _, state in _unchanged(asked):
                state.validated()  # a broker from before 0.11 cannot tell: go on as clients did then
        truncated: dict[TopicPartition, int] = {}
        divergent: dict[TopicPartition, OffsetAndMetadata] = {}
        for partition, state in _unchanged(asked):
            end = ends.get(partition)
            position = state.position
            assert position is not None
            if end is None:
                continue  # asked again
            if _holds(end, position):
                state.validated()
            elif self._subscription.default_reset == NONE:
                truncated[partition] = position.offset
                if end.end_offset >= 0:
                    divergent[partition] = OffsetAndMetadata(end.end_offset, "", end.leader_epoch)
            elif end.end_offset >= 0:
                logger.info("Truncation detected for %s at %d, going to %d", partition, position.offset, end.end_offset)
                state.seek(FetchPosition(end.end_offset, end.leader_epoch, position.leader_epoch))
            else:
                state.begin_reset(self._subscription.default_reset)
        if truncated:
            raise LogTruncated(truncated, divergent)

    def _leader_epoch(self, partition: TopicPartition) -> int:
        leader = self._cluster.metadata.leader(partition)
        return NO_EPOCH if leader is None else leader.leader_epoch


def _unchanged(asked: Asked) -> list[tuple[TopicPartition, PartitionState]]:
    return [(partition, state) for partition, (state, version) in asked.items() if state.version == version]


def _holds(end: EpochEnd, position: FetchPosition) -> bool:
    """Whether the leader's log has what was read up to the position."""
    return 0 <= position.offset <= end.end_offset and end.leader_epoch >= 0
