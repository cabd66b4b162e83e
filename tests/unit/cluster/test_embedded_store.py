"""What only the embedded store promises: durability before answers, faults, one process, simulated time."""

from __future__ import annotations

import asyncio
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from moldau.base.clock import SystemClock, VirtualClock
from moldau.cluster.embedded import EmbeddedStore
from moldau.cluster.errors import ConnectionLoss, SessionExpired, StoreUnavailable
from moldau.cluster.persistence import MemoryPersistence
from moldau.cluster.sqlite import SqlitePersistence
from moldau.cluster.store import CreateMode, EventType, SessionState, WatchEvent
from moldau.cluster.tree import Changes
from moldau.testing.simulation.network import SimulatedNetwork
from moldau.testing.simulation.run import simulate
from tests.unit.cluster.store_under_contract import Heard


class HeldPersistence(MemoryPersistence):
    """Commits when told to."""

    def __init__(self) -> None:
        super().__init__()
        self.held: list[asyncio.Future[None]] = []

    def commit(self, last_zxid: int, changes: Changes) -> asyncio.Future[None]:
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.held.append(done)
        return done


async def _turns(count: int = 5) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


def test_nothing_is_seen_or_answered_before_it_is_durable_and_waiting_writes_share_a_commit() -> None:
    async def main() -> None:
        persistence = HeldPersistence()
        store = await EmbeddedStore.open(persistence, VirtualClock())
        writer, reader = await store.open_session(6000), await store.open_session(6000)
        first = asyncio.ensure_future(writer.create("/a"))
        await _turns()
        rest = asyncio.gather(*(writer.create(f"/a/{number}") for number in range(10)))
        await _turns()
        assert await reader.exists("/a") is None
        assert not first.done()
        assert len(persistence.held) == 1
        persistence.held[0].set_result(None)
        await first
        assert await reader.children("/a") == []
        await _turns()
        assert len(persistence.held) == 2
        persistence.held[1].set_result(None)
        await rest
        assert len(await reader.children("/a")) == 10

    asyncio.run(main())


