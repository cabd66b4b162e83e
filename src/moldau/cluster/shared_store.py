"""One store for all nodes of a process.

A node opens its store when it starts and closes it when it stops. Of a shared one the first to come opens it, and the
last to go closes it; whoever goes before ends the sessions that it has opened.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from moldau.cluster.store import CoordinationSession, CoordinationStore


class SharedStores:
    """`open_store` opens the one that is shared."""

    def __init__(self, open_store: Callable[[], Awaitable[CoordinationStore]]) -> None:
        self._open_store = open_store
        self._store: CoordinationStore | None = None
        self._shares = 0
        self._turn = asyncio.Lock()

    async def share(self) -> SharedStore:
        """For a node, which closes it."""
        async with self._turn:
            if self._store is None:
                self._store = await self._open_store()
            self._shares += 1
            return SharedStore(self._store, self._give_back)

    async def _give_back(self) -> None:
        async with self._turn:
            self._shares -= 1
            if not self._shares and self._store is not None:
                store, self._store = self._store, None
                await store.close()


class SharedStore:
    """The share of one node."""

    def __init__(self, store: CoordinationStore, give_back: Callable[[], Awaitable[None]]) -> None:
        self._store = store
        self._give_back = give_back
        self._sessions: list[CoordinationSession] = []

    async def open_session(self, timeout_ms: int) -> CoordinationSession:
        session = await self._store.open_session(timeout_ms)
        self._sessions = [each for each in self._sessions if not each.state.is_over]
        self._sessions.append(session)
        return session

    async def close(self) -> None:
        sessions, self._sessions = self._sessions, []
        try:
            for session in sessions:
                await session.close()
        finally:
            await self._give_back()
