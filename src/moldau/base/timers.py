"""The timing wheel on an event loop: any number of timers for the price of one loop timer.

The loop's own timers are a heap, and under uvloop an allocation in libuv each. Here the loop holds a single
one, set to the wheel's next expiry, and set anew only when a bucket appears that expires before it.

Never early: a deadline is counted from the next whole millisecond, and the wheel is told the last whole one.
Where the clock is virtual and stands on whole milliseconds, a timer runs exactly on its deadline.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextvars import copy_context
from math import ceil
from typing import TYPE_CHECKING

from moldau.base.clock import Clock
from moldau.base.wheel import Timer, TimingWheel

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop, TimerHandle

_NEVER_MS = sys.maxsize

# uvloop rounds to the nearest millisecond, so it may wake half of one too soon; waiting for the rest of it
# would be rounded to nothing and spin.
_RETRY_MS = 1.0


class LoopTimers:
    """Timers of one event loop, in the time of `clock`."""

    def __init__(self, loop: AbstractEventLoop, clock: Clock) -> None:
        self._loop = loop
        self._monotonic_ms = clock.monotonic_ms
        self._wheel = TimingWheel(int(clock.monotonic_ms()), self._arm_if_earlier)
        self._handle: TimerHandle | None = None
        self._armed_ms = _NEVER_MS
        self._closed = False
        # Callbacks run in the context of whoever made this, not of whichever request set the loop timer.
        self._context = copy_context()

    def __len__(self) -> int:
        return len(self._wheel)

    def add(self, delay_ms: int, callback: Callable[[], None]) -> Timer:
        """Run the callback once, `delay_ms` from now, unless the timer is cancelled before."""
        return self._wheel.add_at(ceil(self._monotonic_ms()) + delay_ms, callback)

    def close(self) -> None:
        """Let go of the loop; the timers that are left never run."""
        self._closed = True
        self._disarm()

    def _arm_if_earlier(self, expiry_ms: int) -> None:
        if expiry_ms < self._armed_ms and not self._closed:
            self._disarm()
            self._arm(expiry_ms)

    def _arm(self, expiry_ms: int, delay_min_ms: float = 0.0) -> None:
        self._armed_ms = expiry_ms
        delay_ms = max(expiry_ms - self._monotonic_ms(), delay_min_ms)
        self._handle = self._loop.call_later(delay_ms / 1000.0, self._on_loop_timer, context=self._context)

    def _disarm(self) -> None:
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None

    def _on_loop_timer(self) -> None:
        self._handle = None
        now_ms = int(self._monotonic_ms())
        if now_ms < self._armed_ms:
            self._arm(self._armed_ms, _RETRY_MS)
            return
        # Until the end the expiry that has come stays the armed one, so that what callbacks add, all of it
        # later, is looked at once.
        try:
            self._wheel.advance(now_ms)
        finally:
            self._rearm()

    def _rearm(self) -> None:
        expiry_ms = self._wheel.next_expiry_ms()
        self._armed_ms = _NEVER_MS
        if expiry_ms is not None:
            self._arm_if_earlier(expiry_ms)
