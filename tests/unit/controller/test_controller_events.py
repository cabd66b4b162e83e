"""The event queue: strict order, one at a time, bounded."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError
from moldau.base.supervision import Supervisor
from moldau.cluster.errors import NoNode
from moldau.controller import events
from moldau.controller.events import EventQueue

Scenario = Callable[[EventQueue, list[object]], Awaitable[None]]


def run(scenario: Scenario, *, start: bool = True) -> list[object]:
    """What was noted, in order; failures are noted with the names of their events."""
    noted: list[object] = []

    async def main() -> None:
        async def failed(name: str, error: Exception) -> None:
            noted.append((name, type(error)))

        supervisor = Supervisor(lambda _name, failure: noted.append(failure))
        queue = EventQueue(supervisor, failed)
        if start:
            queue.start()
        await scenario(queue, noted)
        await queue.stop()
        await supervisor.stop(1_000)

    asyncio.run(main())
    return noted


def work(noted: list[object], name: str) -> Callable[[], Awaitable[None]]:
    async def note() -> None:
        noted.append(f"{name} begins")
        await asyncio.sleep(0)
        noted.append(f"{name} ends")

    return note


def test_events_are_carried_out_one_after_the_other_in_their_order() -> None:
    async def scenario(queue: EventQueue, noted: list[object]) -> None:
        queue.put("a", work(noted, "a"))
        queue.put("b", work(noted, "b"))
        await queue.call("c", work(noted, "c"))

    expected = [f"{name} {what}" for name in "abc" for what in ("begins", "ends")]
    assert run(scenario) == expected


def test_an_event_that_waits_is_not_queued_again_but_one_that_runs_is() -> None:
    async def scenario(queue: EventQueue, noted: list[object]) -> None:
        async def again() -> None:
            noted.append("first")
            queue.put_once("a", work(noted, "second"))
            queue.put_once("a", work(noted, "third"))

        queue.put_once("a", again)
        queue.put_once("a", work(noted, "never"))
        assert len(queue) == 1
        await asyncio.sleep(0.01)

    assert run(scenario) == ["first", "second begins", "second ends"]


def test_a_call_gets_its_result_or_its_own_error_and_other_failures_are_reported() -> None:
    async def scenario(queue: EventQueue, noted: list[object]) -> None:
        async def answer() -> int:
            return 42

        async def refuse() -> None:
            raise ApiError(ErrorCode.INVALID_REQUEST, "no")

        async def lose() -> None:
            raise NoNode("/controller")

        async def defect() -> None:
            raise ZeroDivisionError

        assert await queue.call("answer", answer) == 42
        with pytest.raises(ApiError, match="INVALID_REQUEST"):
            await queue.call("refuse", refuse)
        with pytest.raises(NoNode):
            await queue.call("lose", lose)
        with pytest.raises(ZeroDivisionError):
            await queue.call("defect", defect)
        queue.put("defect too", defect)
        assert await queue.call("answer", answer) == 42

    assert run(scenario) == [("lose", NoNode), ("defect", ZeroDivisionError), ("defect too", ZeroDivisionError)]


def test_a_call_whose_caller_went_away_is_left_out() -> None:
    async def scenario(queue: EventQueue, noted: list[object]) -> None:
        queue.put("slow", lambda: asyncio.sleep(0.05))
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await queue.call("given up", work(noted, "given up"))
        await queue.call("next", work(noted, "next"))

    assert run(scenario) == ["next begins", "next ends"]


def test_stopping_tells_those_who_wait_and_refuses_those_who_come() -> None:
    async def scenario(queue: EventQueue, noted: list[object]) -> None:
        queue.put("long", lambda: asyncio.sleep(60))
        waiting = asyncio.create_task(queue.call("waits", work(noted, "never")))
        await asyncio.sleep(0.01)
        await queue.stop()
        with pytest.raises(ApiError, match="NOT_CONTROLLER"):
            await waiting
        with pytest.raises(ApiError, match="NOT_CONTROLLER"):
            await queue.call("late", work(noted, "never"))

    assert run(scenario) == []


def test_too_many_calls_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "CALLS_MAX", 1)

    async def scenario(queue: EventQueue, noted: list[object]) -> None:
        first = asyncio.create_task(queue.call("first", work(noted, "first")))
        await asyncio.sleep(0)
        with pytest.raises(ApiError, match="REQUEST_TIMED_OUT"):
            await queue.call("second", work(noted, "second"))
        await first

    assert run(scenario) == ["first begins", "first ends"]
