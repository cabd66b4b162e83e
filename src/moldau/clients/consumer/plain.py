"""The plain consumer: `moldau.Consumer`.

The asyncio consumer runs in a loop in a thread of its own, so that heartbeats and fetches go on while records are
processed. What users hand in (listeners, callbacks, deserializers, interceptors) runs in the thread that calls: while a
call waits for the loop it also waits for things to do there, and what a listener does with the consumer is a call
within a call.
"""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Callable, Collection, Coroutine, Iterable, Iterator, Mapping
from concurrent.futures import CancelledError, Future
from contextlib import contextmanager
from queue import SimpleQueue
from types import TracebackType
from typing import Any, Self, TypeVar

from moldau.clients.background import BackgroundLoop
from moldau.clients.consumer import consumer as aio
from moldau.clients.consumer.column_batches import ColumnBatch
from moldau.clients.consumer.consumer import CLOSE_S, FOREVER_S
from moldau.clients.consumer.consumer_record import ConsumerRecord
from moldau.clients.consumer.group.commits import CommitCallback
from moldau.clients.consumer.listener import RebalanceListener
from moldau.clients.consumer.offset_lookup import OffsetAndTimestamp
from moldau.clients.errors import ClientClosed, IllegalState
from moldau.clients.network.metadata import PartitionMetadata
from moldau.clients.records import GroupMetadata, OffsetAndMetadata, TopicPartition

Result = TypeVar("Result")
Errand = Callable[[], None]
SomePartition = TopicPartition | tuple[str, int]


