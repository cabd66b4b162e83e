"""Where the embedded store keeps its tree: the seam, and the one that keeps it in memory.

`commit` gets the changes of one or more transactions and must make all of them durable, or none. The store has one
commit under way at a time, and calls nothing else meanwhile.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from typing import NamedTuple, Protocol

from moldau.cluster.store import Znode
from moldau.cluster.tree import Changes


class Snapshot(NamedTuple):
    last_zxid: int
    znodes: Sequence[tuple[str, Znode]]


class Persistence(Protocol):
    def load(self) -> Awaitable[Snapshot]:
        """Everything that was committed; `StoreUnavailable` if it cannot be read."""
        ...

    def commit(self, last_zxid: int, changes: Changes) -> asyncio.Future[None]: ...

    def close(self) -> Awaitable[None]: ...


class MemoryPersistence:
    """Keeps the tree as long as the object lives: for simulations and tests, which may open it again.

    A commit is done in the loop's next turn, never at once, so that callers meet the order they meet on a disk.
    """

    def __init__(self) -> None:
        self._last_zxid = 0
        self._znodes: dict[str, Znode] = {}

    async def load(self) -> Snapshot:
        return Snapshot(self._last_zxid, tuple(self._znodes.items()))

    def commit(self, last_zxid: int, changes: Changes) -> asyncio.Future[None]:
        loop = asyncio.get_running_loop()
        done: asyncio.Future[None] = loop.create_future()
        loop.call_soon(self._commit, last_zxid, changes, done)
        return done

    def _commit(self, last_zxid: int, changes: Changes, done: asyncio.Future[None]) -> None:
        self._last_zxid = last_zxid
        for path, znode in changes.items():
            if znode is None:
                self._znodes.pop(path, None)
            else:
                self._znodes[path] = znode
        done.set_result(None)

    async def close(self) -> None:
        """What was committed stays: the next store may load it."""
