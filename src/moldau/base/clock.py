"""The seam between Moldau and time: everything that asks what time it is asks a `Clock`.

There are two times. Wall time, whole milliseconds since 1970, goes into records and files; it may jump when
an operator or NTP sets it. Monotonic time never goes back; deadlines, timeouts and latencies are counted in
it, with fractions, since a request often takes less than a millisecond. Waiting is not the clock's business:
it goes through the event loop.

`SystemClock` is the machine's. `LoopClock` takes both times from an event loop, so that whole clusters run in
the virtual time of a simulated one. `VirtualClock` stands still until a test moves it.
"""

from __future__ import annotations

from time import monotonic, time_ns
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

VIRTUAL_EPOCH_MS = 1_700_000_000_000  # wall time at virtual zero: a fixed date, so that runs repeat


class Clock(Protocol):
    def now_ms(self) -> int:
        """Wall time."""
        ...

    def now_ns(self) -> int:
        """Wall time in nanoseconds, for who asks a million times a second: the machine's is no call into Python."""
        ...

    def monotonic_ms(self) -> float:
        """Time since an arbitrary moment; only differences mean anything."""
        ...


class SystemClock:
    """The machine's clocks, read at the moment of the call.

    Not uvloop's `loop.time()`: that is as old as the loop's current turn, and a timeout counted from it
    would run out early by as much.
    """

    now_ns = staticmethod(time_ns)

    def now_ms(self) -> int:
        return time_ns() // 1_000_000

    def monotonic_ms(self) -> float:
        return monotonic() * 1000.0


class LoopClock:
    """The time of an event loop, for loops whose time is virtual."""

    def __init__(self, loop: AbstractEventLoop, epoch_ms: int = VIRTUAL_EPOCH_MS) -> None:
        self._loop = loop
        self._epoch_ms = epoch_ms

    def now_ms(self) -> int:
        return self._epoch_ms + int(self.monotonic_ms())

    def now_ns(self) -> int:
        return self.now_ms() * 1_000_000

    def monotonic_ms(self) -> float:
        # To the microsecond: the seconds of the loop are sums of floats, and 0.1 + 0.2 must be 300 ms.
        return round(self._loop.time() * 1000.0, 3)


class VirtualClock:
    """A clock for tests without a loop; both times move together, by `advance` alone."""

    def __init__(self, epoch_ms: int = VIRTUAL_EPOCH_MS) -> None:
        self._epoch_ms = epoch_ms
        self._monotonic_ms = 0.0

    def now_ms(self) -> int:
        return self._epoch_ms + int(self._monotonic_ms)

    def now_ns(self) -> int:
        return self.now_ms() * 1_000_000

    def monotonic_ms(self) -> float:
        return self._monotonic_ms

    def advance(self, duration_ms: float) -> None:
        assert duration_ms >= 0, "monotonic time does not go back"
        self._monotonic_ms += duration_ms
