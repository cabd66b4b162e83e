"""Requests that cannot be answered yet: they wait for an event or for their timeout, and complete exactly once.

An operation watches keys (partitions, groups …). Whoever changes something about a key touches it, and every operation
that watches the key is asked whether it can complete now. A timer ends the wait of those that never can.

Kafka leaves a completed operation in the watch lists of its other keys until a reaper has counted
`*.purgatory.purge.interval.requests` of them. Here the lists are dicts, so that leaving all of them costs no more than
entering them did: an operation that is over is nowhere, a key that nobody watches is not kept, and the settings of that
name have nothing to do.

Completing may touch keys, and the operations that completes may touch others. A purgatory that is at work only notes
such keys and comes to them in turn: however long the chain is, the stack is not, and no operation is asked in the
middle of the completion of another.

A purgatory needs no bound of its own: what waits is an unanswered request, of which the server admits
`queued.max.requests`, or a member of a group.
"""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Hashable
from typing import Protocol

from moldau.base.wheel import Timer

logger = logging.getLogger(__name__)


class Timers(Protocol):
    """Where timeouts are kept; `moldau.base.timers.LoopTimers` is one."""

    def add(self, delay_ms: int, callback: Callable[[], None]) -> Timer: ...


class Watcher(Protocol):
    """Who is asked when a key is touched."""

    def try_complete(self, touched: Hashable | None = None) -> bool: ...


class DelayedOperation(ABC):
    """Something that waits; a subclass says for what, and what happens then."""

    __slots__ = ("_keys", "_purgatory", "_timer", "is_over", "timeout_ms")

    # Set when it begins to wait, and meaningless before.
    _keys: Collection[Hashable]
    _timer: Timer

    def __init__(self, timeout_ms: int) -> None:
        self.timeout_ms = timeout_ms
        self.is_over = False
        self._purgatory: Purgatory | None = None

    @abstractmethod
    def can_complete(self, touched: Hashable | None) -> bool:
        """Whether the wait is over, now that a key was touched; None: nothing is known yet, look at everything."""

    @abstractmethod
    def on_complete(self, expired: bool) -> None:
        """Called exactly once: by the event, or because the time is up."""

    def try_complete(self, touched: Hashable | None = None) -> bool:
        """Complete if it can; whether it did by this call."""
        return not self.is_over and self.can_complete(touched) and self.force_complete()

    def force_complete(self) -> bool:
        """Complete by event, whether it can or not; False if it was over already."""
        if not self.cancel():
            return False
        self.on_complete(False)
        return True

    def cancel(self) -> bool:
        """Never complete: nobody is interested any more; False if it was over already."""
        if self.is_over:
            return False
        self.is_over = True
        if self._purgatory is not None:
            self._timer.cancel()
            self._purgatory._leave(self, self._keys)
        return True

    def _expire(self) -> None:
        purgatory = self._purgatory
        if purgatory is not None and self.cancel():
            purgatory.expired += 1
            self.on_complete(True)


class DelayedCall(DelayedOperation):
    """An operation made of two functions: joins, syncs, heartbeats and whatever else groups wait for."""

    __slots__ = ("_on_complete", "_ready")

    def __init__(self, timeout_ms: int, ready: Callable[[], bool], on_complete: Callable[[bool], None]) -> None:
        super().__init__(timeout_ms)
        self._ready = ready
        self._on_complete = on_complete

    def can_complete(self, touched: Hashable | None) -> bool:  # noqa: ARG002
        return self._ready()

    def on_complete(self, expired: bool) -> None:
        self._on_complete(expired)


class Purgatory:
    """The operations of one kind that wait.

    `delayed` counts them (Kafka's NumDelayedOperations), `watched` counts them once for each of their keys
    (PurgatorySize), `expired` those that have ended by timeout, ever.
    """

    __slots__ = ("_is_at_work", "_timers", "_touched", "_watchers", "delayed", "expired", "watched")

    def __init__(self, timers: Timers) -> None:
        self._timers = timers
        self._watchers: dict[Hashable, dict[Watcher, None]] = {}
        self._touched: dict[Hashable, None] = {}
        self._is_at_work = False
        self.watched = 0
        self.delayed = 0
        self.expired = 0

    @property
    def keys_count(self) -> int:
        return len(self._watchers)

    def try_complete_else_watch(self, operation: DelayedOperation, keys: Collection[Hashable]) -> bool:
        """Complete at once if it can, else let it wait; whether it is over. Keys must differ from each other."""
        assert operation._purgatory is None, "an operation waits once"
        if operation.is_over or operation.try_complete():
            return True
        operation._purgatory = self
        operation._keys = keys
        operation._timer = self._timers.add(operation.timeout_ms, operation._expire)
        watchers = self._watchers
        for key in keys:
            watching = watchers.get(key)
            if watching is None:
                watchers[key] = {operation: None}
            else:
                watching[operation] = None
        self.watched += len(keys)
        self.delayed += 1
        return False

    def watch(self, watcher: Watcher, key: Hashable) -> None:
        """Ask whenever a key is touched, until `unwatch`; that is not counted, and has no timeout."""
        self._watchers.setdefault(key, {})[watcher] = None

    def unwatch(self, watcher: Watcher, key: Hashable) -> None:
        watching = self._watchers[key]
        del watching[watcher]
        if not watching:
            del self._watchers[key]

    def touch(self, key: Hashable) -> int:
        """Something about a key has changed: complete what can; how many did.

        From within a completion of this purgatory it answers 0, and the key's turn comes before the outer call ends.
        """
        if key not in self._watchers:
            return 0
        if self._is_at_work:
            self._touched[key] = None
            return 0
        self._is_at_work = True
        try:
            completed = self._ask_watchers(key)
            touched = self._touched
            while touched:
                key = next(iter(touched))
                del touched[key]
                completed += self._ask_watchers(key)
        finally:
            self._is_at_work = False
        return completed

    def _ask_watchers(self, key: Hashable) -> int:
        """One operation that fails must not keep the others waiting; it ends by its timeout if it is not over."""
        completed = 0
        for operation in list(self._watchers.get(key, ())):
            try:
                completed += operation.try_complete(key)
            except Exception:
                logger.exception("%s failed when %r was touched", type(operation).__name__, key)
        return completed

    def _leave(self, operation: DelayedOperation, keys: Collection[Hashable]) -> None:
        watchers = self._watchers
        for key in keys:
            watching = watchers[key]
            if len(watching) == 1:
                del watchers[key]
            else:
                del watching[operation]
        self.watched -= len(keys)
        self.delayed -= 1
