"""A session on a ZooKeeper ensemble.

A lost connection is not the end of a session: another server, or the same one, takes it on within the session's
timeout. What was asked meanwhile waits for that. What was under way is asked again, as Kafka does; since it may have
been carried out already, a refusal that its own first attempt explains is checked, and counts as success: the znode to
create is there and ours, the one to delete is gone, the data to set is set. A sequential znode may come to be twice.

A `multi` is asked again, too. When the second attempt succeeds, the first did nothing, or nothing that matters twice;
when it is refused, nobody can say which of the two did it, and the caller gets `ConnectionLoss`. After the session's
timeout without an answer everybody gets that.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, TypeVar

from moldau.cluster.errors import (
    BadArguments,
    BadVersion,
    ConnectionLoss,
    MultiFailed,
    NodeExists,
    NoNode,
    SessionExpired,
    StoreUnavailable,
)
from moldau.cluster.inbox import Inbox
from moldau.cluster.paths import ROOT, validate_path
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
from moldau.cluster.watches import WatchTable
from moldau.cluster.zookeeper.acls import protecting_acl
from moldau.cluster.zookeeper.ensemble import Ensemble
from moldau.cluster.zookeeper.kazoo_link import KazooLink, OnAnswer
from moldau.cluster.zookeeper.options import ZooKeeperOptions
from moldau.cluster.zookeeper.requests import check_size, error_of, request_of, results_of, stat_of, transaction_of

logger = logging.getLogger(__name__)

NO_SESSION = 0

Result = TypeVar("Result")


class _OutcomeUnknown(ConnectionLoss):
    """Asking once more would not tell either."""


class ZooKeeperSession:
    def __init__(self, ensemble: Ensemble, timeout_ms: int, options: ZooKeeperOptions) -> None:
        self._ensemble = ensemble
        self._timeout_ms = timeout_ms
        self._protect = options.set_acl
        self._session_id = NO_SESSION
        self._state = SessionState.SUSPENDED
        self._listeners: list[StateListener] = []
        self._watches: WatchTable[None] = WatchTable()
        self._room = asyncio.Semaphore(options.in_flight_requests_max)
        self._connected = asyncio.Event()
        inbox = Inbox(f"a session of {ensemble}")
        credentials = options.digest_credentials
        self._link = KazooLink(ensemble.servers, timeout_ms, credentials, inbox, self._entered, self._changed)

    async def connect(self, connection_timeout_ms: int) -> None:
        """Begin the session; `StoreUnavailable` if no server answers in time."""
        self._link.start()
        try:
            async with asyncio.timeout(connection_timeout_ms / 1000):
                await self._connected.wait()
        except TimeoutError:
            await self._link.close()
            raise StoreUnavailable(
                f"no ZooKeeper answers at {','.join(self._ensemble.servers)} within {connection_timeout_ms} ms: "
                "is it running, and is zookeeper.connect right?"
            ) from None
        except BaseException:
            await self._link.close()
            raise
        if self._state.is_over:
            await self._link.close()
            raise StoreUnavailable(f"ZooKeeper at {self._ensemble} refuses the credentials")

    @property
    def session_id(self) -> int:
        return self._session_id

    @property
    def state(self) -> SessionState:
        return self._state

    @property
    def identity(self) -> tuple[int, bytes]:
        """Id and password: with them another connection can take the session on."""
        return self._link.identity

    def add_listener(self, listener: StateListener) -> None:
        self._listeners.append(listener)

    # -- reads

    async def get(self, path: str, watcher: Watcher | None = None) -> Znode:
        data, stat = await self._read(self._link.get, path, watcher, self._watches.add)
        return Znode(data, stat_of(stat))

    async def exists(self, path: str, watcher: Watcher | None = None) -> Stat | None:
        stat = await self._read(self._link.exists, path, watcher, self._watches.add)
        return None if stat is None else stat_of(stat)

    async def children(self, path: str, watcher: Watcher | None = None) -> list[str]:
        return sorted(await self._read(self._link.children, path, watcher, self._watches.add_for_children))

    async def _read(
        self,
        ask: Callable[[str, bool, OnAnswer], None],
        path: str,
        watcher: Watcher | None,
        watch: Callable[[str, None, Watcher], None],
    ) -> Any:
        validate_path(path)
        send = partial(ask, self._ensemble.inside(path), watcher is not None)
        answered = None if watcher is None else partial(watch, path, None, watcher)
        return await self._in_turn(lambda _again: self._ask(path, send, answered))

    # -- writes

    async def create(
        self, path: str, data: bytes | None = None, mode: CreateMode = CreateMode.PERSISTENT, acl: Acl = OPEN_ACL
    ) -> str:
        operation = self._protected(Create(path, data, mode, acl))

        async def attempt(again: bool) -> str:
            try:
                return self._ensemble.outside(await self._write(operation))
            except NodeExists:
                if again and not mode.is_sequential and await self._is_own(operation):
                    return path
                raise

        return await self._in_turn(attempt)

    async def set(self, path: str, data: bytes | None, version: int = ANY_VERSION) -> Stat:
        async def attempt(again: bool) -> Stat:
            try:
                return stat_of(await self._write(SetData(path, data, version)))
            except BadVersion:
                if again:
                    found, stat = await self._peek(path)
                    if found == data and stat.version == version + 1:
                        return stat_of(stat)
                raise

        return await self._in_turn(attempt)

    async def delete(self, path: str, version: int = ANY_VERSION) -> None:
        if path == ROOT:
            raise BadArguments("the root cannot be deleted")

        async def attempt(again: bool) -> None:
            try:
                await self._write(Delete(path, version))
            except NoNode:
                if not again:
                    raise

        await self._in_turn(attempt)

    async def multi(self, operations: Sequence[Operation]) -> list[OperationResult]:
        if not operations:
            return []
        asked = [self._protected(each) if isinstance(each, Create) else each for each in operations]
        for operation in asked:
            _validate(operation)
        check_size(asked, self._ensemble)
        request = transaction_of(asked, self._ensemble)

        async def attempt(again: bool) -> list[OperationResult]:
            answers = await self._ask(f"{len(asked)} operations", partial(self._link.submit, request))
            try:
                return results_of(answers, asked, self._ensemble)
            except MultiFailed as failure:
                if again:
                    raise _OutcomeUnknown(f"the connection was lost, and then: {failure}") from failure
                raise

        return await self._in_turn(attempt)

    async def _write(self, operation: Operation) -> Any:
        _validate(operation)
        check_size([operation], self._ensemble)
        return await self._ask(operation.path, partial(self._link.submit, request_of(operation, self._ensemble)))

    def _protected(self, create: Create) -> Create:
        if not self._protect or create.acl is not OPEN_ACL:
            return create
        return Create(create.path, create.data, create.mode, protecting_acl(create.path))

    async def _peek(self, path: str) -> Any:
        return await self._ask(path, partial(self._link.get, self._ensemble.inside(path), False))

    async def _is_own(self, created: Create) -> bool:
        """Whether what exists is what an attempt created whose answer was lost."""
        try:
            data, stat = await self._peek(created.path)
        except NoNode:
            return False
        if created.mode.is_ephemeral:
            return bool(stat.ephemeralOwner == self._session_id)
        return bool(data == created.data and stat.version == 0 and not stat.ephemeralOwner)

    # -- asking

    async def _in_turn(self, attempt: Callable[[bool], Awaitable[Result]]) -> Result:
        """Make attempts until one is answered; each is told whether there was one before it."""
        again = False
        async with self._room:
            try:
                async with asyncio.timeout(self._timeout_ms / 1000):
                    while True:
                        try:
                            return await attempt(again)
                        except _OutcomeUnknown:
                            raise
                        except ConnectionLoss:
                            again = True
            except TimeoutError:
                raise ConnectionLoss(f"no answer of ZooKeeper at {self._ensemble} in {self._timeout_ms} ms") from None

    async def _ask(
        self, what: str, send: Callable[[OnAnswer], None], answered: Callable[[], None] | None = None
    ) -> Any:
        if self._state.is_over:
            raise SessionExpired(f"session {self._session_id:#x} is over")
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

        def deliver(result: Any, error: Exception | None) -> None:
            if error is None and answered is not None:
                answered()
            if answer.done():
                return
            if error is None:
                answer.set_result(result)
            else:
                answer.set_exception(error_of(error, what))

        send(deliver)
        return await answer

    # -- what is heard

    def _changed(self, event: WatchEvent) -> None:
        event = WatchEvent(event.type, self._ensemble.outside(event.path))
        for _, watcher in self._watches.take(event):
            watcher(event)

    def _entered(self, state: SessionState) -> None:
        if self._state.is_over:
            return
        if state is SessionState.CONNECTED:
            self._session_id = self._link.identity[0]
        before, self._state = self._state, state
        self._connected.set()
        level = logging.INFO if state in (SessionState.CONNECTED, SessionState.CLOSED) else logging.WARNING
        logger.log(level, "session %#x of ZooKeeper at %s is %s", self._session_id, self._ensemble, state.name.lower())
        if state.is_over:
            self._watches = WatchTable()
            self._link.begin_to_close()
        if before is not state:
            for listener in list(self._listeners):
                listener(state)

    # -- the end

    async def close(self) -> None:
        if self._state.is_over:
            return
        if not await self._link.close():
            logger.warning("session %#x could not be closed, and lives until it expires", self._session_id)
        self._entered(SessionState.CLOSED)


def _validate(operation: Operation) -> None:
    # A sequential path may end in a slash: the number is then the whole name.
    is_sequential = isinstance(operation, Create) and operation.mode.is_sequential
    validate_path(operation.path + "0" if is_sequential else operation.path)
