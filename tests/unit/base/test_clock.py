"""Clocks: wall and monotonic time, of the machine, of a loop and of a test."""

from __future__ import annotations

import asyncio
import time

import pytest

from moldau.base.clock import VIRTUAL_EPOCH_MS, Clock, LoopClock, SystemClock, VirtualClock
from tests.unit.base.virtual_loop import run_virtually


def test_system_clock_tells_the_machines_times() -> None:
    clock: Clock = SystemClock()
    assert abs(clock.now_ms() - time.time() * 1000) < 1000
    before = time.monotonic() * 1000
    assert before <= clock.monotonic_ms() <= time.monotonic() * 1000


def test_virtual_clock_moves_only_when_told() -> None:
    clock = VirtualClock()
    view: Clock = clock
    assert (view.now_ms(), view.monotonic_ms()) == (VIRTUAL_EPOCH_MS, 0.0)
    clock.advance(1.5)
    clock.advance(1.5)
    assert (view.now_ms(), view.monotonic_ms()) == (VIRTUAL_EPOCH_MS + 3, 3.0)


def test_virtual_clock_does_not_go_back() -> None:
    with pytest.raises(AssertionError):
        VirtualClock().advance(-1)


def test_loop_clock_tells_the_loops_time_to_the_microsecond() -> None:
    async def scenario() -> None:
        clock: Clock = LoopClock(asyncio.get_running_loop(), epoch_ms=5000)
        for _ in range(3):
            await asyncio.sleep(0.1)  # sums to 0.30000000000000004 seconds
        assert (clock.now_ms(), clock.monotonic_ms()) == (5300, 300.0)

    run_virtually(scenario())
