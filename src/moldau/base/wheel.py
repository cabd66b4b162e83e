"""A hierarchical timing wheel: timers that cost the same to add and to cancel however many there are.

Nearly every timer is a timeout that does not happen: a fetch finds data, a produce is replicated, a member
sends its heartbeat. So `add_at` and `Timer.cancel` are what must be cheap, and a heap of timers is not.

Level 1 has 20 buckets of 1 ms, level 2 has 20 of 20 ms, level 3 has 20 of 400 ms and so on; a level is made
when the first deadline needs it. A timer waits in the finest level whose 20 buckets still reach its
deadline, in the bucket that covers it. When time comes to the start of a bucket, its timers are placed anew,
now into finer levels, until they are due: 450 ms from 0 waits in level 3 until 400, in level 2 until 440, in
level 1 until 450.

Time does not tick through empty buckets. A bucket that receives a timer for a new turn of its wheel enters a
queue ordered by expiry (the start of the time it covers), so the wheel knows when it must be looked at next.
The queue holds buckets, at most 20 a level, not timers. A bucket is a dict and not a linked list: it measures
the same, knows its size, and keeps the order of insertion, which seeded simulations need.

The wheel has no clock: time is what `advance` was last told. `moldau.base.timers` drives one from a loop.
"""

from __future__ import annotations

import logging
from bisect import bisect_right
from collections.abc import Callable
from heapq import heappop, heappush

logger = logging.getLogger(__name__)

WHEEL_SIZE = 20
LEVELS_MAX = 15  # 20^15 ms is beyond the largest 64-bit time

_DUE = 0  # the level of the timers that only wait to be run
_NOT_QUEUED = -1


def _spent() -> None:
    """Stands for the callback of a timer that has run or was cancelled."""


def _ignore(_expiry_ms: int) -> None:
    """Stands for a listener where nobody listens."""


class Timer:
    """A callback that runs once, at or after its deadline, unless it is cancelled before."""

    __slots__ = ("_callback", "bucket", "deadline_ms")

    # Set by `TimingWheel.add_at`: an __init__ would be an eighth of the cost of a timer.
    deadline_ms: int
    bucket: Bucket | None  # where it waits; None once it has run or was cancelled
    _callback: Callable[[], None]

    def cancel(self) -> bool:
        """Whether the callback was still to run; it will not run now."""
        bucket = self.bucket
        if bucket is None:
            return False
        del bucket[self]
        self.bucket = None
        # The owner often holds the timer and the callback the owner: a cycle that must not wait for the collector.
        self._callback = _spent
        return True

    def _run(self) -> None:
        """Nothing happens if a callback that was due with this one has cancelled it."""
        callback = self._callback
        self.cancel()
        try:
            callback()
        except Exception:
            logger.exception("timer callback %r failed", callback)


class Bucket(dict[Timer, None]):
    """The timers of one cell of one level."""

    __slots__ = ("cell", "expiry_ms", "level")

    def __init__(self, level: int, cell: int) -> None:
        self.level = level
        self.cell = cell
        self.expiry_ms = _NOT_QUEUED


class _Level:
    __slots__ = ("buckets", "tick_ms")

    def __init__(self, number: int) -> None:
        self.tick_ms: int = WHEEL_SIZE ** (number - 1)
        self.buckets = [Bucket(number, cell) for cell in range(WHEEL_SIZE)]