def test_a_disk_that_fails_ends_the_store(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        persistence = HeldPersistence()
        store = await EmbeddedStore.open(persistence, VirtualClock())
        session = await store.open_session(6000)
        writes = asyncio.gather(session.create("/a"), session.create("/b"), return_exceptions=True)
        await _turns()
        late = asyncio.ensure_future(session.create("/c"))
        closing = asyncio.ensure_future(store.expire((await store.open_session(6000)).session_id))
        await _turns()
        persistence.held[0].set_exception(sqlite3.OperationalError("disk I/O error"))
        assert [type(outcome) for outcome in await writes] == [ConnectionLoss, ConnectionLoss]
        with pytest.raises(ConnectionLoss):
            await late
        with pytest.raises(StoreUnavailable):
            await closing
        assert session.state is SessionState.EXPIRED
        with pytest.raises(SessionExpired):
            await session.get("/")
        with pytest.raises(StoreUnavailable, match="disk I/O error"):
            await store.open_session(6000)
        await store.close()

    asyncio.run(main())
    assert "cannot write any more" in caplog.text


def test_a_suspended_session_hears_everything_when_it_is_connected_again() -> None:
    async def main() -> None:
        store = await EmbeddedStore.open(MemoryPersistence(), VirtualClock())
        broker, other = await store.open_session(6000), await store.open_session(6000)
        log: list[object] = []
        broker.add_listener(log.append)
        heard = Heard(log)
        await broker.create("/e", None, CreateMode.EPHEMERAL)
        await broker.exists("/a", heard)
        unanswered = asyncio.ensure_future(broker.create("/unknown"))
        await asyncio.sleep(0)
        broker.suspend()
        with pytest.raises(ConnectionLoss):
            await unanswered
        with pytest.raises(ConnectionLoss):
            await broker.get("/")
        await other.create("/a")
        assert await other.exists("/e") is not None
        assert await other.exists("/unknown") is not None
        broker.resume()
        await heard.wait()
        assert log == [SessionState.SUSPENDED, SessionState.CONNECTED, WatchEvent(EventType.CREATED, "/a")]
        assert await broker.children("/") == ["a", "e", "unknown"]

    asyncio.run(main())


def test_a_session_that_expires_while_suspended_learns_only_that() -> None:
    async def main() -> None:
        store = await EmbeddedStore.open(MemoryPersistence(), VirtualClock())
        broker, other = await store.open_session(6000), await store.open_session(6000)
        log: list[object] = []
        broker.add_listener(log.append)
        await broker.create("/e", None, CreateMode.EPHEMERAL)
        await broker.exists("/a", Heard(log))
        broker.suspend()
        await other.create("/a")
        await store.expire(broker.session_id)
        assert await other.exists("/e") is None
        with pytest.raises(ConnectionLoss):
            await broker.get("/")
        broker.resume()
        await _turns()
        assert log == [SessionState.SUSPENDED, SessionState.EXPIRED]
        with pytest.raises(SessionExpired):
            await broker.get("/")

    asyncio.run(main())


def test_a_failing_watcher_is_reported_and_the_next_is_told() -> None:
    async def main() -> None:
        reported: list[object] = []
        asyncio.get_running_loop().set_exception_handler(lambda _loop, context: reported.append(context["exception"]))
        store = await EmbeddedStore.open(MemoryPersistence(), VirtualClock())
        session = await store.open_session(6000)
        failure = ValueError("broken watcher")

        def fail(_event: WatchEvent) -> None:
            raise failure

        heard = Heard()
        await session.exists("/a", fail)
        await session.exists("/a", heard)
        await session.create("/a")
        await heard.wait()
        assert reported == [failure]

    asyncio.run(main())


def test_a_cancelled_caller_does_not_stop_the_others() -> None:
    async def main() -> None:
        store = await EmbeddedStore.open(MemoryPersistence(), VirtualClock())
        session = await store.open_session(6000)
        cancelled = asyncio.ensure_future(session.create("/a"))
        await asyncio.sleep(0)
        cancelled.cancel()
        await session.create("/b")
        assert await session.children("/") == ["a", "b"]

    asyncio.run(main())


def test_ephemerals_of_a_process_that_died_are_gone_at_the_next_start() -> None:
    async def main() -> None:
        persistence = MemoryPersistence()
        dead = await EmbeddedStore.open(persistence, VirtualClock())
        old = await dead.open_session(6000)
        await old.create("/e", None, CreateMode.EPHEMERAL)
        await old.create("/p")
        store = await EmbeddedStore.open(persistence, VirtualClock())
        session = await store.open_session(6000)
        assert await session.children("/") == ["p"]
        assert session.session_id != old.session_id

    asyncio.run(main())


def test_a_database_of_another_process_or_format_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "coordination.db"

    async def main() -> None:
        store = await EmbeddedStore.open(SqlitePersistence(path), SystemClock())
        script = (
            "import sqlite3, sys; c = sqlite3.connect(sys.argv[1], timeout=0.1)\n"
            "try: c.execute('SELECT * FROM znode')\nexcept sqlite3.OperationalError as e: sys.exit(str(e))"
        )
        other = await asyncio.to_thread(
            subprocess.run, [sys.executable, "-c", script, str(path)], capture_output=True, text=True, check=False
        )
        assert "locked" in other.stderr
        with pytest.raises(StoreUnavailable, match="in use"):
            await EmbeddedStore.open(SqlitePersistence(path), SystemClock())
        await store.close()
        connection = sqlite3.connect(path)
        connection.execute("PRAGMA user_version = 99")
        connection.close()
        with pytest.raises(StoreUnavailable, match="format 99"):
            await EmbeddedStore.open(SqlitePersistence(path), SystemClock())
        path.write_bytes(b"this is no database" * 100)
        with pytest.raises(StoreUnavailable, match="cannot read"):
            await EmbeddedStore.open(SqlitePersistence(path), SystemClock())

    asyncio.run(main())


def _history(seed: int) -> list[object]:
    log: list[object] = []

    async def main(_network: SimulatedNetwork) -> None:
        store = await EmbeddedStore.open(MemoryPersistence(), VirtualClock())
        sessions = [await store.open_session(6000) for _ in range(3)]

        async def work(number: int) -> None:
            for step in range(10):
                await asyncio.sleep(0.001 * ((number * 7 + step) % 3))
                log.append(await sessions[number].create("/n", None, CreateMode.EPHEMERAL_SEQUENTIAL))

        await sessions[0].children("/", log.append)
        await asyncio.gather(*(work(number) for number in range(3)))
        await store.expire(sessions[0].session_id)
        log.append(await sessions[1].children("/"))

    simulate(main, seed, shuffled=True)
    return log


def test_a_simulation_repeats() -> None:
    histories = [_history(seed) for seed in range(5)]
    assert histories == [_history(seed) for seed in range(5)]
    assert all(len(history[-1]) == 20 for history in histories)  # type: ignore[arg-type]  # the list of children


def test_a_paused_or_dead_broker_does_not_hold_up_the_others() -> None:
    async def main(network: SimulatedNetwork) -> None:
        store = await EmbeddedStore.open(MemoryPersistence(), VirtualClock())
        log: list[object] = []

        async def broker() -> None:
            session = await store.open_session(6000)
            await session.exists("/a", log.append)
            await session.create("/broker", None, CreateMode.EPHEMERAL)
            log.append("registered")
            await session.create("/last")
            log.append("never")

        task = network.host("paused").run(broker())
        while "registered" not in log:  # noqa: ASYNC110  # it is paused in the turn in which it asks
            await asyncio.sleep(0)
        network.pause("paused")
        other = await store.open_session(6000)
        await other.create("/a")
        assert await other.children("/") == ["a", "broker", "last"]
        assert log == ["registered"]
        owner = (await other.get("/broker")).stat.ephemeral_owner
        network.crash("paused")
        await store.expire(owner)
        assert await other.children("/") == ["a", "last"]
        assert log == ["registered"]
        assert not task.done()

    for seed in range(10):
        simulate(main, seed)
