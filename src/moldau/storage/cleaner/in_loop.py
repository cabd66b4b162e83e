"""Calls from a worker thread into the thread of the event loop, that end even if the loop does."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError

from moldau.storage.cleaner.pace import CleaningAborted, Pace

_LOOK_UP_S = 0.2


class LoopCalls:
    """Made in the loop's thread; called in a worker's, or in the loop's own by a loop that has no threads."""

    def __init__(self, loop: asyncio.AbstractEventLoop, pace: Pace) -> None:
        self._loop = loop
        self._pace = pace
        self._thread_id = threading.get_ident()

    def __call__(self, function: Callable[[], bool]) -> bool:
        """The function's result; `CleaningAborted` if the cleaning is told to stop before the loop gets to it."""
        if threading.get_ident() == self._thread_id:
            return function()
        future: Future[bool] = Future()
        self._loop.call_soon_threadsafe(_run, function, future)
        while True:
            try:
                return future.result(_LOOK_UP_S)
            except FutureTimeoutError:
                if self._pace.aborted and future.cancel():
                    raise CleaningAborted from None


def _run(function: Callable[[], bool], future: Future[bool]) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        future.set_result(function())
    except Exception as error:  # raised again in the thread that asked
        future.set_exception(error)
