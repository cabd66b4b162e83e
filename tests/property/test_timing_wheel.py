"""The timing wheel against a heap: whatever is added, cancelled and advanced, the same timers run at the same time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from heapq import heappop, heappush

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moldau.base.clock import LoopClock
from moldau.base.timers import LoopTimers
from moldau.base.wheel import Timer, TimingWheel
from tests.unit.base.virtual_loop import run_virtually

# Around the edges of the levels, near and far, and some that have passed.
DELAYS_MS = st.one_of(
    st.integers(-5, 45),
    st.integers(380, 820),
    st.integers(7_900, 8_500),
    st.integers(0, 400_000),
    st.sampled_from([20**power + step for power in range(1, 9) for step in (-1, 0, 1)]),
)
STEPS_MS = st.one_of(st.integers(0, 30), st.integers(0, 1_000), st.integers(0, 500_000))
ADD = st.tuples(st.just("add"), DELAYS_MS)
ADD_FROM_CALLBACK = st.tuples(st.just("add and again"), DELAYS_MS)
CANCEL = st.tuples(st.just("cancel"), st.integers(0, 1_000))
ADVANCE = st.tuples(st.just("advance"), STEPS_MS)
ADVANCE_TO_EXPIRY = st.tuples(st.just("advance to expiry"), st.just(0))
OPERATIONS = st.lists(st.one_of(ADD, ADD_FROM_CALLBACK, CANCEL, ADVANCE, ADVANCE_TO_EXPIRY), max_size=60)
DELAY_OF_AGAIN_MS = 37


class HeapTimers:
    """The oracle: an ordered heap of (deadline, number), looked at whenever time moves."""

    def __init__(self) -> None:
        self.heap: list[tuple[int, int]] = []
        self.cancelled: set[int] = set()

    def add(self, deadline_ms: int, number: int) -> None:
        heappush(self.heap, (deadline_ms, number))

    def due(self, now_ms: int) -> list[tuple[int, int]]:
        ran = []
        while self.heap and self.heap[0][0] <= now_ms:
            entry = heappop(self.heap)
            if entry[1] not in self.cancelled:
                ran.append(entry)
        return ran

    def pending(self) -> list[int]:
        return [deadline_ms for deadline_ms, number in self.heap if number not in self.cancelled]


class Comparison:
    """Does the same to the wheel and to the heap, and compares after each step."""

    def __init__(self) -> None:
        self.wheel = TimingWheel()
        self.oracle = HeapTimers()
        self.timers: list[Timer] = []
        self.again: dict[int, bool] = {}
        self.ran: list[int] = []

    def add(self, deadline_ms: int, again: bool) -> None:
        number = len(self.timers)
        self.again[number] = again
        self.timers.append(self.wheel.add_at(deadline_ms, partial(self.run, number)))
        # Both count what has passed already as due now.
        self.oracle.add(max(deadline_ms, self.wheel.now_ms), number)

    def run(self, number: int) -> None:
        self.ran.append(number)
        if self.again[number]:
            self.add(self.wheel.now_ms + DELAY_OF_AGAIN_MS * (number % 2), again=False)

    def cancel(self, choice: int) -> None:
        if self.timers:
            number = choice % len(self.timers)
            if self.timers[number].cancel():
                assert number not in self.ran
                self.oracle.cancelled.add(number)

    def advance(self, now_ms: int) -> None:
        self.ran.clear()
        expected = self.oracle.due(now_ms)
        self.wheel.advance(now_ms)
        deadlines = {number: deadline_ms for deadline_ms, number in expected}
        assert sorted(self.ran) == sorted(deadlines), "not the timers that are due"
        order = [deadlines[number] for number in self.ran]
        assert order == sorted(order), "not in the order of the deadlines"

    def check(self) -> None:
        pending = self.oracle.pending()
        expiry_ms = self.wheel.next_expiry_ms()
        assert len(self.wheel) == len(pending)
        if expiry_ms is None:
            assert not pending
        else:
            assert self.wheel.now_ms <= expiry_ms <= min(pending)


@pytest.mark.slow
@given(OPERATIONS)
@settings(max_examples=300, deadline=None)
def test_the_wheel_runs_what_a_heap_runs(operations: list[tuple[str, int]]) -> None:
    pair = Comparison()
    for name, value in operations:
        match name:
            case "add" | "add and again":
                pair.add(max(pair.wheel.now_ms + value, 0), again=name != "add")
            case "cancel":
                pair.cancel(value)
            case "advance":
                pair.advance(pair.wheel.now_ms + value)
            case "advance to expiry":
                pair.advance(pair.wheel.next_expiry_ms() or pair.wheel.now_ms)
        pair.check()
    pair.advance(pair.wheel.now_ms + 20**10)
    pair.advance(pair.wheel.now_ms + DELAY_OF_AGAIN_MS)
    pair.check()
    assert len(pair.wheel) == 0


PLANS = st.lists(
    st.tuples(
        st.integers(0, 3_000),  # milliseconds before it is added
        st.one_of(st.integers(0, 30), st.integers(0, 1_000), st.integers(0, 100_000)),  # its delay
        st.one_of(st.none(), st.integers(0, 1_200)),  # milliseconds until it is cancelled
        st.one_of(st.none(), st.integers(0, 700)),  # the delay of another that its callback adds
    ),
    max_size=25,
)


@given(PLANS)
@settings(max_examples=100, deadline=None)
def test_driven_by_a_loop_in_virtual_time_each_timer_runs_exactly_on_its_deadline(
    plans: list[tuple[int, int, int | None, int | None]],
) -> None:
    async def scenario() -> None:
        loop = asyncio.get_running_loop()
        clock = LoopClock(loop)
        timers = LoopTimers(loop, clock)
        expected, ran = list[tuple[int, int]](), list[tuple[int, float]]()

        def note(number: int, then: Callable[[], object]) -> None:
            ran.append((number, clock.monotonic_ms()))
            then()

        def add(number: int, delay_ms: int, then: Callable[[], object]) -> Timer:
            return timers.add(delay_ms, partial(note, number, then))

        async def follow(number: int, plan: tuple[int, int, int | None, int | None]) -> None:
            before_ms, delay_ms, cancel_ms, again_ms = plan
            deadline_ms = before_ms + delay_ms
            await asyncio.sleep(before_ms / 1000)
            again = partial(add, -number - 1, again_ms, bool) if again_ms is not None else bool
            timer = add(number, delay_ms, again)
            if cancel_ms is not None:
                await asyncio.sleep(cancel_ms / 1000)
                if timer.cancel():
                    assert cancel_ms <= delay_ms
                    return
            expected.append((number, deadline_ms))
            if again_ms is not None:
                expected.append((-number - 1, deadline_ms + again_ms))

        await asyncio.gather(*(follow(number, plan) for number, plan in enumerate(plans)))
        await asyncio.sleep(200)
        assert sorted(ran) == sorted(expected)
        assert len(timers) == 0

    run_virtually(scenario())
