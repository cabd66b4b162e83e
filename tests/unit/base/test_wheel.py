"""The timing wheel without a loop: where timers wait, when they run, what cancelling does."""

from __future__ import annotations

import gc
import logging
import time
import weakref
from collections.abc import Callable
from functools import partial

import pytest

from moldau.base.wheel import Timer, TimingWheel


def nothing() -> None:
    pass


def place(timer: Timer) -> tuple[int, int]:
    assert timer.bucket is not None
    return timer.bucket.level, timer.bucket.cell


def test_450_ms_walk_down_through_three_levels() -> None:
    wheel, ran = TimingWheel(), list[int]()
    timer = wheel.add_at(450, lambda: ran.append(wheel.now_ms))
    assert (place(timer), wheel.next_expiry_ms()) == ((3, 1), 400)
    wheel.advance(399)
    assert place(timer) == (3, 1)
    wheel.advance(400)
    assert (place(timer), wheel.next_expiry_ms()) == ((2, 2), 440)
    wheel.advance(440)
    assert (place(timer), wheel.next_expiry_ms()) == ((1, 10), 450)
    wheel.advance(449)
    assert ran == []
    wheel.advance(450)
    assert ran == [450]
    assert (timer.bucket, wheel.next_expiry_ms(), len(wheel)) == (None, None, 0)


@pytest.mark.parametrize(
    ("now_ms", "deadline_ms", "expected"),
    [
        (0, 1, (1, 1)),
        (0, 19, (1, 19)),
        (0, 20, (2, 1)),
        (0, 399, (2, 19)),
        (0, 400, (3, 1)),
        (0, 7_999, (3, 19)),
        (0, 8_000, (4, 1)),
        (0, 30_000, (4, 3)),
        (0, 160_000, (5, 1)),
        # The part of the current bucket that has passed counts: at 19 level 2 still ends at 400.
        (19, 38, (1, 18)),
        (19, 39, (2, 1)),
        (19, 399, (2, 19)),
        (19, 400, (3, 1)),
        (20, 400, (2, 0)),
        (20, 419, (2, 0)),
        (20, 420, (3, 1)),
    ],
)
def test_a_timer_waits_in_the_finest_level_that_reaches_it(
    now_ms: int, deadline_ms: int, expected: tuple[int, int]
) -> None:
    assert place(TimingWheel(now_ms).add_at(deadline_ms, nothing)) == expected


def test_levels_reach_any_64_bit_time_and_no_further() -> None:
    wheel = TimingWheel()
    timer = wheel.add_at(2**63 - 1, nothing)
    assert place(timer)[0] == 15
    with pytest.raises(AssertionError):
        wheel.add_at(20**15, nothing)


def test_a_bucket_enters_the_queue_once_a_turn() -> None:
    earlier = list[int]()
    wheel = TimingWheel(on_earlier=earlier.append)
    for deadline_ms in (450, 799, 400):  # one bucket, 400 to 800
        wheel.add_at(deadline_ms, nothing)
    assert earlier == [400]
    wheel.add_at(900, nothing)  # a later bucket
    assert earlier == [400]
    wheel.add_at(390, nothing)
    assert earlier == [400, 380]
    assert len(wheel._queue) == 3


def test_a_passed_deadline_runs_at_the_next_advance_and_not_within_add() -> None:
    earlier = list[int]()
    wheel, ran = TimingWheel(100, earlier.append), list[str]()
    wheel.add_at(100, partial(ran.append, "now"))
    wheel.add_at(7, partial(ran.append, "long ago"))
    assert (ran, earlier, wheel.next_expiry_ms(), len(wheel)) == ([], [100], 100, 2)
    wheel.advance(100)
    assert ran == ["now", "long ago"]


def test_one_long_step_runs_everything_in_the_order_of_the_deadlines() -> None:
    wheel, ran = TimingWheel(), list[int]()
    deadlines = [900, 5, 20, 450, 8_001, 19, 400, 399, 160_000, 21]
    for deadline_ms in deadlines:
        wheel.add_at(deadline_ms, partial(ran.append, deadline_ms))
    wheel.advance(1_000_000)
    assert ran == sorted(deadlines)


def test_a_cancelled_timer_does_not_run_and_leaves_nothing_to_wake_up_for() -> None:
    wheel, ran = TimingWheel(), list[int]()
    timer = wheel.add_at(450, lambda: ran.append(1))
    assert timer.cancel()
    assert not timer.cancel()
    assert (len(wheel), wheel.next_expiry_ms()) == (0, None)
    # The bucket that was taken out of the queue enters it again.
    wheel.add_at(460, lambda: ran.append(2))
    assert wheel.next_expiry_ms() == 400
    wheel.advance(500)
    assert ran == [2]


