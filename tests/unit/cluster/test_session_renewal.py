"""A session that is renewed: who hears what, in which order, and what happens when the renewal itself fails."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from moldau.base.clock import SystemClock
from moldau.base.supervision import Supervisor
from moldau.cluster import renewal
from moldau.cluster.embedded import EmbeddedStore
from moldau.cluster.errors import SessionExpired, StoreUnavailable
from moldau.cluster.persistence import MemoryPersistence
from moldau.cluster.renewal import RenewedSession
from moldau.cluster.session import EmbeddedSession
from moldau.cluster.store import CoordinationSession, CreateMode, SessionState

TIMEOUT_MS = 6_000


class UnsteadyStore:
    """Refuses the next `refusals` sessions."""

    def __init__(self, store: EmbeddedStore) -> None:
        self._store = store
        self.refusals = 0

    async def open_session(self, timeout_ms: int) -> EmbeddedSession:
        if self.refusals:
            self.refusals -= 1
            raise StoreUnavailable("not now")
        return await self._store.open_session(timeout_ms)

    async def close(self) -> None:
        await self._store.close()


class Renewed:
    def __init__(self, store: EmbeddedStore, unsteady: UnsteadyStore, session: RenewedSession) -> None:
        self.store, self.unsteady, self.session = store, unsteady, session
        self.log: list[object] = []
        self._connected = asyncio.Event()
        session.add_listener(self._heard)
        session.prepare = self.prepare

    def _heard(self, state: SessionState) -> None:
        self.log.append(state)
        if state is SessionState.CONNECTED:
            self._connected.set()

    async def prepare(self, session: CoordinationSession) -> None:
        assert self.session.state is SessionState.EXPIRED, "nobody else is let in yet"
        with pytest.raises(SessionExpired):
            await self.session.exists("/")
        await session.create("/registration", None, CreateMode.EPHEMERAL)
        self.log.append("prepared")

    async def expire(self) -> None:
        self._connected.clear()
        await self.store.expire(self.session.session_id)

    async def connected(self) -> None:
        async with asyncio.timeout(10):
            await self._connected.wait()


def _run(scenario: Callable[[Renewed], Awaitable[None]]) -> None:
    async def main() -> None:
        failures: list[str] = []
        supervisor = Supervisor(lambda name, _error: failures.append(name))
        store = await EmbeddedStore.open(MemoryPersistence(), SystemClock())
        unsteady = UnsteadyStore(store)
        renewed = Renewed(store, unsteady, await RenewedSession.open(unsteady, TIMEOUT_MS, supervisor))
        await scenario(renewed)
        await supervisor.stop(1_000)
        await store.close()
        assert failures == []

    asyncio.run(main())


def test_the_next_session_is_prepared_before_anybody_hears_of_it() -> None:
    async def scenario(renewed: Renewed) -> None:
        for _ in range(2):
            before = renewed.session.session_id
            renewed.log.clear()
            await renewed.expire()
            await renewed.connected()
            assert renewed.log == [SessionState.EXPIRED, "prepared", SessionState.CONNECTED]
            assert renewed.session.session_id != before
            owner = (await renewed.session.get("/registration")).stat.ephemeral_owner
            assert owner == renewed.session.session_id

    _run(scenario)


def test_a_store_that_cannot_be_reached_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(renewal, "RETRY_MS", 1)

    async def scenario(renewed: Renewed) -> None:
        renewed.unsteady.refusals = 3
        await renewed.expire()
        await renewed.connected()
        assert renewed.log == [SessionState.EXPIRED, "prepared", SessionState.CONNECTED]

    _run(scenario)


def test_a_session_that_expires_while_it_is_prepared_is_replaced_like_any_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(renewal, "RETRY_MS", 1)

    async def scenario(renewed: Renewed) -> None:
        unlucky: list[int] = []

        async def prepare(session: CoordinationSession) -> None:
            if len(unlucky) < 2:
                unlucky.append(session.session_id)
                await renewed.store.expire(session.session_id)
            await renewed.prepare(session)

        renewed.session.prepare = prepare
        await renewed.expire()
        await renewed.connected()
        assert renewed.log == [SessionState.EXPIRED, "prepared", SessionState.CONNECTED]
        assert renewed.session.session_id not in unlucky
        assert await renewed.session.children("/") == ["registration"]

    _run(scenario)


def test_what_stops_does_not_begin_another_session() -> None:
    async def scenario(renewed: Renewed) -> None:
        await renewed.session.close()
        await asyncio.sleep(0)
        assert renewed.session.state is SessionState.CLOSED
        assert renewed.log == [SessionState.CLOSED]

    _run(scenario)
