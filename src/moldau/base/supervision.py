"""Background tasks that cannot die unseen.

asyncio reports a failed task only when it is collected, if ever, and a task that nobody refers to may vanish.
So every background task belongs to a `Supervisor`, which holds it, logs its failure with its name and
traceback, and then does what was agreed when it was started: nothing more, a new start after a pause, or the
call that stops the broker. A task that returns has done its work and is forgotten.

Cancellation is a request, not a failure: it always passes through. But only a task that was asked to end may
end by it: a `CancelledError` that comes out of something the task waited for, while nobody cancelled the task
itself, would be a silent death, and is a failure like any other.

All waiting goes through the event loop, so supervision works in virtual time.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from enum import Enum, auto
from functools import partial

logger = logging.getLogger(__name__)

RESTART_BACKOFF_MS = 100
RESTART_BACKOFF_MAX_MS = 30_000

Work = Callable[[], Awaitable[None]]
Job = Callable[[], Awaitable[None] | None]


class OnFailure(Enum):
    """What follows when a task has failed and the failure is logged."""

    LOG = auto()
    """Nothing: the task served one thing only, such as a connection."""
    RESTART = auto()
    """It is started again, after a pause that doubles with each failure in a row, up to a limit."""
    FATAL = auto()
    """The process cannot go on without it: the supervisor's `on_fatal` is called."""


class Supervisor:
    """Owner of background tasks.

    `on_fatal` gets the name and the failure of every task whose failure is fatal, until `stop` has begun.
    """

    def __init__(self, on_fatal: Callable[[str, BaseException], None]) -> None:
        self._on_fatal = on_fatal
        self._tasks: dict[asyncio.Task[None], None] = {}  # in the order of their start, so that runs repeat
        self._stopping = False

    @property
    def running(self) -> list[str]:
        """The names of the tasks that have not ended."""
        return [task.get_name() for task in self._tasks]

    def start(self, name: str, work: Work, on_failure: OnFailure = OnFailure.FATAL) -> asyncio.Task[None]:
        """Run `work` in the background; while the supervisor stops, the task is cancelled before it begins."""
        task = asyncio.get_running_loop().create_task(self._supervise(name, work, on_failure), name=name)
        self._tasks[task] = None
        task.add_done_callback(self._ended)
        if self._stopping:
            task.cancel()
        return task

    def every(
        self, interval_ms: int, name: str, job: Job, on_failure: OnFailure = OnFailure.RESTART
    ) -> asyncio.Task[None]:
        """Call `job` after each interval, and await what it returns if it is a coroutine function.

        Runs never overlap; those that were missed because one took too long are left out.
        """
        assert interval_ms > 0
        return self.start(name, partial(_periodically, interval_ms, job), on_failure)

    async def cancel(self, tasks: Iterable[asyncio.Task[None]], timeout_ms: int) -> list[str]:
        """Cancel the tasks and wait until they have ended; the names of those that have not in time.

        A task that calls this for itself is left alone: it cannot wait for its own end.
        """
        others = [task for task in tasks if task is not asyncio.current_task() and not task.done()]
        for task in others:
            task.cancel()
        if others:
            await asyncio.wait(others, timeout=timeout_ms / 1000)
        late = [task.get_name() for task in others if not task.done()]
        if late:
            logger.warning("still running %d ms after being cancelled: %s", timeout_ms, ", ".join(late))
        return late

    async def stop(self, timeout_ms: int) -> list[str]:
        """Cancel every task, also those that are started from now on; the names of those that did not end."""
        self._stopping = True
        return await self.cancel(self._tasks, timeout_ms)

    async def _supervise(self, name: str, work: Work, on_failure: OnFailure) -> None:
        loop = asyncio.get_running_loop()
        backoff_ms = RESTART_BACKOFF_MS
        while True:
            started = loop.time()
            failure = await _failure_of(work)
            if failure is None:
                return
            logger.error("task %s failed", name, exc_info=failure)
            if _asked_to_end() or self._stopping:
                return
            if on_failure is not OnFailure.RESTART:
                break
            if (loop.time() - started) * 1000 >= RESTART_BACKOFF_MAX_MS:
                backoff_ms = RESTART_BACKOFF_MS  # it was well for long: not a failure in a row
            await asyncio.sleep(backoff_ms / 1000)
            backoff_ms = min(backoff_ms * 2, RESTART_BACKOFF_MAX_MS)
        if on_failure is OnFailure.FATAL:
            self._on_fatal(name, failure)

    def _ended(self, task: asyncio.Task[None]) -> None:
        del self._tasks[task]
        if not task.cancelled() and (failure := task.exception()) is not None:
            # Not the work, whose failures are dealt with above: `on_fatal`, or an exit of the interpreter.
            logger.critical("supervision of task %s failed", task.get_name(), exc_info=failure)


async def _failure_of(work: Work) -> BaseException | None:
    try:
        await work()
    except asyncio.CancelledError as cancelled:
        if _asked_to_end():
            raise
        return cancelled
    except Exception as failure:
        return failure
    return None


def _asked_to_end() -> bool:
    task = asyncio.current_task()
    assert task is not None
    return task.cancelling() > 0


async def _periodically(interval_ms: int, job: Job) -> None:
    loop = asyncio.get_running_loop()
    interval = interval_ms / 1000
    due = loop.time() + interval
    while True:
        await asyncio.sleep(due - loop.time())
        outcome = job()
        if outcome is not None:
            await outcome
        due = max(due + interval, loop.time())
