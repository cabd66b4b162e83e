"""What a coordinator has to be, to be run as a shard; and the timers that it is given."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, NamedTuple, Protocol

from moldau.base.clock import Clock
from moldau.base.wheel import Timer
from moldau.coordinator.runtime.result import Result
from moldau.replication.delayed import Timers


class Shard(Protocol):
    """The state of one partition of an internal topic. Nothing in it waits, and nothing asks a disk or a network."""

    def replay(self, key: bytes, value: bytes | None, producer_id: int) -> None:
        """Change as a record says; `producer_id` is -1, or that of the transaction which the record is part of.

        Called in a thread while the shard is loaded and nobody else knows it. A record of a type or version that is
        not known is left alone.
        """
        ...

    def end_transaction(self, producer_id: int, committed: bool) -> None:
        """A marker has ended a producer's transaction in this partition."""
        ...

    def loaded(self) -> None:
        """Everything has been replayed: begin to live, with timers."""
        ...

    def unloaded(self) -> None:
        """This broker does not coordinate it any more: whoever waits hears NOT_COORDINATOR. Timers are gone already."""
        ...


class ShardTimers:
    """The timers of a shard by key: what runs out is an operation, which may yield records."""

    def __init__(self, timers: Timers, run: Callable[[Callable[[], Result[Any]]], None]) -> None:
        self._timers = timers
        self._run = run
        self._running: dict[Hashable, Timer] = {}

    def schedule(self, key: Hashable, delay_ms: int, operation: Callable[[], Result[Any]]) -> None:
        """Run an operation later, instead of what was scheduled under this key before."""
        self.cancel(key)

        def expire() -> None:
            if self._running.get(key) is timer:
                del self._running[key]
                self._run(operation)

        timer = self._running[key] = self._timers.add(max(delay_ms, 0), expire)

    def cancel(self, key: Hashable) -> None:
        timer = self._running.pop(key, None)
        if timer is not None:
            timer.cancel()

    def is_scheduled(self, key: Hashable) -> bool:
        return key in self._running

    def cancel_all(self) -> None:
        for timer in self._running.values():
            timer.cancel()
        self._running.clear()


class ShardContext(NamedTuple):
    """What a shard gets when it is made."""

    partition: int
    clock: Clock
    timers: ShardTimers
