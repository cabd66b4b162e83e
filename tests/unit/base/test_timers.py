"""The timing wheel on event loops: exact in virtual time, never early in real time, one loop timer for all."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import closing
from contextvars import ContextVar
from functools import partial
from typing import Any

import pytest
import uvloop

from moldau.base.clock import LoopClock, SystemClock
from moldau.base.timers import LoopTimers
from tests.unit.base.virtual_loop import VirtualLoop, run_virtually


def loop_timers() -> LoopTimers:
    loop = asyncio.get_running_loop()
    return LoopTimers(loop, LoopClock(loop))


def loop_now_ms() -> float:
    return LoopClock(asyncio.get_running_loop()).monotonic_ms()


class WatchedLoop(VirtualLoop):
    """Remembers the loop timers that were set."""

    def __init__(self) -> None:
        super().__init__()
        self.handles: list[asyncio.TimerHandle] = []

    def call_at(self, when: float, callback: Any, *args: Any, **rest: Any) -> Any:  # type: ignore[override]
        assert len(self.handles) < 100, "the loop spins"
        self.handles.append(super().call_at(when, callback, *args, **rest))
        return self.handles[-1]

    def set(self) -> int:
        """How many of them are still to come."""
        return sum(not handle.cancelled() and handle.when() > self.time() for handle in self.handles)

    def turn_until(self, now: float) -> None:
        self.run_until_complete(asyncio.sleep(now - self.time()))


class RoundingLoop(WatchedLoop):
    """Rounds delays to the nearest millisecond, as uvloop does."""

    def call_later(self, delay: float, callback: Any, *args: Any, **rest: Any) -> Any:  # type: ignore[override]
        return super().call_later(round(delay, 3), callback, *args, **rest)


def test_timers_run_exactly_on_their_deadline_in_virtual_time() -> None:
    async def scenario() -> None:
        timers, ran = loop_timers(), list[tuple[int, float]]()

        def note(delay_ms: int) -> None:
            ran.append((delay_ms, loop_now_ms()))

        delays_ms = [0, 1, 19, 20, 21, 399, 400, 450, 8_000, 30_000, 300_000]
        for delay_ms in delays_ms:
            timers.add(delay_ms, partial(note, delay_ms))
        assert len(timers) == len(delays_ms)
        await asyncio.sleep(301)
        assert ran == [(delay_ms, float(delay_ms)) for delay_ms in delays_ms]
        assert len(timers) == 0

    run_virtually(scenario())


def test_a_delay_counts_from_now_even_if_the_wheel_slept_for_long() -> None:
    async def scenario() -> None:
        timers, ran = loop_timers(), list[float]()
        await asyncio.sleep(3600)
        timers.add(500, lambda: ran.append(loop_now_ms()))
        await asyncio.sleep(0.25)
        timers.add(5, lambda: ran.append(loop_now_ms()))
        await asyncio.sleep(1)
        assert ran == [3_600_255.0, 3_600_500.0]

    run_virtually(scenario())


def test_within_a_millisecond_a_timer_is_late_and_never_early() -> None:
    async def scenario() -> None:
        timers, ran = loop_timers(), list[float]()
        await asyncio.sleep(0.0004)
        timers.add(10, lambda: ran.append(loop_now_ms()))
        await asyncio.sleep(1)
        assert ran == [11.0]

    run_virtually(scenario())


def test_a_thousand_timers_need_one_loop_timer() -> None:
    with closing(WatchedLoop()) as loop:
        timers = LoopTimers(loop, LoopClock(loop))
        for _ in range(1000):
            timers.add(500, lambda: None).cancel()
            timers.add(700, lambda: None)
        timers.add(30_000, lambda: None)
        assert len(loop.handles) == 1
        timers.add(5, lambda: None)  # earlier than all: the first gives way
        assert (len(loop.handles), loop.set()) == (2, 1)


def test_what_a_callback_adds_sets_one_loop_timer() -> None:
    with closing(WatchedLoop()) as loop:
        timers, ran = LoopTimers(loop, LoopClock(loop)), list[int]()

        def add_many() -> None:
            loop.handles.clear()
            for delay_ms in (30_000, 700, 200, 10, 0):
                timers.add(delay_ms, partial(ran.append, delay_ms))
            assert loop.handles == []

        timers.add(5, add_many)
        loop.turn_until(0.006)
        assert (ran, loop.set()) == ([0], 1)


def test_a_loop_that_wakes_too_soon_is_asked_again_without_spinning() -> None:
    with closing(RoundingLoop()) as loop:
        timers, ran = LoopTimers(loop, LoopClock(loop)), list[float]()
        loop.idle.now = 0.0006
        timers.add(10, lambda: ran.append(round(loop.time(), 6)))  # due at 11: the loop rounds 10.4 ms to 10
        loop.turn_until(1)
        assert ran == [0.0116]


def test_a_timer_added_by_a_callback_runs_as_well() -> None:
    async def scenario() -> None:
        timers, ran = loop_timers(), list[float]()

        def again() -> None:
            ran.append(loop_now_ms())
            if len(ran) < 4:
                timers.add(250, again)

        timers.add(250, again)
        await asyncio.sleep(2)
        assert ran == [250.0, 500.0, 750.0, 1000.0]

    run_virtually(scenario())


@pytest.mark.parametrize("failure", [ValueError, asyncio.CancelledError])
def test_a_failing_callback_stops_no_other_timer(
    failure: type[BaseException], caplog: pytest.LogCaptureFixture
) -> None:
    def fail() -> None:
        raise failure

    async def scenario() -> None:
        timers, ran = loop_timers(), list[str]()
        timers.add(5, fail)
        timers.add(5, partial(ran.append, "same moment"))
        timers.add(900, partial(ran.append, "later"))
        await asyncio.sleep(1)
        assert ran == ["same moment", "later"]

    run_virtually(scenario())
    assert failure.__name__ in caplog.text


def test_callbacks_run_in_the_context_of_the_owner_of_the_timers() -> None:
    async def scenario() -> None:
        owner.set("broker 1")
        timers, seen = loop_timers(), list[str]()
        owner.set("a request")
        timers.add(5, lambda: seen.append(owner.get()))
        await asyncio.sleep(1)
        assert seen == ["broker 1"]

    owner: ContextVar[str] = ContextVar("owner")
    run_virtually(scenario())


def test_after_close_nothing_runs_and_the_loop_is_let_go() -> None:
    async def scenario() -> None:
        timers, ran = loop_timers(), list[str]()

        def close() -> None:
            ran.append("close")
            timers.close()

        timers.add(5, close)
        timers.add(6, partial(ran.append, "too late"))
        await asyncio.sleep(0.01)
        timers.add(1, partial(ran.append, "after"))
        await asyncio.sleep(1)
        timers.close()
        assert ran == ["close"]

    run_virtually(scenario())


@pytest.mark.parametrize("new_loop", [asyncio.new_event_loop, uvloop.new_event_loop])
def test_on_a_real_clock_no_timer_is_early(new_loop: Callable[[], asyncio.AbstractEventLoop]) -> None:
    async def scenario() -> None:
        loop = asyncio.get_running_loop()
        timers, early = LoopTimers(loop, SystemClock()), list[float]()
        done = loop.create_future()

        def check(deadline: float) -> None:
            early.append(deadline - time.monotonic())
            if len(early) == 150:
                done.set_result(None)

        for number in range(150):
            if number % 50 == 0:
                time.sleep(0.003)  # noqa: ASYNC251 - the loop's own time is stale now
            delay_ms = number % 60
            timers.add(delay_ms, partial(check, time.monotonic() + delay_ms / 1000))
            await asyncio.sleep(0)
        await asyncio.wait_for(done, 10)
        assert max(early) <= 0

    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(scenario())
