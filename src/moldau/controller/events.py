"""One queue, one worker: what the controller does, it does one event after the other (C3).

Watches, timers, answers of brokers and calls from request handlers all become events, carried out strictly in the
order of their arrival. An event that waits is not queued again under the same name: who reads the store when its turn
comes sees all changes until then, so that a thousand watch events are one reading. That bounds what watches can queue
by the number of znodes; calls are bounded by a number of their own, and answers by the requests that were sent.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from typing import NamedTuple, TypeVar

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError
from moldau.base.supervision import OnFailure, Supervisor

logger = logging.getLogger(__name__)

CALLS_MAX = 10_000
STOP_TIMEOUT_MS = 5_000

Work = Callable[[], Awaitable[None]]
OnEventFailure = Callable[[str, Exception], Awaitable[None]]
Result = TypeVar("Result")


class _Event(NamedTuple):
    name: str
    work: Work


class EventQueue:
    """`on_failure` is awaited, before the next event, with whatever an event raised that was nobody's answer."""

    def __init__(self, supervisor: Supervisor, on_failure: OnEventFailure) -> None:
        self._supervisor = supervisor
        self._on_failure = on_failure
        self._events: deque[_Event] = deque()
        self._waiting: set[str] = set()
        self._calls = 0
        self._filled = asyncio.Event()
        self._worker: asyncio.Task[None] | None = None

    def __len__(self) -> int:
        return len(self._events)

    def start(self) -> None:
        self._worker = self._supervisor.start("controller events", self._run, OnFailure.FATAL)

    async def stop(self) -> None:
        """Carry out nothing more; whoever waits for a call is told that this is not the controller."""
        if self._worker is not None:
            await self._supervisor.cancel([self._worker], STOP_TIMEOUT_MS)
            self._worker = None
        self._events.clear()
        self._waiting.clear()

    def put_once(self, name: str, work: Work) -> None:
        """Queue an event, unless one of this name waits already."""
        if name not in self._waiting and self._worker is not None:
            self._waiting.add(name)
            self.put(name, work)

    def put(self, name: str, work: Work) -> None:
        """Queue an event; before the start and after the stop there is nobody to carry it out."""
        if self._worker is not None:
            self._events.append(_Event(name, work))
            self._filled.set()

    async def call(self, name: str, work: Callable[[], Awaitable[Result]]) -> Result:
        """Queue an event and wait for what comes of it; what it raises, other than ApiError, is reported as well."""
        if self._worker is None:
            raise not_controller()
        if self._calls >= CALLS_MAX:
            raise ApiError(ErrorCode.REQUEST_TIMED_OUT, f"{CALLS_MAX} calls wait for the controller: try again later")
        answer: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        worker = self._worker

        async def answered() -> None:
            if answer.done():  # its caller has gone away
                return
            try:
                result = await work()
            except ApiError as error:
                _fail(answer, error)
            except Exception as error:
                _fail(answer, error)
                raise
            else:
                if not answer.done():
                    answer.set_result(result)

        def stopped(_worker: asyncio.Task[None]) -> None:
            _fail(answer, not_controller())

        self._calls += 1
        worker.add_done_callback(stopped)
        self.put(name, answered)
        try:
            return await answer
        finally:
            worker.remove_done_callback(stopped)
            self._calls -= 1

    async def _run(self) -> None:
        while True:
            while not self._events:
                self._filled.clear()
                await self._filled.wait()
            event = self._events.popleft()
            self._waiting.discard(event.name)
            try:
                await event.work()
            except Exception as error:
                await self._on_failure(event.name, error)


def not_controller() -> ApiError:
    return ApiError(ErrorCode.NOT_CONTROLLER, "this broker is not the active controller")


def _fail(answer: asyncio.Future[Result], error: Exception) -> None:
    if not answer.done():
        answer.set_exception(error)
