"""Delayed operations against a list of them: whatever happens, each ends once, at its moment, and is gone then."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from moldau.replication.delayed import DelayedCall, Purgatory
from tests.unit.replication.manual_timers import ManualTimers

KEYS = st.integers(0, 4)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("watch"), st.lists(KEYS, min_size=1, unique=True), st.integers(0, 6), st.integers(1, 50)),
        st.tuples(st.just("touch"), st.lists(KEYS, min_size=1, max_size=1), st.integers(0, 6), st.just(0)),
        st.tuples(st.just("advance"), st.just([]), st.just(0), st.integers(0, 40)),
        st.tuples(st.just("cancel"), st.just([]), st.integers(0, 30), st.just(0)),
        st.tuples(st.just("force"), st.just([]), st.integers(0, 30), st.just(0)),
    ),
    min_size=40,
    max_size=80,
)


class Waiting:
    """An operation that needs the level to be at some height; completing raises the level and touches a key."""

    def __init__(self, model: Model, keys: list[int], height: int, timeout_ms: int) -> None:
        self.model = model
        self.keys = keys
        self.height = height
        self.deadline_ms = model.timers.wheel.now_ms + timeout_ms
        self.endings: list[bool] = []
        self.is_cancelled = False
        self.operation = DelayedCall(timeout_ms, lambda: model.level >= height, self.end)

    def end(self, expired: bool) -> None:
        self.endings.append(expired)
        if not expired:
            self.model.raise_level(self.height + 1, self.keys[-1])

    @property
    def waits(self) -> bool:
        return not self.endings and not self.is_cancelled


class Model:
    def __init__(self) -> None:
        self.timers = ManualTimers()
        self.purgatory = Purgatory(self.timers)
        self.level = 0
        self.seen: dict[int, int] = {}  # the level at which a key was touched last
        self.all: list[Waiting] = []

    def raise_level(self, level: int, key: int) -> None:
        self.level = max(self.level, level)
        self.seen[key] = self.level
        self.purgatory.touch(key)

    def step(self, kind: str, keys: list[int], number: int, duration_ms: int) -> None:
        if kind == "watch":
            waiting = Waiting(self, keys, number, duration_ms)
            self.all.append(waiting)
            can = self.level >= number
            assert self.purgatory.try_complete_else_watch(waiting.operation, keys) == can
        elif kind == "touch":
            self.raise_level(number, keys[0])
        elif kind == "advance":
            self.timers.advance(duration_ms)
        elif number < len(self.all):
            waiting = self.all[number]
            could = waiting.waits
            if kind == "cancel":
                assert waiting.operation.cancel() == could
                waiting.is_cancelled |= could
            else:
                assert waiting.operation.force_complete() == could

    def check(self) -> None:
        for one in self.all:
            assert len(one.endings) <= 1
            assert not (one.is_cancelled and one.endings)
            assert one.operation.is_over != one.waits
            if one.waits:
                assert self.timers.wheel.now_ms < one.deadline_ms
                assert all(self.seen.get(key, 0) < one.height for key in one.keys), "a touch was overlooked"
        waiting = [one for one in self.all if one.waits]
        assert self.purgatory.delayed == len(waiting) == len(self.timers.wheel)
        assert self.purgatory.watched == sum(len(one.keys) for one in waiting)
        assert self.purgatory.keys_count == len({key for one in waiting for key in one.keys})
        assert self.purgatory.expired == sum(one.endings == [True] for one in self.all)


@settings(max_examples=30, deadline=None)
@given(STEPS)
def test_each_operation_ends_once(steps: list[tuple[str, list[int], int, int]]) -> None:
    model = Model()
    for step in steps:
        model.step(*step)
        model.check()
