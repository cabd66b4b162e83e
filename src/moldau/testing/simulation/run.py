"""Run a coroutine in a simulation of its own, and leave nothing behind."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from moldau.testing.simulation.loop import SimulatedLoop
from moldau.testing.simulation.network import NetworkConditions, SimulatedNetwork

Result = TypeVar("Result")

# What a run that has ended may still use to clean up after itself.
CLEANUP_S_MAX = 60.0
CLEANUPS_MAX = 5


def simulate(
    main: Callable[[SimulatedNetwork], Coroutine[Any, Any, Result]],
    seed: int,
    *,
    conditions: NetworkConditions | None = None,
    time_limit_s: float = 3600.0,
    shuffled: bool = False,
) -> Result:
    """Run `main(network)`; a failure carries the seed, with which it happens again."""
    loop = SimulatedLoop(seed, conditions=conditions, time_limit_s=time_limit_s, shuffled=shuffled)
    failures: list[BaseException] = []
    loop.set_exception_handler(lambda _loop, context: failures.append(_failure(context)))
    try:
        result = loop.run_until_complete(main(loop.network))
        _raise_first(failures)
    except BaseException as error:
        error.add_note(f"seed {seed}, at {loop.time():.6f} s; the last events:")
        for line in list(loop.trace.lines)[-12:]:
            error.add_note(f"  {line}")
        raise
    else:
        return result
    finally:
        try:
            _end_tasks(loop)
        finally:
            loop.close()


def _failure(context: dict[str, Any]) -> BaseException:
    error = context.get("exception")
    return error if isinstance(error, BaseException) else RuntimeError(context["message"])


def _raise_first(failures: list[BaseException]) -> None:
    """A callback or a task that failed unseen fails the run."""
    if failures:
        raise failures[0]


def _end_tasks(loop: SimulatedLoop) -> None:
    """Cancel whatever still runs; the tasks of paused and dead hosts run once more, to be closed.

    Several times: what a supervisor starts again, since it failed just when it was cancelled, is cancelled as well.
    """
    loop.network.wake_all()
    loop.grant(CLEANUP_S_MAX * CLEANUPS_MAX * 2)
    for _ in range(CLEANUPS_MAX):
        tasks = asyncio.all_tasks(loop)
        if not tasks:
            break
        for task in tasks:
            task.cancel()
        loop.run_until_complete(_done(tasks))
    loop.run_until_complete(loop.shutdown_asyncgens())


async def _done(tasks: set[asyncio.Task[Any]]) -> None:
    done, unfinished = await asyncio.wait(tasks, timeout=CLEANUP_S_MAX)
    for task in done:
        if not task.cancelled():
            task.exception()  # nobody is left to hear of it
    for task in unfinished:
        task.cancel()