def test_a_timer_that_has_run_cannot_be_cancelled() -> None:
    wheel = TimingWheel()
    timer = wheel.add_at(1, nothing)
    wheel.advance(1)
    assert not timer.cancel()


def test_a_callback_may_cancel_another_that_is_due_with_it() -> None:
    wheel, ran = TimingWheel(), list[str]()
    timers = dict[str, Timer]()

    def first() -> None:
        ran.append("first")
        assert timers["second"].cancel()

    timers["first"] = wheel.add_at(5, first)
    timers["second"] = wheel.add_at(5, partial(ran.append, "second"))
    timers["third"] = wheel.add_at(5, partial(ran.append, "third"))
    wheel.advance(5)
    assert ran == ["first", "third"]


def test_a_callback_that_adds_itself_again_runs_once_an_advance() -> None:
    wheel, ran = TimingWheel(), list[int]()

    def again() -> None:
        ran.append(wheel.now_ms)
        wheel.add_at(0, again)

    wheel.add_at(10, again)
    for now_ms in (10, 10, 11):
        wheel.advance(now_ms)
    assert ran == [10, 10, 11]


def test_a_failing_callback_is_logged_and_stops_nothing(caplog: pytest.LogCaptureFixture) -> None:
    wheel, ran = TimingWheel(), list[str]()

    def fail() -> None:
        raise ValueError("spilt milk")

    wheel.add_at(5, fail)
    wheel.add_at(5, partial(ran.append, "same moment"))
    wheel.add_at(6, partial(ran.append, "later"))
    with caplog.at_level(logging.ERROR):
        wheel.advance(10)
    assert ran == ["same moment", "later"]
    assert "fail" in caplog.text
    assert "spilt milk" in caplog.text


def test_an_interrupt_passes_through_and_loses_no_timer() -> None:
    wheel, ran = TimingWheel(), list[str]()

    def interrupt() -> None:
        raise KeyboardInterrupt

    wheel.add_at(5, interrupt)
    wheel.add_at(5, partial(ran.append, "same moment"))
    with pytest.raises(KeyboardInterrupt):
        wheel.advance(9)
    assert (ran, wheel.next_expiry_ms(), len(wheel)) == ([], 9, 1)
    wheel.advance(9)
    assert ran == ["same moment"]


def test_a_callback_may_advance_the_wheel_itself() -> None:
    wheel, ran = TimingWheel(), list[str]()
    wheel.add_at(5, lambda: wheel.advance(20))
    wheel.add_at(5, partial(ran.append, "with it"))
    wheel.add_at(15, partial(ran.append, "later"))
    wheel.advance(5)
    assert (ran, wheel.now_ms) == (["with it", "later"], 20)


def test_time_does_not_go_back() -> None:
    wheel = TimingWheel(10)
    with pytest.raises(AssertionError):
        wheel.advance(9)


class Operation:
    """Holds its timer and is held by it, as delayed operations are."""

    def __init__(self, wheel: TimingWheel) -> None:
        self.timer = wheel.add_at(5, self.expire)

    def expire(self) -> None:
        pass


@pytest.mark.parametrize("end", [lambda _wheel, timer: timer.cancel(), lambda wheel, _timer: wheel.advance(5)])
def test_an_ended_timer_keeps_nothing_alive(end: Callable[[TimingWheel, Timer], object]) -> None:
    wheel = TimingWheel()
    operation = Operation(wheel)
    reference = weakref.ref(operation)
    gc.disable()
    try:
        end(wheel, operation.timer)
        del operation
        assert reference() is None
    finally:
        gc.enable()


@pytest.mark.slow
def test_adding_and_cancelling_cost_the_same_with_a_million_pending() -> None:
    def cost_with(pending: int) -> float:
        wheel = TimingWheel()
        deadlines = [1 + number * 7919 % 3_000_000 for number in range(pending)]
        timers = [wheel.add_at(deadline_ms, nothing) for deadline_ms in deadlines]
        rounds = list[float]()
        for _ in range(5):
            started = time.perf_counter()
            for deadline_ms in deadlines[:10_000]:
                wheel.add_at(deadline_ms, nothing).cancel()
            rounds.append(time.perf_counter() - started)
        assert len(wheel) == pending
        assert all(timer.cancel() for timer in timers)
        assert wheel.next_expiry_ms() is None
        return min(rounds)

    gc.disable()  # the collector's work grows with what is alive: not the wheel's cost
    try:
        assert cost_with(1_000_000) < 5 * cost_with(10_000)
    finally:
        gc.enable()
