"""Contract of the coordination store: watches are told once, in order, and never behind the answers they belong to."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from moldau.cluster.errors import NoNode
from moldau.cluster.store import Create, CreateMode, Delete, EventType, SetData, WatchEvent
from tests.unit.cluster.store_under_contract import Heard, Scenario, StoreUnderContract

Contract = Callable[[Scenario], None]

# Of a race: on a busy machine it may take long until both outcomes were seen.
ROUNDS, ROUNDS_MAX = 30, 1_000


def test_a_watch_is_told_of_one_change_only(contract: Contract) -> None:
    async def scenario(store: StoreUnderContract) -> None:
        reader, writer = await store.session(), await store.session()
        await writer.create("/a")
        data = Heard()
        await reader.get("/a", data)
        await writer.set("/a", b"1")
        await writer.set("/a", b"2")
        assert await data.wait() == [WatchEvent(EventType.DATA_CHANGED, "/a")]
        marker = Heard()
        await reader.get("/a", marker)
        await writer.delete("/a")
        assert await marker.wait() == [WatchEvent(EventType.DELETED, "/a")]
        assert len(data.events) == 1

    contract(scenario)


def test_exists_watches_a_path_before_there_is_a_znode(contract: Contract) -> None:
    async def scenario(store: StoreUnderContract) -> None:
        reader, writer = await store.session(), await store.session()
        heard, refused = Heard(), Heard()
        assert await reader.exists("/a", heard) is None
        with pytest.raises(NoNode):
            await reader.get("/a", refused)
        with pytest.raises(NoNode):
            await reader.children("/a", refused)
        await writer.create("/a")
        assert await heard.wait() == [WatchEvent(EventType.CREATED, "/a")]
        assert refused.events == []

    contract(scenario)


def test_children_are_watched_but_not_their_data(contract: Contract) -> None:
    async def scenario(store: StoreUnderContract) -> None:
        reader, writer = await store.session(), await store.session()
        await writer.create("/a")
        await writer.create("/a/b")
        children, data = Heard(), Heard()
        assert await reader.children("/a", children) == ["b"]
        await reader.get("/a", data)
        await writer.set("/a/b", b"1")
        await writer.create("/a/b/c")
        await writer.set("/a", b"1")
        assert await data.wait() == [WatchEvent(EventType.DATA_CHANGED, "/a")]
        assert children.events == []
        await writer.delete("/a/b/c")
        await writer.delete("/a/b")
        assert await children.wait() == [WatchEvent(EventType.CHILDREN_CHANGED, "/a")]

    contract(scenario)


def test_a_deletion_tells_a_callback_in_both_tables_once(contract: Contract) -> None:
    async def scenario(store: StoreUnderContract) -> None:
        reader, writer = await store.session(), await store.session()
        await writer.create("/a")
        heard, parent = Heard(), Heard()
        await reader.get("/a", heard)
        await reader.get("/a", heard)
        await reader.children("/a", heard)
        await reader.children("/", parent)
        await writer.delete("/a")
        await parent.wait()
        assert heard.events == [WatchEvent(EventType.DELETED, "/a")]

    contract(scenario)


def test_events_come_in_the_order_of_the_changes(contract: Contract) -> None:
    async def scenario(store: StoreUnderContract) -> None:
        reader, writer = await store.session(), await store.session()
        for path in ("/a", "/b", "/c"):
            await writer.create(path)
        heard = Heard()
        for path in ("/a", "/b", "/c"):
            await reader.exists(path, heard)
        await reader.exists("/d", heard)
        await reader.children("/", heard)
        await asyncio.gather(
            writer.set("/c", b""),
            writer.multi([SetData("/a", b""), Create("/d"), Delete("/b")]),
        )
        assert await heard.wait(5) == [
            WatchEvent(EventType.DATA_CHANGED, "/c"),
            WatchEvent(EventType.DATA_CHANGED, "/a"),
            WatchEvent(EventType.CREATED, "/d"),
            WatchEvent(EventType.CHILDREN_CHANGED, "/"),
            WatchEvent(EventType.DELETED, "/b"),
        ]

    contract(scenario)


def test_an_event_comes_after_the_answer_that_set_the_watch(contract: Contract) -> None:
    async def scenario(store: StoreUnderContract) -> None:
        reader, writer = await store.session(), await store.session()
        await writer.create("/a", b"0")
        watched_in_time = 0

        async def race(round_number: int) -> int:
            log: list[object] = []
            heard = Heard(log)

            async def read() -> None:
                log.append((await reader.get("/a", heard)).data)

            # The read queues behind the reader's own write; who comes first, it or the other's write, is a race.
            last = (await writer.get("/a")).data
            mine = reader.create(f"/mine{round_number}")
            await asyncio.gather(mine, read(), writer.set("/a", b"%d" % round_number))
            if log[0] != last:
                return 0
            await heard.wait()
            assert log == [last, WatchEvent(EventType.DATA_CHANGED, "/a")]
            return 1

        for round_number in range(1, ROUNDS_MAX):
            watched_in_time += await race(round_number)
            if round_number >= ROUNDS and watched_in_time:
                return
        pytest.fail(f"in {ROUNDS_MAX} rounds the read never came first")

    contract(scenario)


def test_an_event_comes_before_any_answer_that_shows_the_change(contract: Contract) -> None:
    async def scenario(store: StoreUnderContract) -> None:
        reader, writer = await store.session(), await store.session()
        await writer.create("/a", b"0")
        for round_number in range(1, 30):
            log: list[object] = []
            heard = Heard(log)
            expected = b"%d" % round_number
            await reader.get("/a", heard)
            write = asyncio.ensure_future(writer.set("/a", expected))
            while (await reader.get("/a")).data != expected:  # noqa: ASYNC110  # what a reader sees in every turn
                await asyncio.sleep(0)
            assert heard.events == [WatchEvent(EventType.DATA_CHANGED, "/a")]
            await write
            # A session's own change, too, is heard before it is answered.
            own = Heard()
            await reader.get("/a", own)
            await reader.set("/a", expected)
            assert len(own.events) == 1

    contract(scenario)


def test_a_failed_multi_tells_nobody(contract: Contract) -> None:
    async def scenario(store: StoreUnderContract) -> None:
        session = await store.session()
        await session.create("/a")
        heard = Heard()
        await session.get("/a", heard)
        await session.children("/", heard)
        outcomes = await asyncio.gather(
            session.multi([SetData("/a", b"1"), Create("/b"), Delete("/none")]), return_exceptions=True
        )
        assert isinstance(outcomes[0], Exception)
        assert heard.events == []
        await session.create("/n_", None, CreateMode.PERSISTENT_SEQUENTIAL)
        assert await heard.wait() == [WatchEvent(EventType.CHILDREN_CHANGED, "/")]

    contract(scenario)