class TimingWheel:
    """Timers ordered by deadline; among equal deadlines the order is repeatable and not otherwise promised.

    `on_earlier` is told of an expiry whenever `next_expiry_ms` may have become smaller, not when it grows.
    """

    def __init__(self, now_ms: int = 0, on_earlier: Callable[[int], None] = _ignore) -> None:
        self.now_ms = now_ms
        self._on_earlier = on_earlier
        self._due = Bucket(_DUE, 0)
        self._levels: list[_Level] = []
        self._ends_ms: list[int] = []  # of each level: the first deadline that is too far for it
        self._queue: list[tuple[int, int, Bucket]] = []  # (expiry, -level, bucket), a heap
        self._add_level()

    def __len__(self) -> int:
        return len(self._due) + sum(len(bucket) for _, _, bucket in self._queue)

    def add_at(self, deadline_ms: int, callback: Callable[[], None]) -> Timer:
        """A deadline that has passed already is met by the next `advance`, never from within this call."""
        timer = Timer()
        timer.deadline_ms = deadline_ms
        timer._callback = callback
        timer.bucket = bucket = self._bucket_for(deadline_ms)
        bucket[timer] = None
        return timer

    def next_expiry_ms(self) -> int | None:
        """When `advance` has something to do next: no timer is due before; None if there is no timer."""
        if self._due:
            return self.now_ms
        queue = self._queue
        while queue and not queue[0][2]:
            heappop(queue)[2].expiry_ms = _NOT_QUEUED  # all cancelled: nothing to wake up for
        return queue[0][0] if queue else None

    def advance(self, now_ms: int) -> None:
        """Move time on and run what is due, in the order of the deadlines.

        What a callback adds is run by a later call, so a callback that adds itself again cannot hold this one.
        """
        assert now_ms >= self.now_ms, "time does not go back"
        queue = self._queue
        while queue and queue[0][0] <= now_ms:
            expiry_ms, _, bucket = heappop(queue)
            bucket.expiry_ms = _NOT_QUEUED
            self._set_now(expiry_ms)
            self._place_anew(bucket)
        self._set_now(now_ms)
        for timer in list(self._due):
            timer._run()

    def _bucket_for(self, deadline_ms: int) -> Bucket:
        if deadline_ms <= self.now_ms:
            if not self._due:
                self._on_earlier(self.now_ms)
            return self._due
        number = bisect_right(self._ends_ms, deadline_ms)
        level = self._levels[number] if number < len(self._levels) else self._new_level_for(deadline_ms)
        tick_ms = level.tick_ms
        bucket = level.buckets[deadline_ms // tick_ms % WHEEL_SIZE]
        expiry_ms = deadline_ms - deadline_ms % tick_ms
        if bucket.expiry_ms != expiry_ms:
            self._enqueue(bucket, expiry_ms)
        return bucket

    def _enqueue(self, bucket: Bucket, expiry_ms: int) -> None:
        # A bucket leaves the queue before its wheel comes round, so it is never in it twice.
        assert bucket.expiry_ms == _NOT_QUEUED, "a bucket holds the timers of one turn only"
        bucket.expiry_ms = expiry_ms
        heappush(self._queue, (expiry_ms, -bucket.level, bucket))
        if self._queue[0][2] is bucket:
            self._on_earlier(expiry_ms)

    def _place_anew(self, bucket: Bucket) -> None:
        timers = list(bucket)
        bucket.clear()
        for timer in timers:
            timer.bucket = finer = self._bucket_for(timer.deadline_ms)
            finer[timer] = None

    def _set_now(self, now_ms: int) -> None:
        self.now_ms = now_ms
        self._ends_ms = [_end_ms(level, now_ms) for level in self._levels]

    def _new_level_for(self, deadline_ms: int) -> _Level:
        while deadline_ms >= self._ends_ms[-1]:
            self._add_level()
        return self._levels[-1]

    def _add_level(self) -> None:
        assert len(self._levels) < LEVELS_MAX, "the deadline is not a 64-bit time"
        level = _Level(len(self._levels) + 1)
        self._levels.append(level)
        self._ends_ms.append(_end_ms(level, self.now_ms))


def _end_ms(level: _Level, now_ms: int) -> int:
    """Where the 20 buckets end: the one that covers this moment counts whole, however much of it has passed."""
    return (now_ms // level.tick_ms + WHEEL_SIZE) * level.tick_ms
