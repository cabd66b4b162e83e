"""Sessions on a real ZooKeeper when connections break, servers die, and time runs out."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from moldau.base.errors import ConfigError
from moldau.cluster.errors import ConnectionLoss, NotAuthorized, SessionExpired, StoreUnavailable
from moldau.cluster.store import (
    OPEN_ACL,
    Check,
    Create,
    CreateMode,
    EventType,
    SessionState,
    SetData,
    WatchEvent,
)
from moldau.cluster.zookeeper.ensemble import Ensemble
from moldau.cluster.zookeeper.options import ZooKeeperOptions
from moldau.cluster.zookeeper.session import ZooKeeperSession
from moldau.cluster.zookeeper.store import ZooKeeperStore
from tests.cut_proxy import CutProxy
from tests.unit.cluster.store_under_contract import Heard
from tests.zookeeper_process import zookeeper

pytestmark = [pytest.mark.java, pytest.mark.slow]

SESSION_MS = 6_000
SERVERS = ("127.0.0.1:1",)


def _run(scenario: Callable[[], Awaitable[None]]) -> None:
    async def main() -> None:
        async with asyncio.timeout(60):
            await scenario()

    asyncio.run(main())


async def _open(
    connect: str, options: ZooKeeperOptions | None = None, timeout_ms: int = SESSION_MS
) -> ZooKeeperSession:
    return await ZooKeeperStore(Ensemble.parse(connect), options or ZooKeeperOptions()).open_session(timeout_ms)


def _states(session: ZooKeeperSession) -> list[SessionState]:
    states: list[SessionState] = []
    session.add_listener(states.append)
    return states


async def _until(condition: Callable[[], bool]) -> None:
    while not condition():  # noqa: ASYNC110  # what is waited for has no event
        await asyncio.sleep(0.02)


def test_a_session_outlives_its_connection_with_its_watches_and_what_was_asked() -> None:
    async def scenario() -> None:
        with zookeeper() as ensemble, CutProxy(ensemble.ports[0]) as proxy:
            cut_off = await _open(f"{proxy.address}/kafka")
            other = await _open(f"{ensemble.connect}/kafka")
            states = _states(cut_off)
            await cut_off.create("/broker", b"1", CreateMode.EPHEMERAL)
            await cut_off.create("/topic", b"0")
            heard = {path: Heard() for path in ("/topic", "/later", "/", "/broker", "/quiet", "/never")}
            await other.create("/quiet")
            await cut_off.get("/topic", heard["/topic"])
            await cut_off.exists("/later", heard["/later"])
            await cut_off.children("/", heard["/"])
            await cut_off.get("/broker", heard["/broker"])
            await cut_off.get("/quiet", heard["/quiet"])
            await cut_off.exists("/never", heard["/never"])
            proxy.cut()
            await _until(lambda: SessionState.SUSPENDED in states)
            await other.set("/topic", b"1")
            await other.create("/later")
            read, write = asyncio.ensure_future(cut_off.get("/topic")), asyncio.ensure_future(cut_off.create("/mine"))
            await asyncio.sleep(0.3)
            assert not read.done()
            assert not write.done()
            proxy.mend()
            assert (await read).data == b"1"
            assert await write == "/mine"
            # What was missed was told, and before the answers; what nobody changed is still watched.
            assert heard["/topic"].events == [WatchEvent(EventType.DATA_CHANGED, "/topic")]
            assert heard["/later"].events == [WatchEvent(EventType.CREATED, "/later")]
            assert heard["/"].events == [WatchEvent(EventType.CHILDREN_CHANGED, "/")]
            assert heard["/broker"].events == heard["/quiet"].events == heard["/never"].events == []
            await other.set("/quiet", b"")
            await other.create("/never")
            assert await heard["/quiet"].wait() == [WatchEvent(EventType.DATA_CHANGED, "/quiet")]
            assert await heard["/never"].wait() == [WatchEvent(EventType.CREATED, "/never")]
            assert states == [SessionState.SUSPENDED, SessionState.CONNECTED]
            assert (await other.get("/broker")).stat.ephemeral_owner == cut_off.session_id
            await cut_off.close()
            await other.close()

    _run(scenario)


def test_writes_whose_answers_are_lost_are_found_to_have_been_made() -> None:
    async def scenario() -> None:
        with zookeeper() as ensemble, CutProxy(ensemble.ports[0]) as proxy:
            session = await _open(proxy.address)
            await session.create("/old", b"")
            await session.create("/set", b"")
            await session.create("/epoch", b"")
            await session.create("/foreign", b"theirs")
            for attempt in (
                lambda: session.create("/ephemeral", b"1", CreateMode.EPHEMERAL),
                lambda: session.create("/persistent", b"2"),
                lambda: session.set("/set", b"3", 0),
                lambda: session.delete("/old", 0),
            ):
                await _with_lost_answer(proxy, attempt())
            with pytest.raises(ConnectionLoss, match="NodeExists"):
                await _with_lost_answer(proxy, session.multi([Check("/epoch", 0), Create("/multi")]))
            assert (await session.get("/ephemeral")).stat.ephemeral_owner == session.session_id
            assert (await session.get("/set")).stat.version == 1
            assert await session.children("/") == [
                *("ephemeral", "epoch", "foreign", "multi", "persistent", "set", "zookeeper")
            ]
            # A write that did not arrive is made by the second attempt, and only then.
            await _with_lost_request(proxy, session.multi([SetData("/epoch", b"1", 0)]))
            assert (await session.get("/epoch")).stat.version == 1
            await session.close()

    _run(scenario)


async def _with_lost_answer(proxy: CutProxy, request: Awaitable[object]) -> None:
    proxy.hold_answers()
    task = asyncio.ensure_future(request)
    await asyncio.sleep(0.2)
    assert not task.done()
    proxy.cut()
    proxy.mend()
    await task


async def _with_lost_request(proxy: CutProxy, request: Awaitable[object]) -> None:
    proxy.hold_requests()
    task = asyncio.ensure_future(request)
    await asyncio.sleep(0.2)
    proxy.cut()
    proxy.mend()
    await task


def test_a_session_that_is_cut_off_for_too_long_expires_and_does_nothing_more() -> None:
    async def scenario() -> None:
        with zookeeper() as ensemble, CutProxy(ensemble.ports[0]) as proxy:
            session, other = await _open(proxy.address, timeout_ms=1_000), await _open(ensemble.connect)
            states = _states(session)
            await session.create("/controller", b"1", CreateMode.EPHEMERAL)
            gone = Heard()
            await other.get("/controller", gone)
            proxy.cut()
            with pytest.raises((ConnectionLoss, SessionExpired)):
                await session.create("/late")
            assert await gone.wait() == [WatchEvent(EventType.DELETED, "/controller")]
            proxy.mend()
            await _until(lambda: session.state.is_over)
            assert states == [SessionState.SUSPENDED, SessionState.EXPIRED]
            with pytest.raises(SessionExpired):
                await session.get("/")
            await asyncio.sleep(0.3)
            assert await other.exists("/late") is None, "asked of a session that is over"
            await other.close()

    _run(scenario)


def test_three_servers_go_on_without_one_and_come_back_after_all_were_killed() -> None:
    async def scenario() -> None:
        with zookeeper(nodes=3) as ensemble:
            session = await _open(f"{ensemble.connect}/kafka", timeout_ms=20_000)
            states = _states(session)
            await session.create("/broker", b"1", CreateMode.EPHEMERAL)
            leader = ensemble.leader()
            await asyncio.to_thread(ensemble.kill, leader)
            await session.create("/without-the-leader")
            await asyncio.to_thread(ensemble.start, leader)
            heard = Heard()
            await session.get("/broker", heard)
            await asyncio.to_thread(ensemble.kill, 0, 1, 2)
            await _until(lambda: session.state is SessionState.SUSPENDED)
            waiting = asyncio.ensure_future(session.create("/while-all-are-down"))
            await asyncio.to_thread(ensemble.start, 0, 1, 2)
            await waiting
            assert (await session.get("/broker")).stat.ephemeral_owner == session.session_id
            assert await session.children("/") == ["broker", "while-all-are-down", "without-the-leader"]
            assert SessionState.EXPIRED not in states
            await session.set("/broker", b"2")
            assert await heard.wait() == [WatchEvent(EventType.DATA_CHANGED, "/broker")]
            await session.close()

    _run(scenario)


def test_nobody_at_the_address_is_one_clear_line() -> None:
    async def scenario() -> None:
        with pytest.raises(StoreUnavailable, match=r"no ZooKeeper answers at 127.0.0.1:1 within 300 ms: is it running"):
            await _open("127.0.0.1:1/kafka", ZooKeeperOptions(connection_timeout_ms=300))

    _run(scenario)


def test_protected_znodes_are_for_whoever_has_the_credentials() -> None:
    async def scenario() -> None:
        with zookeeper() as ensemble:
            secured = ZooKeeperOptions(digest_credentials=("kafka:secret",), set_acl=True)
            broker, world = await _open(ensemble.connect, secured), await _open(ensemble.connect)
            for path in ("/brokers", "/config", "/config/users", "/consumers"):
                await broker.create(path)
            await broker.multi([Create("/brokers/topics", b"1")])
            await broker.create("/open", b"", acl=(*OPEN_ACL,))
            for path in ("/brokers", "/brokers/topics"):
                assert await world.exists(path) is not None
                await world.get(path)
                with pytest.raises(NotAuthorized):
                    await world.set(path, b"2")
            with pytest.raises(NotAuthorized):
                await world.get("/config/users")
            await world.create("/consumers/old-group")
            other_broker = await _open(ensemble.connect, secured)
            await other_broker.set("/config/users", b"{}")
            with pytest.raises(NotAuthorized):
                await (await _open(ensemble.connect, ZooKeeperOptions(set_acl=True))).create("/without-credentials")
            for session in (broker, world, other_broker):
                await session.close()

    _run(scenario)


def test_addresses_are_read_as_kafka_reads_them() -> None:
    assert Ensemble.parse("zk1:2181,zk2/kafka/a") == Ensemble(("zk1:2181", "zk2:2181"), "/kafka/a")
    assert Ensemble.parse(" [::1]:3, h:4/ ") == Ensemble(("[::1]:3", "h:4"), "")
    assert (Ensemble(SERVERS).inside("/"), Ensemble(SERVERS, "/k").inside("/")) == ("/", "/k")
    assert (Ensemble(SERVERS).outside("/a"), Ensemble(SERVERS, "/k").outside("/k")) == ("/a", "/")
    for wrong in ("", "/kafka", "a:b", "a:70000", "a:1//x", "http://a:1"):
        with pytest.raises(ConfigError, match=r"zookeeper\.connect"):
            Ensemble.parse(wrong)
