"""The implementations of the coordination store that the contract suite runs against.

An implementation joins by a subclass of `StoreUnderContract` and a line in `IMPLEMENTATIONS`. The real ZooKeeper is one
process for all tests, each of which has a chroot of its own.
"""

from __future__ import annotations

import asyncio
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from pathlib import Path
from uuid import uuid4

from kazoo.client import KazooClient

from moldau.base.clock import SystemClock
from moldau.cluster.embedded import EmbeddedStore
from moldau.cluster.persistence import MemoryPersistence, Persistence
from moldau.cluster.sqlite import SqlitePersistence
from moldau.cluster.store import CoordinationSession, WatchEvent
from moldau.cluster.zookeeper.ensemble import Ensemble
from moldau.cluster.zookeeper.options import ZooKeeperOptions
from moldau.cluster.zookeeper.session import ZooKeeperSession
from moldau.cluster.zookeeper.store import ZooKeeperStore
from tests.zookeeper_process import ZooKeeperEnsemble

SESSION_TIMEOUT_MS = 6_000
HEARD_WITHIN_S = 10.0


class Heard:
    """A watcher that remembers what it was told, and lets a test wait for it."""

    def __init__(self, log: list[object] | None = None) -> None:
        self.events: list[WatchEvent] = []
        self._log = log
        self._told = asyncio.Event()

    def __call__(self, event: WatchEvent) -> None:
        self.events.append(event)
        if self._log is not None:
            self._log.append(event)
        self._told.set()

    async def wait(self, count: int = 1) -> list[WatchEvent]:
        async with asyncio.timeout(HEARD_WITHIN_S):
            while len(self.events) < count:
                self._told.clear()
                await self._told.wait()
        return self.events


class StoreUnderContract(ABC):
    @abstractmethod
    async def session(self) -> CoordinationSession: ...

    @abstractmethod
    async def expire(self, session: CoordinationSession) -> None: ...

    @abstractmethod
    async def restart(self) -> None:
        """Stop the store and start it again on what it kept; all sessions end."""

    @abstractmethod
    async def stop(self) -> None: ...


class EmbeddedUnderContract(StoreUnderContract):
    def __init__(self, persistence: Callable[[], Persistence]) -> None:
        self._persistence = persistence
        self._store: EmbeddedStore | None = None

    async def store(self) -> EmbeddedStore:
        if self._store is None:
            self._store = await EmbeddedStore.open(self._persistence(), SystemClock())
        return self._store

    async def session(self) -> CoordinationSession:
        return await (await self.store()).open_session(SESSION_TIMEOUT_MS)

    async def expire(self, session: CoordinationSession) -> None:
        await (await self.store()).expire(session.session_id)

    async def restart(self) -> None:
        await self.stop()

    async def stop(self) -> None:
        if self._store is not None:
            await self._store.close()
            self._store = None


class ZooKeeperUnderContract(StoreUnderContract):
    def __init__(self, ensemble: ZooKeeperEnsemble) -> None:
        self._ensemble = ensemble
        self._address = Ensemble.parse(f"{ensemble.connect}/{uuid4()}/kafka")
        self._store: ZooKeeperStore | None = None

    async def session(self) -> CoordinationSession:
        if self._store is None:
            self._store = ZooKeeperStore(self._address, ZooKeeperOptions())
        return await self._store.open_session(SESSION_TIMEOUT_MS)

    async def expire(self, session: CoordinationSession) -> None:
        assert isinstance(session, ZooKeeperSession)
        await asyncio.to_thread(take_over_and_close, self._ensemble.connect, session.identity)

    async def restart(self) -> None:
        await self.stop()
        await asyncio.to_thread(self._ensemble.stop, 0)
        await asyncio.to_thread(self._ensemble.start, 0)

    async def stop(self) -> None:
        if self._store is not None:
            await self._store.close()
            self._store = None


def take_over_and_close(connect: str, identity: tuple[int, bytes]) -> None:
    """What the server does when a session's time is over, without the wait: another client ends it."""
    client = KazooClient(connect, client_id=identity)
    client.start()
    client.stop()
    client.close()


def _in_memory(_directory: Path) -> StoreUnderContract:
    persistence = MemoryPersistence()
    return EmbeddedUnderContract(lambda: persistence)


def _on_sqlite(directory: Path) -> StoreUnderContract:
    return EmbeddedUnderContract(lambda: SqlitePersistence(directory / "coordination.db"))


IMPLEMENTATIONS: dict[str, Callable[[Path], StoreUnderContract]] = {"memory": _in_memory, "sqlite": _on_sqlite}

ZOOKEEPER = "zookeeper"

Scenario = Callable[[StoreUnderContract], Awaitable[None]]


def run_contract(make: Callable[[Path], StoreUnderContract], scenario: Scenario) -> None:
    async def main(directory: Path) -> None:
        store = make(directory)
        try:
            await scenario(store)
        finally:
            await store.stop()

    with tempfile.TemporaryDirectory() as directory:
        asyncio.run(main(Path(directory)))
