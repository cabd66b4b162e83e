"""How fast a cleaning goes, and whether it goes on: called between batches.

Three things in one place, because all of them mean looking up from the work. The limit of bytes a second, for reading
and writing together (`log.cleaner.io.max.bytes.per.second`). An order to stop, which comes from the loop's thread. And
a pause every millisecond, in which the event loop runs: without it the loop would wait for the interpreter's
switch interval, 5 ms, each time that it needs the interpreter. The pause has to be a sleep that takes time. A sleep of
zero lets the interpreter go and takes it back before the other thread is awake.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from moldau.base.clock import Clock
from moldau.base.errors import MoldauError

SLICE_MS = 1.0
PAUSE_S = 0.000_05
THROTTLE_SLEEP_MAX_S = 0.3  # so that an order to stop is heard in time
_THROTTLE_CHECK_MS = 300.0


class CleaningAborted(MoldauError):
    """Somebody needs the log for something else; whatever was cleaned until then stays."""


class Pace:
    """One for each cleaning; `aborted` may be set in any thread."""

    def __init__(
        self, clock: Clock, bytes_per_second_max: float = float("inf"), sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self.aborted = False
        self._clock = clock
        self._bytes_per_second_max = bytes_per_second_max
        self._sleep = sleep
        self._slice_ends_ms = clock.monotonic_ms() + SLICE_MS
        self._period_began_ms = clock.monotonic_ms()
        self._period_bytes = 0

    def step(self, size_bytes: int = 0) -> None:
        """So many bytes were read or written since the last step; raises `CleaningAborted` if told to stop."""
        if self.aborted:
            raise CleaningAborted
        self._period_bytes += size_bytes
        self.pause()
        now_ms = self._clock.monotonic_ms()
        if now_ms - self._period_began_ms >= _THROTTLE_CHECK_MS:
            self._throttle(now_ms)

    def pause(self) -> None:
        """Let the event loop run, if it is time."""
        if self._clock.monotonic_ms() >= self._slice_ends_ms:
            self._sleep(PAUSE_S)
            self._slice_ends_ms = self._clock.monotonic_ms() + SLICE_MS

    def _throttle(self, now_ms: float) -> None:
        """Sleep until the bytes of the period are no more than allowed, and begin a new one."""
        due_ms = self._period_began_ms + self._period_bytes / self._bytes_per_second_max * 1000.0
        while now_ms < due_ms:
            if self.aborted:
                raise CleaningAborted
            self._sleep(min(THROTTLE_SLEEP_MAX_S, (due_ms - now_ms) / 1000.0))
            now_ms = self._clock.monotonic_ms()
        self._period_began_ms = now_ms
        self._period_bytes = 0
