"""A session on the embedded store.

Everything the session hears comes through its inbox, in the order in which the store put it in.

A read while nothing of the session is under way is answered at once from memory. Behind the session's own requests,
or behind events that are not delivered yet, it takes its turn in the store's queue like a write.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from moldau.cluster.errors import ConnectionLoss, CoordinationError, SessionExpired
from moldau.cluster.inbox import Inbox
from moldau.cluster.store import (
    ANY_VERSION,
    OPEN_ACL,
    Acl,
    Create,
    CreateMode,
    Delete,
    Operation,
    OperationResult,
    SessionState,
    SetData,
    Stat,
    StateListener,
    Watcher,
    WatchEvent,
    Znode,
)
from moldau.cluster.tree import Transaction

if TYPE_CHECKING:
    from moldau.cluster.embedded import EmbeddedStore

Result = TypeVar("Result")


class Decided(NamedTuple, Generic[Result]):
    """A request in the store's queue: what it changes, and its answer, asked for when that is committed."""

    transaction: Transaction | None
    outcome: Callable[[], Result]


class EmbeddedSession:
    def __init__(self, store: EmbeddedStore, session_id: int, timeout_ms: int) -> None:
        self._store = store
        self._session_id = session_id
        self.timeout_ms = timeout_ms
        """Kept for whoever decides when to expire the session; it does not expire by itself."""
        self.ending = False
        self._state = SessionState.CONNECTED
        self._listeners: list[StateListener] = []
        self._inbox = Inbox(f"session {session_id:#x}")
        self._unanswered: dict[asyncio.Future[Any], None] = {}
        self._requests = 0  # that have not returned to their callers

    @property
    def session_id(self) -> int:
        return self._session_id

    @property
    def state(self) -> SessionState:
        return self._state

    def add_listener(self, listener: StateListener) -> None:
        self._listeners.append(listener)

    # -- requests

    async def create(
        self, path: str, data: bytes | None = None, mode: CreateMode = CreateMode.PERSISTENT, acl: Acl = OPEN_ACL
    ) -> str:
        created = await self._write(Create(path, data, mode, acl))
        assert isinstance(created, str)
        return created

    async def set(self, path: str, data: bytes | None, version: int = ANY_VERSION) -> Stat:
        stat = await self._write(SetData(path, data, version))
        assert isinstance(stat, Stat)
        return stat

    async def delete(self, path: str, version: int = ANY_VERSION) -> None:
        await self._write(Delete(path, version))

    async def multi(self, operations: Sequence[Operation]) -> list[OperationResult]:
        return await self._ask(partial(self._store.decide_multi, self, tuple(operations)))

    async def get(self, path: str, watcher: Watcher | None = None) -> Znode:
        return await self._read(partial(self._store.get, self, path, watcher))

    async def exists(self, path: str, watcher: Watcher | None = None) -> Stat | None:
        return await self._read(partial(self._store.exists, self, path, watcher))

    async def children(self, path: str, watcher: Watcher | None = None) -> list[str]:
        return await self._read(partial(self._store.children, self, path, watcher))

    async def close(self) -> None:
        if self._state is SessionState.SUSPENDED:
            self._enter(SessionState.CLOSED)  # nobody can tell the store, where the session goes on until it expires
        else:
            await self._store.end(self, SessionState.CLOSED)

    async def _write(self, operation: Operation) -> OperationResult:
        return await self._ask(partial(self._store.decide, self, operation))

    async def _read(self, read: Callable[[], Result]) -> Result:
        self._check_usable()
        if not self._requests and not self._inbox:
            return read()
        return await self._ask(lambda: Decided(None, read))

    async def _ask(self, decide: Callable[[], Decided[Result]]) -> Result:
        self._requests += 1
        try:
            async with self._store.room:
                self._check_usable()
                answer: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
                self._unanswered[answer] = None
                decided = decide()
                self._store.enqueue(decided.transaction, partial(self._finish, answer, decided.outcome))
                return await answer
        finally:
            self._requests -= 1

    def _check_usable(self) -> None:
        if self._state is SessionState.SUSPENDED:
            raise ConnectionLoss("the store cannot be reached")
        if self.ending or self._state.is_over:
            raise SessionExpired(f"session {self._session_id:#x} is over")

    # -- what the session hears

    def _finish(self, answer: asyncio.Future[Result], outcome: Callable[[], Result]) -> None:
        try:
            result = outcome()
        except CoordinationError as error:
            self._inbox.put_answer(partial(self._refuse, answer, error))
        else:
            self._inbox.put_answer(partial(self._answer, answer, result))

    def _answer(self, answer: asyncio.Future[Result], result: Result) -> None:
        self._unanswered.pop(answer, None)
        if not answer.done():
            answer.set_result(result)

    def _refuse(self, answer: asyncio.Future[Any], error: CoordinationError) -> None:
        self._unanswered.pop(answer, None)
        if not answer.done():
            answer.set_exception(error)

    def hear_event(self, watcher: Watcher, event: WatchEvent) -> None:
        self._inbox.put_event(partial(watcher, event))

    def hear_end(self, state: SessionState) -> None:
        """The store has ended the session; a client that is cut off learns of it when it is connected again."""
        self.ending = True
        if self._state is SessionState.SUSPENDED:
            self._inbox.clear()
        self._inbox.put_event(partial(self._enter, state))

    def suspend(self) -> None:
        """Lose the connection."""
        if self._state is SessionState.CONNECTED:
            self.refuse_all()
            self._inbox.pause()
            self._enter(SessionState.SUSPENDED)

    def refuse_all(self) -> None:
        for answer in list(self._unanswered):
            self._refuse(answer, ConnectionLoss("the connection was lost before the answer came"))

    def resume(self) -> None:
        """Find the connection again; what happened meanwhile is heard now."""
        if self._state is SessionState.SUSPENDED:
            if self.ending:
                self._state = SessionState.CONNECTED  # only to hear that it is over
            else:
                self._enter(SessionState.CONNECTED)
            self._inbox.resume()

    def _enter(self, state: SessionState) -> None:
        if self._state.is_over:
            return
        self._state = state
        for listener in list(self._listeners):
            listener(state)
