"""Supervision: failures are seen and answered, cancellation passes through, stopping is bounded."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from itertools import pairwise

import pytest

from moldau.base.supervision import RESTART_BACKOFF_MAX_MS, OnFailure, Supervisor
from tests.unit.base.virtual_loop import run_virtually

Fatal = list[tuple[str, BaseException]]


def supervisor_and_fatal() -> tuple[Supervisor, Fatal]:
    fatal: Fatal = []
    return Supervisor(lambda name, failure: fatal.append((name, failure))), fatal


def now() -> float:
    return round(asyncio.get_running_loop().time(), 6)


async def forever() -> None:
    await asyncio.Event().wait()


async def fail() -> None:
    raise ValueError("spilt milk")


async def await_what_another_cancelled() -> None:
    future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    future.cancel()
    await future


def test_a_task_that_returns_is_forgotten() -> None:
    async def scenario() -> None:
        supervisor, fatal = supervisor_and_fatal()
        task = supervisor.start("loader", lambda: asyncio.sleep(1))
        assert supervisor.running == ["loader"]
        await task
        await asyncio.sleep(0)
        assert (supervisor.running, fatal) == ([], [])

    run_virtually(scenario())


@pytest.mark.parametrize("work", [fail, await_what_another_cancelled])
def test_every_failure_is_logged_with_name_and_traceback(
    work: Callable[[], Awaitable[None]], caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario() -> None:
        supervisor, fatal = supervisor_and_fatal()
        supervisor.start("log-flusher", work, OnFailure.LOG)
        await asyncio.sleep(1)
        assert (supervisor.running, fatal) == ([], [])

    run_virtually(scenario())
    (record,) = caplog.records
    assert record.levelno == logging.ERROR
    assert record.getMessage() == "task log-flusher failed"
    assert work.__name__ in caplog.text


def test_a_fatal_failure_is_handed_on_at_once() -> None:
    async def scenario() -> None:
        supervisor, fatal = supervisor_and_fatal()
        supervisor.start("controller", fail)
        supervisor.start("replica-fetcher", await_what_another_cancelled)
        await asyncio.sleep(0.001)
        assert [(name, type(failure)) for name, failure in fatal] == [
            ("controller", ValueError),
            ("replica-fetcher", asyncio.CancelledError),
        ]
        assert supervisor.running == []

    run_virtually(scenario())


def test_a_failure_of_the_fatal_callback_is_seen_too(caplog: pytest.LogCaptureFixture) -> None:
    def broken(name: str, failure: BaseException) -> None:
        raise RuntimeError("cannot stop")

    async def scenario() -> None:
        supervisor = Supervisor(broken)
        supervisor.start("controller", fail)
        await asyncio.sleep(1)

    run_virtually(scenario())
    assert [record.levelno for record in caplog.records] == [logging.ERROR, logging.CRITICAL]
    assert "cannot stop" in caplog.text


def test_restarts_back_off_exponentially_up_to_a_limit() -> None:
    async def scenario() -> None:
        supervisor, fatal = supervisor_and_fatal()
        starts = list[float]()

        async def work() -> None:
            starts.append(now())
            raise ValueError

        supervisor.start("cleaner", work, OnFailure.RESTART)
        await asyncio.sleep(130)
        pauses = [round(after - before, 3) for before, after in pairwise(starts)]
        assert pauses == [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30.0, 30.0]
        assert (supervisor.running, fatal) == (["cleaner"], [])
        assert await supervisor.stop(1000) == []

    run_virtually(scenario())


def test_a_failure_after_a_long_healthy_run_is_a_first_one() -> None:
    async def scenario() -> None:
        supervisor, _ = supervisor_and_fatal()
        starts = list[float]()

        async def work() -> None:
            starts.append(now())
            if len(starts) % 3 == 0:
                await asyncio.sleep(RESTART_BACKOFF_MAX_MS / 1000)
            raise ValueError

        supervisor.start("cleaner", work, OnFailure.RESTART)
        await asyncio.sleep(31)
        assert starts == [0, 0.1, 0.3, 30.4, 30.6]
        await supervisor.stop(1000)

    run_virtually(scenario())


@pytest.mark.parametrize("policy", OnFailure)
def test_cancellation_is_no_failure(policy: OnFailure, caplog: pytest.LogCaptureFixture) -> None:
    async def scenario() -> None:
        supervisor, fatal = supervisor_and_fatal()
        task = supervisor.start("fetcher", forever, policy)
        await asyncio.sleep(1)
        assert await supervisor.cancel([task], 1000) == []
        assert task.cancelled()
        assert (supervisor.running, fatal) == ([], [])

    run_virtually(scenario())
    assert caplog.records == []


@pytest.mark.parametrize("policy", OnFailure)
def test_a_cleanup_that_fails_is_logged_and_not_restarted(policy: OnFailure, caplog: pytest.LogCaptureFixture) -> None:
    async def work() -> None:
        try:
            await forever()
        finally:
            raise ValueError("disk full")

    async def scenario() -> None:
        supervisor, fatal = supervisor_and_fatal()
        task = supervisor.start("checkpoint", work, policy)
        await asyncio.sleep(1)
        assert await supervisor.cancel([task], 1000) == []
        assert (supervisor.running, fatal) == ([], [])

    run_virtually(scenario())
    assert "disk full" in caplog.text


def test_a_task_in_its_pause_can_be_stopped() -> None:
    async def scenario() -> None:
        supervisor, _ = supervisor_and_fatal()
        supervisor.start("cleaner", fail, OnFailure.RESTART)
        await asyncio.sleep(0.05)
        assert await supervisor.stop(1000) == []
        assert now() == 0.05

    run_virtually(scenario())


def test_stop_waits_no_longer_than_told_and_names_what_still_runs(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario() -> None:
        supervisor, _ = supervisor_and_fatal()
        release = asyncio.Event()

        async def stubborn() -> None:
            while not release.is_set():
                try:
                    await release.wait()
                except asyncio.CancelledError:
                    continue

        async def slow() -> None:
            try:
                await forever()
            finally:
                await asyncio.sleep(2)

        supervisor.start("stubborn", stubborn)
        supervisor.start("slow", slow)
        supervisor.start("prompt", forever)
        await asyncio.sleep(1)
        assert await supervisor.stop(5000) == ["stubborn"]
        assert now() == 6
        release.set()
        await asyncio.sleep(0.001)
        assert supervisor.running == []

    run_virtually(scenario())
    assert [record.getMessage() for record in caplog.records] == [
        "still running 5000 ms after being cancelled: stubborn"
    ]


def test_stop_ends_as_soon_as_the_tasks_have() -> None:
    async def scenario() -> None:
        supervisor, _ = supervisor_and_fatal()
        for number in range(10):
            supervisor.start(f"fetcher-{number}", forever)
        assert await supervisor.stop(30_000) == []
        assert (now(), supervisor.running) == (0, [])

    run_virtually(scenario())


def test_what_is_started_while_stopping_does_not_begin() -> None:
    async def scenario() -> None:
        supervisor, _ = supervisor_and_fatal()
        begun = list[str]()

        async def late() -> None:
            begun.append("late")

        async def work() -> None:
            try:
                await forever()
            finally:
                supervisor.start("late", late)

        supervisor.start("early", work)
        await asyncio.sleep(1)
        assert await supervisor.stop(1000) == []
        assert (begun, supervisor.running) == ([], [])

    run_virtually(scenario())


def test_failures_while_stopping_are_not_fatal() -> None:
    async def scenario() -> None:
        supervisor, fatal = supervisor_and_fatal()

        async def work() -> None:
            try:
                await forever()
            except asyncio.CancelledError:
                raise ValueError from None

        supervisor.start("controller", work)
        await asyncio.sleep(1)
        assert await supervisor.stop(1000) == []
        assert fatal == []

    run_virtually(scenario())


def test_a_supervised_task_may_stop_its_own_supervisor() -> None:
    async def scenario() -> None:
        supervisor, fatal = supervisor_and_fatal()
        outcome = list[list[str]]()

        async def shutdown() -> None:
            outcome.append(await supervisor.stop(1000))
            raise ValueError("too late to be fatal")

        supervisor.start("fetcher", forever)
        await supervisor.start("shutdown", shutdown)
        assert (outcome, fatal) == ([[]], [])

    run_virtually(scenario())


def test_a_periodic_job_runs_after_each_interval() -> None:
    async def scenario() -> None:
        supervisor, _ = supervisor_and_fatal()
        plain, awaited = list[float](), list[float]()

        async def slow_job() -> None:
            awaited.append(now())
            await asyncio.sleep(0.2)

        supervisor.every(1000, "plain", lambda: plain.append(now()))
        supervisor.every(500, "awaited", slow_job)
        await asyncio.sleep(3.1)
        assert plain == [1, 2, 3]
        assert awaited == [0.5, 1, 1.5, 2, 2.5, 3]
        assert await supervisor.stop(1000) == []

    run_virtually(scenario())


def test_a_periodic_job_that_takes_too_long_neither_overlaps_nor_catches_up() -> None:
    async def scenario() -> None:
        supervisor, _ = supervisor_and_fatal()
        runs = list[float]()

        async def job() -> None:
            runs.append(now())
            await asyncio.sleep(3.5 if len(runs) == 1 else 0)

        supervisor.every(1000, "retention", job)
        await asyncio.sleep(7)
        assert runs == [1, 4.5, 5.5, 6.5]
        await supervisor.stop(1000)

    run_virtually(scenario())


def test_a_failing_periodic_job_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario() -> None:
        supervisor, fatal = supervisor_and_fatal()
        runs = list[float]()

        def job() -> None:
            runs.append(now())
            if len(runs) <= 2:
                raise ValueError("spilt milk")

        supervisor.every(1000, "retention", job)
        await asyncio.sleep(5.5)
        assert runs == [1, 2.1, 3.3, 4.3, 5.3]
        assert fatal == []
        await supervisor.stop(1000)

    run_virtually(scenario())
    assert [record.getMessage() for record in caplog.records] == ["task retention failed"] * 2
