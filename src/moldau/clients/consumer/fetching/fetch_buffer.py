"""What was fetched and not yet given out, in the order in which it came.

Fetches for a position that has been left since are dropped when they are met; those of paused partitions are kept for
later, and nobody waits behind them.

A plain consumer takes records in its own thread while the loop adds what comes. There is one who takes, at the left,
and one who adds, at the right; the lock is held while the queue changes and not while records are decoded, which would
keep the loop from receiving. What else changes a position (seeks, rebalances, resets of partitions without one) never
happens while its owner polls.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from threading import Event, Lock

from moldau.base.errors import ApiError
from moldau.clients.consumer.consumer_record import ConsumerRecord
from moldau.clients.consumer.fetching.completed_fetch import CompletedFetch
from moldau.clients.consumer.positions import FetchPosition, PartitionState
from moldau.clients.consumer.subscription import SubscriptionState
from moldau.clients.records import TopicPartition


class FetchBuffer:
    """Completed fetches of the partitions of a subscription."""

    def __init__(self, subscription: SubscriptionState) -> None:
        self._subscription = subscription
        self._fetches: deque[CompletedFetch] = deque()
        self._lock = Lock()
        self._arrival = Event()

    def __len__(self) -> int:
        return len(self._fetches)

    def add(self, fetch: CompletedFetch) -> None:
        with self._lock:
            self._fetches.append(fetch)
        self._arrival.set()

    @property
    def has_some(self) -> bool:
        """Whether there is something to give out; it need not be shown."""
        return any(self._is_fetchable(fetch) for fetch in self._snapshot())

    def wait(self, timeout_s: float) -> None:
        """In another thread than the loop's: until something has come."""
        self._arrival.clear()
        if not self.has_some:
            self._arrival.wait(timeout_s)

    def clear(self) -> None:
        with self._lock:
            self._fetches.clear()

    def waiting(self) -> tuple[dict[TopicPartition, int], int]:
        """How many fetches of each partition wait, and the bytes of those that can be given out."""
        counts: dict[TopicPartition, int] = {}
        size_bytes = 0
        for fetch in self._snapshot():
            state = self._current(fetch)
            if state is not None:
                counts[fetch.partition] = counts.get(fetch.partition, 0) + 1
                size_bytes += 0 if state.paused else fetch.size_bytes
        return counts, size_bytes

    def take(self, count_max: int) -> list[ConsumerRecord]:
        """Up to so many records; the positions of their partitions move past them."""
        records: list[ConsumerRecord] = []

        def take_from(fetch: CompletedFetch) -> bool:
            nonlocal records
            taken = fetch.take(count_max - len(records))
            records = records + taken if records else taken
            return len(records) < count_max

        self._give_out(take_from, lambda: bool(records))
        return records

    def take_whole(self, take: Callable[[CompletedFetch], None]) -> None:
        """Hand over all that is there, fetch by fetch."""
        taken = 0

        def take_all(fetch: CompletedFetch) -> bool:
            nonlocal taken
            take(fetch)
            taken += 1
            return True

        for fetch in self._snapshot():
            state = self._current(fetch)
            if state is not None and state.position is not None and fetch.begun:
                state.seek(state.position)  # some of it went out as records: the rest is fetched again

        self._give_out(take_all, lambda: taken > 0)

    def _snapshot(self) -> list[CompletedFetch]:
        with self._lock:
            return list(self._fetches)

    def _give_out(self, take: Callable[[CompletedFetch], bool], has_some: Callable[[], bool]) -> None:
        kept: deque[CompletedFetch] = deque()
        going_on = True
        while self._fetches and going_on:
            fetch = self._fetches[0]
            state = self._current(fetch)
            if state is not None and state.fetchable:
                try:
                    going_on = take(fetch)
                except ApiError:
                    if has_some():
                        break  # what came before is given out first; the next call meets this one again
                    self._put_back(kept)
                    raise
                self._move(state, fetch)
                if not fetch.exhausted:
                    continue
            elif state is not None:
                kept.append(fetch)
            with self._lock:
                self._fetches.popleft()
        self._put_back(kept)

    def _put_back(self, kept: deque[CompletedFetch]) -> None:
        if kept:
            with self._lock:
                self._fetches.extendleft(reversed(kept))

    def _is_fetchable(self, fetch: CompletedFetch) -> bool:
        state = self._current(fetch)
        return state is not None and state.fetchable

    def _current(self, fetch: CompletedFetch) -> PartitionState | None:
        state = self._subscription.partitions.get(fetch.partition)
        return state if state is not None and state.version == fetch.version else None

    @staticmethod
    def _move(state: PartitionState, fetch: CompletedFetch) -> None:
        position = state.position
        assert position is not None
        epoch = position.offset_epoch if fetch.leader_epoch < 0 else fetch.leader_epoch
        state.read_up_to(FetchPosition(fetch.next_offset, epoch, position.leader_epoch))
