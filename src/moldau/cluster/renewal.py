"""The session of a broker over its whole life: when one expires, another takes its place.

A session expires when the store has not heard of its client for too long: the broker was paused, or cut off. Everything
that was bound to it is gone: the broker's registration, its office as controller, its watches. As in Kafka the broker
itself goes on. Whoever holds this session hears `EXPIRED`, and then is refused until another session has been opened
and `prepare` has done there what must come first: the broker is registered again. Then all hear `CONNECTED`, and set
their watches anew.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence

from moldau.base.supervision import Supervisor
from moldau.cluster.errors import ConnectionLoss, SessionExpired, StoreUnavailable
from moldau.cluster.store import (
    ANY_VERSION,
    OPEN_ACL,
    Acl,
    CoordinationSession,
    CoordinationStore,
    CreateMode,
    Operation,
    OperationResult,
    SessionState,
    Stat,
    StateListener,
    Watcher,
    Znode,
)

logger = logging.getLogger(__name__)

RETRY_MS = 1_000

Prepare = Callable[[CoordinationSession], Awaitable[None]]


class RenewedSession:
    """Open it with `open`; `prepare` is awaited with every session after the first, before it is used."""

    def __init__(
        self, store: CoordinationStore, timeout_ms: int, supervisor: Supervisor, session: CoordinationSession
    ) -> None:
        self.prepare: Prepare | None = None
        self._store = store
        self._timeout_ms = timeout_ms
        self._supervisor = supervisor
        self._listeners: list[StateListener] = []
        self._state = session.state
        self._use(session)

    @classmethod
    async def open(cls, store: CoordinationStore, timeout_ms: int, supervisor: Supervisor) -> RenewedSession:
        return cls(store, timeout_ms, supervisor, await store.open_session(timeout_ms))

    @property
    def session_id(self) -> int:
        return self._session.session_id

    @property
    def state(self) -> SessionState:
        return self._state

    def add_listener(self, listener: StateListener) -> None:
        self._listeners.append(listener)

    async def close(self) -> None:
        await self._session.close()

    # -- renewal

    def _use(self, session: CoordinationSession) -> None:
        self._session = session

        def changed(state: SessionState) -> None:
            # One that expires while it is being prepared is noticed there.
            if session is self._session and self._state is not SessionState.EXPIRED:
                self._enter(state)
                if state is SessionState.EXPIRED:
                    self._supervisor.start("session renewal", self._renew)

        session.add_listener(changed)

    def _enter(self, state: SessionState) -> None:
        if state is not self._state:
            self._state = state
            for listener in list(self._listeners):
                listener(state)

    async def _renew(self) -> None:
        logger.warning("the session %#x has expired; opening another", self._session.session_id)
        while self._state is SessionState.EXPIRED:
            try:
                session = await self._store.open_session(self._timeout_ms)
                self._use(session)
                if self.prepare is not None:
                    await self.prepare(session)
            except (StoreUnavailable, ConnectionLoss, SessionExpired) as error:
                logger.warning("no new session yet: %s", error)
                await self._session.close()
                await asyncio.sleep(RETRY_MS / 1000)
                continue
            if not session.state.is_over:
                logger.info("the session %#x has taken its place", session.session_id)
                self._enter(session.state)

    # -- requests

    @property
    def _live(self) -> CoordinationSession:
        if self._state is SessionState.EXPIRED:
            raise SessionExpired("the session has expired, and another is not ready yet")
        return self._session

    async def create(
        self, path: str, data: bytes | None = None, mode: CreateMode = CreateMode.PERSISTENT, acl: Acl = OPEN_ACL
    ) -> str:
        return await self._live.create(path, data, mode, acl)

    async def get(self, path: str, watcher: Watcher | None = None) -> Znode:
        return await self._live.get(path, watcher)

    async def exists(self, path: str, watcher: Watcher | None = None) -> Stat | None:
        return await self._live.exists(path, watcher)

    async def children(self, path: str, watcher: Watcher | None = None) -> list[str]:
        return await self._live.children(path, watcher)

    async def set(self, path: str, data: bytes | None, version: int = ANY_VERSION) -> Stat:
        return await self._live.set(path, data, version)

    async def delete(self, path: str, version: int = ANY_VERSION) -> None:
        await self._live.delete(path, version)

    async def multi(self, operations: Sequence[Operation]) -> list[OperationResult]:
        return await self._live.multi(operations)
