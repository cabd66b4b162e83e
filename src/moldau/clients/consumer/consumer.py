"""The asyncio consumer: `moldau.aio.Consumer`."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping
from types import TracebackType
from typing import Any, Self, TypeVar

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError
from moldau.clients.consumer.column_batches import ColumnBatch, column_batch
from moldau.clients.consumer.consumer_record import ConsumerRecord
from moldau.clients.consumer.deserializing import Finished
from moldau.clients.consumer.fetching.completed_fetch import CompletedFetch
from moldau.clients.consumer.group.commits import CommitCallback, OffsetCommits, Offsets
from moldau.clients.consumer.group.coordination import Invoke
from moldau.clients.consumer.listener import RebalanceListener
from moldau.clients.consumer.offset_lookup import OffsetAndTimestamp
from moldau.clients.consumer.offset_reset import EARLIEST, EARLIEST_TIMESTAMP, LATEST, LATEST_TIMESTAMP, ResetPolicy
from moldau.clients.consumer.parts import ConsumerParts, consumer_settings
from moldau.clients.consumer.positions import NO_EPOCH, FetchPosition, FetchState
from moldau.clients.consumer.subscription import SubscriptionKind
from moldau.clients.errors import ClientClosed, IllegalState, TimedOut
from moldau.clients.network.metadata import PartitionMetadata
from moldau.clients.records import GroupMetadata, OffsetAndMetadata, TopicPartition

logger = logging.getLogger(__name__)

Taken = TypeVar("Taken")

CLOSE_S = 30.0
FOREVER_S = float(2**31)


async def _call(function: Any, *arguments: Any) -> Any:
    return function(*arguments)


class Consumer:
    """Reads records, in the running loop.

        async with Consumer(bootstrap_servers="localhost:9092", group_id="g") as consumer:
            consumer.subscribe(["topic"])
            async for record in consumer:
                print(record.offset, record.value)

    One task uses it at a time; only `wakeup` may be called by others. Between two polls no longer than
    max.poll.interval.ms may pass, or the group gives the partitions to others.
    """

    def __init__(
        self, settings: Mapping[str, object] | None = None, *, _invoke: Invoke = _call, **keywords: object
    ) -> None:
        self._parts = parts = ConsumerParts(consumer_settings(settings, keywords), _invoke)
        self._subscription = parts.subscription
        self._max_poll_records = parts.settings.config.integer("max.poll.records")
        self._closing = self._closed = False

    # -- what to read

    def subscribe(self, topics: Iterable[str] | re.Pattern[str], listener: RebalanceListener | None = None) -> None:
        """Read topics, by name or all that a pattern matches; the group says which partitions.

        Replaces what was subscribed before, and takes effect in the next poll.
        """
        self._check_open()
        if self._parts.coordination is None:
            raise ApiError(ErrorCode.INVALID_GROUP_ID, "to subscribe, a group.id has to be set; assign() needs none")
        if isinstance(topics, re.Pattern):
            self._subscription.subscribe_pattern(topics, listener or RebalanceListener())
            self._parts.cluster.watch_all_topics(True)
            self._parts.cluster.request_update()
            return
        names = _topic_names(topics)
        self._subscription.subscribe(names, listener or RebalanceListener())
        self._parts.cluster.set_topics(names)
        self._parts.cluster.request_update()

    def assign(self, partitions: Iterable[TopicPartition | tuple[str, int]]) -> None:
        """Read exactly these partitions, without a group. Replaces those of before."""
        self._check_open()
        wanted = [TopicPartition(*each) for each in partitions]
        self._parts.commit_now_and_then()
        self._subscription.assign_by_hand(wanted)
        self._parts.cluster.set_topics({each.topic for each in wanted})
        self._parts.cluster.request_update()

    async def unsubscribe(self) -> None:
        """Read nothing any more, and leave the group."""
        self._check_open()
        parts = self._parts
        parts.fetcher.buffer.clear()
        if parts.coordination is not None and self._subscription.by_group:
            try:
                await parts.commit_before_giving_up()
                await parts.coordination.give_up_all()
            finally:
                await parts.coordination.leave("the consumer unsubscribed from all topics")
                if parts.membership is not None:
                    parts.membership.ends_reading()
        self._subscription.unsubscribe()
        parts.cluster.watch_all_topics(False)

    def assignment(self) -> set[TopicPartition]:
        return set(self._subscription.partitions)

    def subscription(self) -> set[str]:
        return set(self._subscription.topics)

    # -- records

    async def poll(self, timeout_s: float = 0.0) -> list[ConsumerRecord]:
        """Records, at most max.poll.records; none if there are none within the time."""
        finished = self.finish(await self._poll_until(self._take_records, timeout_s))
        if finished.error is not None:
            self.go_back_to(finished.left)
            if not finished.records:
                raise finished.error
        return finished.records

    async def poll_batches(self, timeout_s: float = 0.0) -> list[ColumnBatch]:
        """All records that have been fetched, as Arrow columns; at most fetch.max.bytes or so."""
        return await self._poll_until(self._take_batches, timeout_s)

    def _take_records(self) -> list[ConsumerRecord]:
        records = self._parts.fetcher.buffer.take(self._max_poll_records)
        self._parts.metrics.records_consumed += len(records)
        return records

    def _take_batches(self) -> list[ColumnBatch]:
        batches: list[ColumnBatch] = []

        def take(fetch: CompletedFetch) -> None:
            batch = column_batch(fetch)
            if batch is not None:
                batches.append(batch)

        self._parts.fetcher.buffer.take_whole(take)
        self._parts.metrics.records_consumed += sum(batch.columns.num_rows for batch in batches)
        return batches

    def take_ready(self) -> tuple[list[ConsumerRecord], bool]:
        """Records that are there already, and whether there is room for more.

        This, the next and `wait_for_some` are the only methods that another thread than the loop's may call, while
        nothing else is.
        """
        return self._ready(self._take_records)

    def take_ready_batches(self) -> tuple[list[ColumnBatch], bool]:
        """The same in columns."""
        return self._ready(self._take_batches)

    def _ready(self, take: Callable[[], list[Taken]]) -> tuple[list[Taken], bool]:
        parts = self._parts
        if self._closing or parts.fresh_s <= 0:
            return [], False
        before = len(parts.fetcher.buffer)
        taken = take()
        if taken:
            parts.polling(False)
        return taken, len(parts.fetcher.buffer) < before

    def wait_for_some(self, timeout_s: float) -> float:
        """A moment at most, for something to take; how many seconds are left."""
        parts = self._parts
        fresh_s = min(parts.fresh_s, timeout_s)
        if self._closing or fresh_s <= 0:
            return timeout_s
        began_ms = parts.cluster.clock.monotonic_ms()
        parts.fetcher.buffer.wait(fresh_s)
        return timeout_s - (parts.cluster.clock.monotonic_ms() - began_ms) / 1000

    async def until_some(self, timeout_s: float) -> float:
        """Do what is due until there is something to take, and how many seconds are left."""
        deadline = asyncio.get_running_loop().time() + timeout_s
        buffer = self._parts.fetcher.buffer
        await self._poll_until(lambda: [True] if buffer.has_some else [], timeout_s)
        return deadline - asyncio.get_running_loop().time()

    def fetch_more(self) -> None:
        """Use the room."""
        self._parts.fetcher.send()

    def finish(self, records: list[ConsumerRecord]) -> Finished:
        """Deserialize records that have been taken, and show them to interceptors."""
        return self._parts.finisher.finish(records)

    async def _poll_until(self, take: Callable[[], list[Taken]], timeout_s: float) -> list[Taken]:
        self._check_open()
        if self._subscription.kind is SubscriptionKind.NONE:
            raise IllegalState("the consumer is not subscribed to any topics or assigned any partitions")
        parts = self._parts
        time = asyncio.get_running_loop().time
        deadline = time() + timeout_s
        parts.polling(True)
        try:
            while True:
                await parts.step()
                taken = take()
                parts.fetcher.send()
                left_s = deadline - time()
                if taken or left_s <= 0:
                    return taken
                await parts.wait(left_s)
        finally:
            parts.polling(False)

    def __aiter__(self) -> AsyncIterator[ConsumerRecord]:
        return self._records()

    async def _records(self) -> AsyncIterator[ConsumerRecord]:
        while not self._closed:
            for record in await self.poll(FOREVER_S):
                yield record

    def wakeup(self) -> None:
        """Make the poll that waits, or the next one, raise WakeUp."""
        self._parts.wakeup()

    # -- positions

    def pause(self, partitions: Iterable[TopicPartition | tuple[str, int]]) -> None:
        """Give out no records of these until they are resumed; no rebalance follows."""
        for each in self._states(partitions):
            each.paused = True

    def resume(self, partitions: Iterable[TopicPartition | tuple[str, int]]) -> None:
        for each in self._states(partitions):
            each.paused = False
        self._parts.change()

    def paused(self) -> set[TopicPartition]:
        return {each for each, state in self._subscription.partitions.items() if state.paused}

    def seek(self, partition: TopicPartition | tuple[str, int], offset: int | OffsetAndMetadata) -> None:
        """Read from this offset on, with the next poll."""
        self._check_open()
        partition = TopicPartition(*partition)
        to, epoch = (offset, None) if isinstance(offset, int) else (offset.offset, offset.leader_epoch)
        if to < 0:
            raise ValueError(f"the offset to seek to is {to}")
        leader = self._parts.cluster.metadata.leader(partition)
        leader_epoch = NO_EPOCH if leader is None else leader.leader_epoch
        position = FetchPosition(to, NO_EPOCH if epoch is None else epoch, leader_epoch)
        self._subscription.state(partition).seek_and_validate(position)
        self._parts.change()

    def seek_to_beginning(self, partitions: Iterable[TopicPartition | tuple[str, int]] = ()) -> None:
        """Read these, or all, from their beginning; what that is gets looked up when they are polled."""
        self._reset(partitions, EARLIEST)

    def seek_to_end(self, partitions: Iterable[TopicPartition | tuple[str, int]] = ()) -> None:
        self._reset(partitions, LATEST)

    def _reset(self, partitions: Iterable[TopicPartition | tuple[str, int]], policy: ResetPolicy) -> None:
        for state in self._states(list(partitions) or list(self._subscription.partitions)):
            state.begin_reset(policy)
        self._parts.change()

    def go_back_to(self, records: Iterable[ConsumerRecord]) -> None:
        """Read these again: they were taken and not given out."""
        seen = set()
        for record in records:
            partition = TopicPartition(record.topic, record.partition)
            state = self._subscription.partitions.get(partition)
            if partition not in seen and state is not None and state.position is not None:
                seen.add(partition)
                state.seek(state.position._replace(offset=record.offset))

    async def position(self, partition: TopicPartition | tuple[str, int], timeout_s: float | None = None) -> int:
        """The offset of the next record to be read; looked up if it is not known yet."""
        self._check_open()
        partition = TopicPartition(*partition)
        parts = self._parts
        timeout_s = parts.default_timeout_ms / 1000 if timeout_s is None else timeout_s
        deadline = asyncio.get_running_loop().time() + timeout_s
        while True:
            state = self._subscription.state(partition)
            if state.position is not None and state.state is not FetchState.AWAIT_VALIDATION:
                return state.position.offset
            parts.prepare_to_wait()
            parts.updates.raise_error()
            parts.updates.start()
            left_s = deadline - asyncio.get_running_loop().time()
            if left_s <= 0:
                raise TimedOut(f"the position of {partition} was not determined within {timeout_s:g} s")
            await parts.wait(left_s)

    def current_lag(self, partition: TopicPartition | tuple[str, int]) -> int | None:
        """How many records are behind the position, as far as the last fetch told."""
        state = self._subscription.state(TopicPartition(*partition))
        read_committed = self._parts.settings.config.text("isolation.level") == "read_committed"
        end = state.last_stable_offset if read_committed else state.high_watermark
        return None if state.position is None or end < 0 else max(0, end - state.position.offset)

    def _states(self, partitions: Iterable[TopicPartition | tuple[str, int]]) -> list[Any]:
        self._check_open()
        return [self._subscription.state(TopicPartition(*each)) for each in partitions]

    # -- commits

    async def commit(
        self,
        offsets: Mapping[TopicPartition, OffsetAndMetadata | int] | None = None,
        timeout_s: float | None = None,
    ) -> None:
        """Commit these offsets, or the positions of all partitions, and wait until that is done."""
        commits = self._commits()
        wanted = self._parts.consumed() if offsets is None else _offsets(offsets)
        timeout_ms = self._parts.default_timeout_ms if timeout_s is None else timeout_s * 1000
        self._parts.check_woken()
        await self._parts.tell_commits()
        await commits.commit(wanted, timeout_ms)
        await self._parts.tell_commits()

    def commit_async(
        self,
        offsets: Mapping[TopicPartition, OffsetAndMetadata | int] | None = None,
        callback: CommitCallback | None = None,
    ) -> None:
        """Commit in the background, once; a later call of poll, commit or close calls `callback(offsets, error)`."""
        self._commits().commit_async(self._parts.consumed() if offsets is None else _offsets(offsets), callback)

    async def committed(
        self, partitions: Collection[TopicPartition | tuple[str, int]], timeout_s: float | None = None
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        """What the group has committed; None where it has not."""
        timeout_ms = self._parts.default_timeout_ms if timeout_s is None else timeout_s * 1000
        return await self._commits().committed([TopicPartition(*each) for each in partitions], timeout_ms)

    def group_metadata(self) -> GroupMetadata:
        """Who this consumer is in its group, for a producer's transaction."""
        if self._parts.membership is None:
            raise ApiError(ErrorCode.INVALID_GROUP_ID, "there is no group without a group.id")
        return self._parts.membership.metadata

    def _commits(self) -> OffsetCommits:
        self._check_open()
        if self._parts.commits is None:
            raise ApiError(ErrorCode.INVALID_GROUP_ID, "to commit offsets, a group.id has to be set")
        return self._parts.commits

    # -- questions

    async def partitions_for(self, topic: str, timeout_s: float | None = None) -> tuple[PartitionMetadata, ...]:
        """The partitions of a topic."""
        self._check_open()
        timeout_ms = self._parts.default_timeout_ms if timeout_s is None else timeout_s * 1000
        return (await self._parts.cluster.topic(topic, timeout_ms)).partitions

    async def topics(self, timeout_s: float | None = None) -> dict[str, tuple[PartitionMetadata, ...]]:
        """All topics that this user may see."""
        self._check_open()
        cluster = self._parts.cluster
        timeout_ms = self._parts.default_timeout_ms if timeout_s is None else timeout_s * 1000
        cluster.watch_all_topics(True)
        try:
            metadata = await cluster.update(timeout_ms)
        finally:
            cluster.watch_all_topics(self._subscription.kind is SubscriptionKind.PATTERN)
        return {name: topic.partitions for name, topic in metadata.topics.items() if topic.partitions}

    async def offsets_for_times(
        self, timestamps: Mapping[TopicPartition, int], timeout_s: float | None = None
    ) -> dict[TopicPartition, OffsetAndTimestamp | None]:
        """The first record of each partition at or after a time in milliseconds; None if there is none."""
        for partition, timestamp in timestamps.items():
            if timestamp < 0:
                raise ValueError(f"the time for {partition} is {timestamp}; it is in milliseconds since 1970")
        return await self._by_time(timestamps, timeout_s)

    async def beginning_offsets(
        self, partitions: Iterable[TopicPartition | tuple[str, int]], timeout_s: float | None = None
    ) -> dict[TopicPartition, int]:
        """The first offset of each partition."""
        return await self._ends(partitions, EARLIEST_TIMESTAMP, timeout_s)

    async def end_offsets(
        self, partitions: Iterable[TopicPartition | tuple[str, int]], timeout_s: float | None = None
    ) -> dict[TopicPartition, int]:
        """The offset of the next record of each partition (of the next stable one, with read_committed)."""
        return await self._ends(partitions, LATEST_TIMESTAMP, timeout_s)

    async def _ends(
        self, partitions: Iterable[TopicPartition | tuple[str, int]], timestamp: int, timeout_s: float | None
    ) -> dict[TopicPartition, int]:
        wanted = {TopicPartition(*each): timestamp for each in partitions}
        found = await self._by_time(wanted, timeout_s)
        return {partition: answer.offset for partition, answer in found.items() if answer is not None}

    async def _by_time(
        self, timestamps: Mapping[TopicPartition, int], timeout_s: float | None
    ) -> dict[TopicPartition, OffsetAndTimestamp | None]:
        self._check_open()
        timeout_ms = self._parts.default_timeout_ms if timeout_s is None else timeout_s * 1000
        return await self._parts.lookup.by_time(timestamps, timeout_ms) if timestamps else {}

    def metrics(self) -> dict[str, float]:
        """Numbers by Kafka's names."""
        lags = [lag for each in self._subscription.partitions if (lag := self.current_lag(each)) is not None]
        assigned = len(self._subscription.partitions)
        return self._parts.metrics.numbers() | {
            "records-lag-max": float(max(lags, default=0)),
            "assigned-partitions": float(assigned),
        }

    # -- life

    async def close(self, timeout_s: float = CLOSE_S) -> None:
        """Commit if that is automatic, leave the group, and let go of everything; not longer than the time."""
        if self._closing:
            return
        self._closing = True  # and not closed: a listener may still commit
        parts = self._parts
        timeout_ms = max(timeout_s, 0.0) * 1000
        try:
            if timeout_s > 0:
                async with asyncio.timeout(timeout_s):
                    await self._leave(timeout_ms)
        except TimeoutError:
            logger.warning("closing the consumer took longer than %g s", timeout_s)
        finally:
            self._closed = True
            await parts.cluster.close()
            parts.finisher.close()

    async def _leave(self, timeout_ms: float) -> None:
        parts = self._parts
        try:
            await parts.commit_before_giving_up(timeout_ms)
            if parts.coordination is not None and self._subscription.by_group:
                try:
                    await parts.coordination.give_up_all()
                finally:
                    await parts.coordination.leave("the consumer is being closed", timeout_ms)
        finally:
            await parts.fetcher.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def _check_open(self) -> None:
        if self._closed:
            raise ClientClosed("the consumer is closed; make a new one")


def _topic_names(topics: Iterable[str]) -> list[str]:
    if isinstance(topics, str):
        raise TypeError(f"topics are a list of names: [{topics!r}]; a pattern is made with re.compile")
    names = list(topics)
    if not names or not all(name.strip() for name in names):
        raise ValueError(f"topics are names, none of them empty: {names}; unsubscribe() subscribes to nothing")
    return names


def _offsets(offsets: Mapping[TopicPartition, OffsetAndMetadata | int]) -> Offsets:
    read = {
        TopicPartition(*partition): OffsetAndMetadata(offset) if isinstance(offset, int) else offset
        for partition, offset in offsets.items()
    }
    for partition, offset in read.items():
        if offset.offset < 0:
            raise ValueError(f"the offset to commit for {partition} is {offset.offset}")
    return read
