"""The coordination store in this process: shared by its brokers, each with a session of its own.

A write is decided at once against the tree as it will be (`draft.py`), and waits in a queue. One commit is under way
at a time; what arrives meanwhile goes into the next one together (group commit), so that the loop never waits for the
disk and fifty writers do not pay for fifty syncs. When a commit is durable its transactions are applied to the tree in
order, watches are told, and then the writers get their answers.

Sessions live as long as the process, unless they are closed or told to expire. A process that died took its sessions
along: their ephemerals are deleted when the store is opened next.

If a commit fails, nobody knows what is on the disk, so the store is finished: unanswered requests lose their
connection, all sessions expire, and no other can be opened until the process starts again.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from contextvars import copy_context
from functools import partial
from typing import NamedTuple, NoReturn, TypeVar

from moldau.base.clock import Clock
from moldau.cluster.draft import Draft
from moldau.cluster.errors import CoordinationError, StoreUnavailable
from moldau.cluster.paths import validate_path
from moldau.cluster.persistence import Persistence
from moldau.cluster.session import Decided, EmbeddedSession
from moldau.cluster.store import Operation, OperationResult, SessionState, Stat, Watcher, Znode
from moldau.cluster.tree import Transaction, Tree
from moldau.cluster.watches import WatchTable

logger = logging.getLogger(__name__)

REQUESTS_MAX = 10_000
"""In the queue; who asks for more waits for room."""
COMMIT_REQUESTS_MAX = 1_000
_SESSION_BITS = 20

Result = TypeVar("Result")


class _Queued(NamedTuple):
    transaction: Transaction | None
    finish: Callable[[], None]


class EmbeddedStore:
    def __init__(self, tree: Tree, persistence: Persistence, clock: Clock) -> None:
        """Use `open`."""
        self.room = asyncio.Semaphore(REQUESTS_MAX)
        self._tree = tree
        self._persistence = persistence
        self._clock = clock
        self._context = copy_context()
        self._watches: WatchTable[EmbeddedSession] = WatchTable()
        self._sessions: dict[int, EmbeddedSession] = {}
        # Whoever created an ephemeral made a change, so the next process starts with another number.
        self._next_session_id = (tree.last_zxid + 1) << _SESSION_BITS
        self._queue: deque[_Queued] = deque()
        self._committing = False
        self._ends: dict[asyncio.Future[None], None] = {}
        self._unavailable: str | None = None
        self._closed = False

    @classmethod
    async def open(cls, persistence: Persistence, clock: Clock) -> EmbeddedStore:
        snapshot = await persistence.load()
        store = cls(Tree(snapshot.znodes, snapshot.last_zxid), persistence, clock)
        try:
            for session_id in store._tree.owners():
                await store._end(session_id)
        except StoreUnavailable:
            await store.close()
            raise
        return store

    async def open_session(self, timeout_ms: int) -> EmbeddedSession:
        if self._unavailable is not None:
            raise StoreUnavailable(self._unavailable)
        session = EmbeddedSession(self, self._next_session_id, timeout_ms)
        self._next_session_id += 1
        self._sessions[session.session_id] = session
        return session

    async def close(self) -> None:
        """End every session, wait until all is durable, and let go of the disk."""
        if self._closed:
            return
        self._closed = True
        sessions = list(self._sessions.values())
        self._unavailable = self._unavailable or "the coordination store is closed"
        try:
            for session in sessions:
                await self.end(session, SessionState.CLOSED)
        finally:
            await self._persistence.close()

    # -- faults, for tests and simulations

    async def expire(self, session_id: int) -> None:
        """Let the session end as if its client had not been heard of for too long."""
        session = self._sessions.get(session_id)
        if session is not None:
            await self.end(session, SessionState.EXPIRED)

    # -- what sessions ask

    async def end(self, session: EmbeddedSession, state: SessionState) -> None:
        if not session.ending and session.session_id in self._sessions:
            session.ending = True
            await self._end(session.session_id, partial(self._forget, session, state))

    def decide(self, session: EmbeddedSession, operation: Operation) -> Decided[OperationResult]:
        return self._decide(session, lambda draft: draft.add(operation))

    def decide_multi(
        self, session: EmbeddedSession, operations: tuple[Operation, ...]
    ) -> Decided[list[OperationResult]]:
        return self._decide(session, lambda draft: draft.add_all(operations))

    def get(self, session: EmbeddedSession, path: str, watcher: Watcher | None) -> Znode:
        znode = self._tree.get(path)
        if watcher is not None:
            self._watches.add(path, session, watcher)
        return znode

    def exists(self, session: EmbeddedSession, path: str, watcher: Watcher | None) -> Stat | None:
        znode = self._tree.find(path)
        if znode is None:
            validate_path(path)
        if watcher is not None:
            self._watches.add(path, session, watcher)
        return None if znode is None else znode.stat

    def children(self, session: EmbeddedSession, path: str, watcher: Watcher | None) -> list[str]:
        names = self._tree.children(path)
        if watcher is not None:
            self._watches.add_for_children(path, session, watcher)
        return names

    def enqueue(self, transaction: Transaction | None, finish: Callable[[], None]) -> None:
        """Commit the transaction, behind everything that was enqueued before, and then call `finish`."""
        self._queue.append(_Queued(transaction, finish))
        if not self._committing:
            self._commit_soon()

    # -- the one road of every change

    def _decide(self, session: EmbeddedSession, add: Callable[[Draft], Result]) -> Decided[Result]:
        draft = Draft(self._tree, session.session_id, self._clock.now_ms())
        try:
            result = add(draft)
        except CoordinationError as error:
            # It is answered in its turn: what it was refused for may not be committed yet.
            return Decided(None, partial(_refuse, error))
        transaction = draft.transaction()
        if not transaction.changes:
            return Decided(None, lambda: result)
        self._tree.decide(transaction)
        return Decided(transaction, lambda: result)

    async def _end(self, session_id: int, then: Callable[[], None] | None = None) -> None:
        draft = Draft(self._tree, session_id, self._clock.now_ms())
        draft.delete_ephemerals()
        transaction = draft.transaction()
        self._tree.decide(transaction)
        ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._ends[ended] = None

        def finish() -> None:
            if then is not None:
                then()
            self._ends.pop(ended, None)
            if not ended.done():
                ended.set_result(None)

        self.enqueue(transaction, finish)
        await ended

    def _forget(self, session: EmbeddedSession, state: SessionState) -> None:
        self._watches.drop(session)
        del self._sessions[session.session_id]
        session.hear_end(state)

    def _commit_soon(self) -> None:
        # Not at once: whoever runs in this turn of the loop may have something to commit as well.
        self._committing = True
        asyncio.get_running_loop().call_soon(self._commit, context=self._context)

    def _commit(self) -> None:
        batch = [self._queue.popleft() for _ in range(min(len(self._queue), COMMIT_REQUESTS_MAX))]
        changes: dict[str, Znode | None] = {}
        last_zxid = 0
        for request in batch:
            if request.transaction is not None:
                changes.update(request.transaction.changes)
                last_zxid = request.transaction.zxid
        if last_zxid:
            commit = self._persistence.commit(last_zxid, changes)
            commit.add_done_callback(partial(self._committed, batch), context=self._context)
        else:
            self._finish(batch)

    def _committed(self, batch: list[_Queued], commit: asyncio.Future[None]) -> None:
        if commit.cancelled():
            return  # the loop is being closed
        if (failure := commit.exception()) is not None:
            self._fail(failure)
        else:
            self._finish(batch)

    def _finish(self, batch: list[_Queued]) -> None:
        for transaction, finish in batch:
            if transaction is not None:
                self._tree.commit(transaction)
                for event in transaction.events:
                    for session, watcher in self._watches.take(event):
                        session.hear_event(watcher, event)
            finish()
        self._committing = False
        if self._queue:
            self._commit_soon()

    def _fail(self, failure: BaseException) -> None:
        logger.critical("the coordination store cannot write any more", exc_info=failure)
        self._unavailable = f"the coordination store cannot write any more: {failure}"
        self._queue.clear()
        for session in list(self._sessions.values()):
            session.refuse_all()
            self._forget(session, SessionState.EXPIRED)
        for ended in self._ends:
            ended.set_exception(StoreUnavailable(self._unavailable))
        self._ends.clear()


def _refuse(error: CoordinationError) -> NoReturn:
    raise error
