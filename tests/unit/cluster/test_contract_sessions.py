"""Contract of the coordination store: sessions, their ephemerals, and the order of their requests."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from moldau.cluster.errors import SessionExpired
from moldau.cluster.store import Create, CreateMode, EventType, SessionState, WatchEvent
from tests.unit.cluster.store_under_contract import Heard, Scenario, StoreUnderContract

Contract = Callable[[Scenario], None]


def test_ephemerals_go_with_their_session_and_are_heard_of(contract: Contract) -> None:
    async def scenario(store: StoreUnderContract) -> None:
        broker, observer = await store.session(), await store.session()
        assert broker.session_id != observer.session_id
        await observer.create("/ids")
        await broker.create("/ids/1", b"one", CreateMode.EPHEMERAL)
        await observer.create("/ids/2", b"two", CreateMode.EPHEMERAL)
        await broker.multi([Create("/ids/3", None, CreateMode.EPHEMERAL)])
        assert (await observer.get("/ids/1")).stat.ephemeral_owner == broker.session_id
        heard, children = Heard(), Heard()
        await observer.get("/ids/1", heard)
        await observer.children("/ids", children)
        await broker.close()
        assert await heard.wait() == [WatchEvent(EventType.DELETED, "/ids/1")]
        await children.wait()
        assert await observer.children("/ids") == ["2"]
        parent = await observer.exists("/ids")
        assert parent is not None
        assert (parent.cversion, parent.num_children) == (5, 1)

    contract(scenario)


def test_a_session_that_is_over_is_refused(contract: Contract) -> None:
    async def scenario(store: StoreUnderContract) -> None:
        closed = await store.session()
        await closed.close()
        assert closed.state is SessionState.CLOSED
        await closed.close()
        with pytest.raises(SessionExpired):
            await closed.create("/a")
        with pytest.raises(SessionExpired):
            await closed.get("/")

    contract(scenario)


def test_an_expired_session_learns_of_it_and_loses_its_ephemerals(contract: Contract) -> None:
    async def scenario(store: StoreUnderContract) -> None:
        broker, observer = await store.session(), await store.session()
        states: list[SessionState] = []
        over = asyncio.Event()

        def listen(state: SessionState) -> None:
            states.append(state)
            if state.is_over:
                over.set()

        broker.add_listener(listen)
        await broker.create("/controller", b"1", CreateMode.EPHEMERAL)
        heard, of_the_dead = Heard(), Heard()
        await observer.exists("/controller", heard)
        await broker.exists("/later", of_the_dead)
        await store.expire(broker)
        assert await heard.wait() == [WatchEvent(EventType.DELETED, "/controller")]
        async with asyncio.timeout(10):
            await over.wait()
        assert states[-1] is SessionState.EXPIRED is broker.state
        with pytest.raises(SessionExpired):
            await broker.set("/controller", b"2")
        await observer.create("/later")
        await observer.create("/controller", b"2", CreateMode.EPHEMERAL)
        assert of_the_dead.events == []

    contract(scenario)


def test_requests_of_a_session_are_carried_out_in_the_order_of_their_calls(contract: Contract) -> None:
    async def scenario(store: StoreUnderContract) -> None:
        session = await store.session()
        answers: list[int] = []

        async def step(number: int) -> None:
            if number % 3 == 0:
                await session.set("/a", b"%d" % number)
            elif number % 3 == 1:
                assert (await session.get("/a")).data == b"%d" % (number - 1)
            else:
                assert await session.exists("/none") is None
            answers.append(number)

        await session.create("/a")
        await asyncio.gather(*(step(number) for number in range(90)))
        assert answers == list(range(90))

    contract(scenario)


def test_writes_of_many_sessions_have_one_order(contract: Contract) -> None:
    async def scenario(store: StoreUnderContract) -> None:
        sessions = [await store.session() for _ in range(5)]
        await sessions[0].create("/q")
        sequential = CreateMode.PERSISTENT_SEQUENTIAL
        writes = [session.create("/q/n", None, sequential) for session in sessions for _ in range(20)]
        created = await asyncio.gather(*writes)
        assert sorted(created) == [f"/q/n{number:010d}" for number in range(100)]
        stats = [(await sessions[1].get(path)).stat.czxid for path in sorted(created)]
        assert stats == sorted(set(stats))

    contract(scenario)