class Consumer:
    """Reads records.

        with Consumer(bootstrap_servers="localhost:9092", group_id="g") as consumer:
            consumer.subscribe(["topic"])
            for record in consumer:
                print(record.offset, record.value)

    One thread uses it at a time; only `wakeup` may be called by others. Between two polls no longer than
    max.poll.interval.ms may pass, or the group gives the partitions to others.
    """

    def __init__(self, settings: Mapping[str, object] | None = None, **keywords: object) -> None:
        self._owner: int | None = None
        self._depth = 0
        self._inboxes: list[SimpleQueue[Errand | Future[Any]]] = []
        self._background = BackgroundLoop("moldau-consumer")

        async def make() -> aio.Consumer:
            return aio.Consumer(settings, _invoke=self._invoke, **keywords)

        try:
            self._core = self._background.run(make())
        except BaseException:
            self._background.close()
            raise

    # -- crossing over

    @contextmanager
    def _owned(self) -> Iterator[None]:
        """One thread at a time, which may call again from within a call."""
        me = threading.get_ident()
        if self._owner not in (None, me):
            name = threading.current_thread().name
            raise IllegalState(
                f"KafkaConsumer is not safe for multi-threaded access. currentThread(name: {name}, id: {me}) "
                f"otherThread(id: {self._owner})"
            )
        self._owner = me
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1
            if not self._depth:
                self._owner = None

    def _run(self, work: Coroutine[Any, Any, Result]) -> Result:
        """Do something in the loop; meanwhile do here what it asks for."""
        inbox: SimpleQueue[Errand | Future[Any]] = SimpleQueue()
        self._inboxes.append(inbox)  # before the loop has a chance to ask for something
        try:
            self._background.check()
            future = asyncio.run_coroutine_threadsafe(work, self._background.loop)
        except (IllegalState, RuntimeError) as error:
            self._inboxes.pop()
            work.close()
            if isinstance(error, IllegalState):
                raise
            raise ClientClosed("the consumer's event loop is closed; make a new consumer") from error
        future.add_done_callback(inbox.put)
        try:
            while not isinstance(item := inbox.get(), Future):
                item()
            return future.result()
        except CancelledError:
            raise ClientClosed("the consumer was closed meanwhile") from None
        except BaseException:
            future.cancel()
            raise
        finally:
            self._inboxes.pop()

    def _call(self, work: Coroutine[Any, Any, Result]) -> Result:
        try:
            with self._owned():
                return self._run(work)
        finally:
            work.close()

    def _do(self, function: Callable[..., Result], *arguments: Any) -> Result:
        """A plain function of the core, in the loop."""

        async def call() -> Result:
            return function(*arguments)

        return self._call(call())

    async def _invoke(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """In the loop: let the thread that waits call something, and wait for that."""
        loop = asyncio.get_running_loop()
        outcome: asyncio.Future[Any] = loop.create_future()

        def settle(result: Any, error: BaseException | None) -> None:
            if outcome.done():
                return
            outcome.set_result(result) if error is None else outcome.set_exception(error)

        def errand() -> None:
            try:
                result = function(*arguments)
            except Exception as error:
                loop.call_soon_threadsafe(settle, None, error)
            else:
                loop.call_soon_threadsafe(settle, result, None)

        self._inboxes[-1].put(errand)
        return await outcome

    # -- what to read

    def subscribe(self, topics: Iterable[str] | re.Pattern[str], listener: RebalanceListener | None = None) -> None:
        """Read topics, by name or all that a pattern matches; the group says which partitions.

        Replaces what was subscribed before, and takes effect in the next poll.
        """
        self._do(self._core.subscribe, topics, listener)

    def assign(self, partitions: Iterable[SomePartition]) -> None:
        """Read exactly these partitions, without a group. Replaces those of before."""
        self._do(self._core.assign, partitions)

    def unsubscribe(self) -> None:
        """Read nothing any more, and leave the group."""
        self._call(self._core.unsubscribe())

    def assignment(self) -> set[TopicPartition]:
        return self._do(self._core.assignment)

    def subscription(self) -> set[str]:
        return self._do(self._core.subscription)

    # -- records

    def poll(self, timeout_s: float = 0.0) -> list[ConsumerRecord]:
        """Records, at most max.poll.records; none if there are none within the time."""
        with self._owned():
            finished = self._core.finish(self._take(self._core.take_ready, timeout_s))
            if finished.error is not None:
                self._do(self._core.go_back_to, finished.left)
                if not finished.records:
                    raise finished.error
            return finished.records

    def _take(self, take: Callable[[], tuple[list[Result], bool]], timeout_s: float) -> list[Result]:
        """Take what is there, or what comes within the time; it is decoded here, while the loop receives more."""
        taken = self._ready(take)
        left_s = timeout_s
        if not taken and self._background.unusable is None:
            left_s = self._core.wait_for_some(left_s)
            taken = self._ready(take)
        while not taken:
            left_s = self._run(self._core.until_some(max(left_s, 0.0)))
            taken = self._ready(take)
            if left_s <= 0:
                break
        return taken

    def _ready(self, take: Callable[[], tuple[list[Result], bool]]) -> list[Result]:
        """Most polls find records that are there already: no need to ask the loop."""
        if self._background.unusable is not None:
            return []
        taken, has_room = take()
        if has_room:
            self._background.loop.call_soon_threadsafe(self._core.fetch_more)
        return taken

    def poll_batches(self, timeout_s: float = 0.0) -> list[ColumnBatch]:
        """All records that have been fetched, as Arrow columns; at most fetch.max.bytes or so."""
        with self._owned():
            return self._take(self._core.take_ready_batches, timeout_s)

    def __iter__(self) -> Iterator[ConsumerRecord]:
        while self._background.unusable is None:
            yield from self.poll(FOREVER_S)

    def wakeup(self) -> None:
        """Make the poll that waits, or the next one, raise WakeUp. Any thread and any signal handler may call this."""
        if self._background.unusable is None:
            self._background.loop.call_soon_threadsafe(self._core.wakeup)

    # -- positions

    def pause(self, partitions: Iterable[SomePartition]) -> None:
        """Give out no records of these until they are resumed; no rebalance follows."""
        self._do(self._core.pause, partitions)

    def resume(self, partitions: Iterable[SomePartition]) -> None:
        self._do(self._core.resume, partitions)

    def paused(self) -> set[TopicPartition]:
        return self._do(self._core.paused)

    def seek(self, partition: SomePartition, offset: int | OffsetAndMetadata) -> None:
        """Read from this offset on, with the next poll."""
        self._do(self._core.seek, partition, offset)

    def seek_to_beginning(self, partitions: Iterable[SomePartition] = ()) -> None:
        """Read these, or all, from their beginning; what that is gets looked up when they are polled."""
        self._do(self._core.seek_to_beginning, partitions)

    def seek_to_end(self, partitions: Iterable[SomePartition] = ()) -> None:
        self._do(self._core.seek_to_end, partitions)

    def position(self, partition: SomePartition, timeout_s: float | None = None) -> int:
        """The offset of the next record to be read; looked up if it is not known yet."""
        return self._call(self._core.position(partition, timeout_s))

    def current_lag(self, partition: SomePartition) -> int | None:
        """How many records are behind the position, as far as the last fetch told."""
        return self._do(self._core.current_lag, partition)

    # -- commits

    def commit(
        self,
        offsets: Mapping[TopicPartition, OffsetAndMetadata | int] | None = None,
        timeout_s: float | None = None,
    ) -> None:
        """Commit these offsets, or the positions of all partitions, and wait until that is done."""
        self._call(self._core.commit(offsets, timeout_s))

    def commit_async(
        self,
        offsets: Mapping[TopicPartition, OffsetAndMetadata | int] | None = None,
        callback: CommitCallback | None = None,
    ) -> None:
        """Commit in the background, once; a later call of poll, commit or close calls `callback(offsets, error)`."""
        self._do(self._core.commit_async, offsets, callback)

    def committed(
        self, partitions: Collection[SomePartition], timeout_s: float | None = None
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        """What the group has committed; None where it has not."""
        return self._call(self._core.committed(partitions, timeout_s))

    def group_metadata(self) -> GroupMetadata:
        """Who this consumer is in its group, for a producer's transaction."""
        return self._do(self._core.group_metadata)

    # -- questions

    def partitions_for(self, topic: str, timeout_s: float | None = None) -> tuple[PartitionMetadata, ...]:
        """The partitions of a topic."""
        return self._call(self._core.partitions_for(topic, timeout_s))

    def topics(self, timeout_s: float | None = None) -> dict[str, tuple[PartitionMetadata, ...]]:
        """All topics that this user may see."""
        return self._call(self._core.topics(timeout_s))

    def offsets_for_times(
        self, timestamps: Mapping[TopicPartition, int], timeout_s: float | None = None
    ) -> dict[TopicPartition, OffsetAndTimestamp | None]:
        """The first record of each partition at or after a time in milliseconds; None if there is none."""
        return self._call(self._core.offsets_for_times(timestamps, timeout_s))

    def beginning_offsets(
        self, partitions: Iterable[SomePartition], timeout_s: float | None = None
    ) -> dict[TopicPartition, int]:
        """The first offset of each partition."""
        return self._call(self._core.beginning_offsets(partitions, timeout_s))

    def end_offsets(
        self, partitions: Iterable[SomePartition], timeout_s: float | None = None
    ) -> dict[TopicPartition, int]:
        """The offset of the next record of each partition (of the next stable one, with read_committed)."""
        return self._call(self._core.end_offsets(partitions, timeout_s))

    def metrics(self) -> dict[str, float]:
        """Numbers by Kafka's names."""
        return self._do(self._core.metrics)

    # -- life

    def close(self, timeout_s: float = CLOSE_S) -> None:
        """Commit if that is automatic, leave the group, and let go of everything; not longer than the time."""
        if self._background.unusable is not None:
            return
        try:
            self._call(self._core.close(timeout_s))
        finally:
            if self._owner is None:
                self._background.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
