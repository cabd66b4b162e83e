"""Timers for purgatories whose time is moved by the test."""

from __future__ import annotations

from collections.abc import Callable

from moldau.base.wheel import Timer, TimingWheel


class ManualTimers:
    def __init__(self) -> None:
        self.wheel = TimingWheel()

    def add(self, delay_ms: int, callback: Callable[[], None]) -> Timer:
        return self.wheel.add_at(self.wheel.now_ms + delay_ms, callback)

    def advance(self, duration_ms: int) -> None:
        self.wheel.advance(self.wheel.now_ms + duration_ms)
