"""Delayed operations complete by event or by timeout, exactly once, and leave nothing behind."""

from __future__ import annotations

import asyncio
import logging

import pytest

from moldau.base.clock import LoopClock
from moldau.base.timers import LoopTimers
from moldau.replication.delayed import DelayedCall, Purgatory
from tests.unit.base.virtual_loop import run_virtually
from tests.unit.replication.manual_timers import ManualTimers


class Workbench:
    def __init__(self) -> None:
        self.timers = ManualTimers()
        self.purgatory = Purgatory(self.timers)
        self.ready: set[str] = set()
        self.ended: list[tuple[str, bool]] = []

    def operation(self, name: str, timeout_ms: int = 100) -> DelayedCall:
        return DelayedCall(timeout_ms, lambda: name in self.ready, lambda expired: self.ended.append((name, expired)))

    def watch(self, name: str, *keys: str, timeout_ms: int = 100) -> DelayedCall:
        operation = self.operation(name, timeout_ms)
        assert not self.purgatory.try_complete_else_watch(operation, keys)
        return operation

    def assert_empty(self) -> None:
        purgatory = self.purgatory
        assert (purgatory.watched, purgatory.delayed, purgatory.keys_count) == (0, 0, 0)
        assert len(self.timers.wheel) == 0


def test_what_can_complete_never_waits() -> None:
    bench = Workbench()
    bench.ready.add("a")
    assert bench.purgatory.try_complete_else_watch(bench.operation("a"), ["k"])
    assert bench.ended == [("a", False)]
    bench.assert_empty()


def test_an_event_completes_and_the_timeout_no_longer_does() -> None:
    bench = Workbench()
    bench.watch("a", "k")
    assert bench.purgatory.touch("k") == 0
    bench.ready.add("a")
    assert bench.purgatory.touch("other") == 0
    assert bench.purgatory.touch("k") == 1
    bench.timers.advance(1_000)
    assert bench.ended == [("a", False)]
    assert bench.purgatory.expired == 0
    bench.assert_empty()


def test_the_timeout_completes_and_the_event_no_longer_does() -> None:
    bench = Workbench()
    operation = bench.watch("a", "k", "l")
    bench.timers.advance(99)
    assert bench.ended == []
    bench.timers.advance(1)
    bench.ready.add("a")
    assert bench.purgatory.touch("k") == 0
    assert not operation.force_complete()
    assert bench.ended == [("a", True)]
    assert bench.purgatory.expired == 1
    bench.assert_empty()


def test_counts_are_by_operation_and_by_key() -> None:
    bench = Workbench()
    bench.watch("a", "k", "l", "m")
    bench.watch("b", "k")
    purgatory = bench.purgatory
    assert (purgatory.delayed, purgatory.watched, purgatory.keys_count) == (2, 4, 3)
    bench.ready.add("a")
    purgatory.touch("m")
    assert (purgatory.delayed, purgatory.watched, purgatory.keys_count) == (1, 1, 1)


def test_keys_that_are_never_touched_hold_nothing() -> None:
    bench = Workbench()
    for number in range(1_000):
        bench.watch(str(number), "busy", f"idle {number}")
        bench.ready.add(str(number))
        assert bench.purgatory.touch("busy") == 1
    bench.assert_empty()


def test_a_cancelled_operation_never_completes() -> None:
    bench = Workbench()
    operation = bench.watch("a", "k")
    assert operation.cancel()
    assert not operation.cancel()
    bench.ready.add("a")
    bench.purgatory.touch("k")
    bench.timers.advance(1_000)
    assert bench.ended == []
    bench.assert_empty()
    assert bench.purgatory.try_complete_else_watch(_cancelled(bench), ["k"])
    bench.assert_empty()


def _cancelled(bench: Workbench) -> DelayedCall:
    operation = bench.operation("b")
    operation.cancel()
    return operation


def test_operations_of_a_key_complete_in_the_order_in_which_they_came() -> None:
    bench = Workbench()
    for name in "abc":
        bench.watch(name, "k")
    bench.ready |= {"c", "a"}
    assert bench.purgatory.touch("k") == 2
    assert bench.ended == [("a", False), ("c", False)]


def test_a_chain_of_completions_needs_no_stack() -> None:
    purgatory = Purgatory(ManualTimers())
    length = 5_000
    reached = [-1]

    def watch(number: int) -> None:
        def complete(_: bool) -> None:
            reached.append(number)
            purgatory.touch(number + 1)

        operation = DelayedCall(100, lambda: reached[-1] == number - 1, complete)
        purgatory.try_complete_else_watch(operation, [number])

    for number in range(1, length + 1):
        watch(number)
    reached[:] = [0]
    assert purgatory.touch(1) == length
    assert reached == list(range(length + 1))
    assert purgatory.delayed == 0


def test_a_completion_may_touch_its_own_key_and_watch_it_again() -> None:
    bench = Workbench()
    purgatory = bench.purgatory
    ended = []

    def again(_: bool) -> None:
        ended.append("first")
        bench.watch("second", "k")
        purgatory.touch("k")

    purgatory.try_complete_else_watch(DelayedCall(100, lambda: "first" in bench.ready, again), ["k"])
    bench.watch("third", "k")
    bench.ready |= {"first", "third"}
    assert purgatory.touch("k") == 2
    assert (ended, bench.ended) == (["first"], [("third", False)])
    assert purgatory.delayed == 1


def test_a_failing_operation_does_not_stop_the_others(caplog: pytest.LogCaptureFixture) -> None:
    bench = Workbench()

    def fail(_: bool) -> None:
        raise RuntimeError("broken")

    bench.purgatory.try_complete_else_watch(DelayedCall(100, lambda: "a" in bench.ready, fail), ["k"])
    bench.watch("b", "k")
    bench.ready |= {"a", "b"}
    with caplog.at_level(logging.ERROR):
        assert bench.purgatory.touch("k") == 1
    assert "broken" in caplog.text
    assert bench.ended == [("b", False)]
    bench.assert_empty()
    bench.watch("c", "k")
    bench.ready.add("c")
    assert bench.purgatory.touch("k") == 1


def test_it_waits_on_the_timers_of_a_loop() -> None:
    async def scenario() -> None:
        loop = asyncio.get_running_loop()
        timers = LoopTimers(loop, LoopClock(loop))
        ended = asyncio.Event()
        started = loop.time()
        operation = DelayedCall(500, lambda: False, lambda _: ended.set())
        Purgatory(timers).try_complete_else_watch(operation, ["group"])
        await ended.wait()
        assert loop.time() - started == pytest.approx(0.5, abs=0.001)
        timers.close()

    run_virtually(scenario())
