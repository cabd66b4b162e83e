"""The seam to the coordination store: ZooKeeper's model, as far as Kafka uses it.

A store is a tree of znodes. Each has data and a `Stat` whose version counts its writes, so that a write may be bound
to what its writer has read. A client opens a session. Ephemeral znodes belong to a session and go with it;
sequential ones get a number from their parent, ten digits, one more for every child ever created there.

Order, which the controller leans on: requests of one session are carried out in the order of their calls, and their
answers come in that order; a read is behind the session's own writes, and may be older than other sessions' newest.
All changes have one order, their zxids, and everybody sees them in it.

Watches: a read may leave a callback, which is told once of the next change. `get` and `children` leave it only if the
znode exists, `exists` always. An event comes after the answer of the read that set the watch, before any answer that
shows the change, and in the order of the changes. One callback on one path is told once, however often it was left.
Callbacks run in the event loop and must not block; who wants to hear more reads again and leaves another.

Data is None where ZooKeeper says null, which is not the same as empty: Kafka tells them apart.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import NamedTuple, Protocol

ANY_VERSION = -1
DATA_BYTES_MAX = 0xFFFFF
"""ZooKeeper's `jute.maxbuffer`, for every implementation."""


class Stat(NamedTuple):
    """What is known of a znode beside its data; the names are ZooKeeper's."""

    czxid: int
    """The change that created it. A broker's epoch is that of its registration."""
    mzxid: int
    """The change that last set its data."""
    pzxid: int
    """The change that last created or deleted a child."""
    ctime_ms: int
    mtime_ms: int
    version: int
    """How often its data was set."""
    cversion: int
    """How many children were created and deleted."""
    ephemeral_owner: int
    """The session it belongs to; 0 for a persistent one."""
    data_length: int
    num_children: int


class Znode(NamedTuple):
    data: bytes | None
    stat: Stat


class CreateMode(Enum):
    PERSISTENT = auto()
    EPHEMERAL = auto()
    PERSISTENT_SEQUENTIAL = auto()
    EPHEMERAL_SEQUENTIAL = auto()

    @property
    def is_ephemeral(self) -> bool:
        return self in (CreateMode.EPHEMERAL, CreateMode.EPHEMERAL_SEQUENTIAL)

    @property
    def is_sequential(self) -> bool:
        return self in (CreateMode.PERSISTENT_SEQUENTIAL, CreateMode.EPHEMERAL_SEQUENTIAL)


class Permission(NamedTuple):
    """Who may do what with a znode, in ZooKeeper's words; a store without authentication accepts and ignores it."""

    scheme: str
    identity: str
    actions: str


Acl = tuple[Permission, ...]
OPEN_ACL: Acl = (Permission("world", "anyone", "cdrwa"),)


@dataclass(frozen=True, slots=True)
class Create:
    path: str
    data: bytes | None = None
    mode: CreateMode = CreateMode.PERSISTENT
    acl: Acl = OPEN_ACL


@dataclass(frozen=True, slots=True)
class SetData:
    path: str
    data: bytes | None
    version: int = ANY_VERSION


@dataclass(frozen=True, slots=True)
class Delete:
    path: str
    version: int = ANY_VERSION


@dataclass(frozen=True, slots=True)
class Check:
    """Nothing is changed, but the `multi` fails unless the znode exists in this version."""

    path: str
    version: int = ANY_VERSION


Operation = Create | SetData | Delete | Check
OperationResult = str | Stat | None
"""The path that was created, the `Stat` after the write, or nothing for a deletion and a check."""


class EventType(Enum):
    CREATED = auto()
    DELETED = auto()
    DATA_CHANGED = auto()
    CHILDREN_CHANGED = auto()


class WatchEvent(NamedTuple):
    type: EventType
    path: str


class SessionState(Enum):
    CONNECTED = auto()
    SUSPENDED = auto()
    """The connection is lost, the session may live: ephemerals and watches are kept until it expires."""
    EXPIRED = auto()
    CLOSED = auto()

    @property
    def is_over(self) -> bool:
        return self in (SessionState.EXPIRED, SessionState.CLOSED)


Watcher = Callable[[WatchEvent], None]
StateListener = Callable[[SessionState], None]


class CoordinationSession(Protocol):
    """One client's view of the store. Every request may raise `SessionExpired` and `ConnectionLoss`."""

    @property
    def session_id(self) -> int: ...

    @property
    def state(self) -> SessionState: ...

    def add_listener(self, listener: StateListener) -> None:
        """Call `listener` with every new state, in order with the watch events."""
        ...

    async def create(
        self, path: str, data: bytes | None = None, mode: CreateMode = CreateMode.PERSISTENT, acl: Acl = OPEN_ACL
    ) -> str:
        """The path that was created: for a sequential one with its number."""
        ...

    async def get(self, path: str, watcher: Watcher | None = None) -> Znode: ...

    async def exists(self, path: str, watcher: Watcher | None = None) -> Stat | None: ...

    async def children(self, path: str, watcher: Watcher | None = None) -> list[str]:
        """The names below `path`, sorted."""
        ...

    async def set(self, path: str, data: bytes | None, version: int = ANY_VERSION) -> Stat: ...

    async def delete(self, path: str, version: int = ANY_VERSION) -> None: ...

    async def multi(self, operations: Sequence[Operation]) -> list[OperationResult]:
        """Carry out all operations as one change, or none: then `MultiFailed` says which one failed."""
        ...

    async def close(self) -> None:
        """End the session; its ephemerals are gone when this returns."""
        ...


class CoordinationStore(Protocol):
    async def open_session(self, timeout_ms: int) -> CoordinationSession:
        """A new session that expires when nothing is heard of its client for `timeout_ms`."""
        ...

    async def close(self) -> None: ...
