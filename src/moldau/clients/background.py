"""The event loop behind a plain client, in a daemon thread of its own.

Each client has its own, so that what one user's callback does holds up nobody else's heartbeats. A forked child has the
objects but not the thread: every call there says so. At exit of the interpreter the loops are stopped.
"""

from __future__ import annotations

import asyncio
import atexit
import concurrent.futures
import os
import threading
from collections.abc import Callable, Coroutine
from typing import Any, Final, TypeVar
from weakref import WeakSet

import uvloop

from moldau.clients.errors import ClientClosed, IllegalState

Result = TypeVar("Result")

STOP_S: Final = 5.0
CLOSING_TURNS: Final = 3  # what transports need that were closed in the last one

_living: Final[WeakSet[BackgroundLoop]] = WeakSet()


class BackgroundLoop:
    """`unusable` is None while it can be used, and else the reason why not."""

    def __init__(self, name: str) -> None:
        # Told the reason, for those who cannot afford to look before each call.
        self.on_unusable: Callable[[str], None] | None = None
        self.loop: asyncio.AbstractEventLoop = uvloop.new_event_loop()
        self.unusable: str | None = None
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        _living.add(self)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, Result], timeout_s: float | None = None) -> Result:
        """Do something in the loop and wait for it here; who is interrupted while waiting ends it."""
        try:
            self.check()
        except IllegalState:
            work.close()
            raise
        try:
            future = asyncio.run_coroutine_threadsafe(work, self.loop)
        except RuntimeError as error:
            work.close()
            raise ClientClosed("the client's event loop is closed; make a new client") from error
        try:
            return future.result(timeout_s)
        except concurrent.futures.CancelledError:
            raise ClientClosed("the client was closed meanwhile") from None
        except BaseException:
            future.cancel()
            raise

    @property
    def is_here(self) -> bool:
        """Whether the caller is in the loop's own thread: a callback."""
        return threading.current_thread() is self._thread

    def later(self, work: Coroutine[Any, Any, None]) -> None:
        """Do something in the loop after the callback that asks for it, and close the loop then."""
        task = self.loop.create_task(work)
        task.add_done_callback(lambda _task: self.close())

    def check(self) -> None:
        """Raise if nothing can be run here now."""
        if self.unusable is not None:
            raise ClientClosed(self.unusable)
        if self.is_here:
            raise IllegalState("a call that waits cannot be made in a callback: it would wait for itself")

    def close(self, timeout_s: float = STOP_S) -> None:
        """End the thread; what still runs in the loop is cancelled."""
        if self.unusable is not None:
            return
        self.become_unusable("the client is closed; make a new one")
        self.loop.call_soon_threadsafe(self.loop.stop)
        if not self.is_here:
            self._thread.join(timeout_s)

    def become_unusable(self, reason: str) -> None:
        self.unusable = reason
        if self.on_unusable is not None:
            self.on_unusable(reason)

    def _run(self) -> None:
        loop = self.loop
        asyncio.set_event_loop(loop)
        try:
            loop.run_forever()
            tasks = asyncio.all_tasks(loop)
            for task in tasks:
                task.cancel()
            if tasks:
                loop.run_until_complete(asyncio.wait(tasks, timeout=STOP_S))
            for _ in range(CLOSING_TURNS):
                loop.run_until_complete(asyncio.sleep(0))
        finally:
            loop.close()


def _after_fork() -> None:
    for each in _living:
        each.become_unusable(
            "the client was made before the process was forked, and its thread is in the parent only; "
            "make a client after the fork"
        )


def _at_exit() -> None:
    for each in list(_living):
        each.close()


os.register_at_fork(after_in_child=_after_fork)
atexit.register(_at_exit)
