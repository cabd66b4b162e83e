"""Writing to the store as the controller of one epoch, and as no other.

Every write is a `multi` whose first operation checks the version of /controller_epoch: when another controller was
elected the version is another, and nothing is written. So a zombie, who was paused or cut off and does not know that
its time is over, changes nothing; it learns of it by `ControllerMoved` and resigns.

Many small writes travel in few large requests. Each write is atomic by itself; those in one request succeed together,
and when one is refused the request is repeated write by write, so that the others do not suffer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import TypeVar

from moldau.base.errors import MoldauError
from moldau.cluster.errors import CoordinationError, MultiFailed, NoNode
from moldau.cluster.store import (
    Check,
    CoordinationSession,
    Delete,
    Operation,
    OperationResult,
    Watcher,
    Znode,
)
from moldau.cluster.znodes.layout import CONTROLLER_EPOCH
from moldau.controller.election import Claim

OPERATIONS_PER_REQUEST = 300
"""Below ZooKeeper's limit of 1 MB a request with room for long names and many replicas."""
READS_AT_ONCE = 1_000

Write = Sequence[Operation]
Outcome = list[OperationResult] | CoordinationError
Item = TypeVar("Item")
Result = TypeVar("Result")


class ControllerMoved(MoldauError):
    """Another controller was elected: whoever gets this is not the controller any more."""


class FencedStore:
    def __init__(self, session: CoordinationSession, claim: Claim) -> None:
        self.session = session
        self.epoch = claim.epoch
        self._fence = Check(CONTROLLER_EPOCH, claim.epoch_version)

    async def write(self, write: Write) -> list[OperationResult]:
        """Carry out all operations or none. Raises ControllerMoved, or MultiFailed for the one that was refused."""
        try:
            results = await self.session.multi([self._fence, *write])
        except MultiFailed as failure:
            if failure.index == 0:
                raise ControllerMoved(f"the controller's epoch is over: {failure.error}") from failure
            raise MultiFailed(failure.index - 1, failure.error) from failure
        return results[1:]

    async def write_each(self, writes: Sequence[Write]) -> list[Outcome]:
        """What became of each write: its results, or why it was refused."""
        outcomes = await asyncio.gather(*(self._write_together(packed) for packed in _packed(writes)))
        return [outcome for packed in outcomes for outcome in packed]

    async def _write_together(self, writes: list[Write]) -> list[Outcome]:
        try:
            results = iter(await self.write([operation for write in writes for operation in write]))
        except MultiFailed as failure:
            if len(writes) == 1:
                return [failure.error]
            alone = await asyncio.gather(*(self._write_together([write]) for write in writes))
            return [outcome for outcomes in alone for outcome in outcomes]
        return [list(islice(results, len(write))) for write in writes]

    async def delete(self, paths: Iterable[str]) -> None:
        """Delete znodes; those that are gone already are no matter."""
        await self.write_each([[Delete(path)] for path in paths])

    async def read_each(self, paths: Iterable[str], watcher: Watcher | None = None) -> dict[str, Znode]:
        """The znodes that exist among these."""

        async def read(path: str) -> Znode | None:
            try:
                return await self.session.get(path, watcher)
            except NoNode:
                return None

        wanted = list(paths)
        found = await gather_in_turns(read, wanted)
        return {path: znode for path, znode in zip(wanted, found, strict=True) if znode is not None}


async def gather_in_turns(ask: Callable[[Item], Awaitable[Result]], items: Sequence[Item]) -> list[Result]:
    """Ask for all items, many at once but not all of a large number."""
    answers: list[Result] = []
    for start in range(0, len(items), READS_AT_ONCE):
        answers += await asyncio.gather(*map(ask, items[start : start + READS_AT_ONCE]))
    return answers


def _packed(writes: Sequence[Write]) -> Iterator[list[Write]]:
    packed: list[Write] = []
    operations = 0
    for write in writes:
        if packed and operations + len(write) > OPERATIONS_PER_REQUEST:
            yield packed
            packed, operations = [], 0
        packed.append(write)
        operations += len(write)
    if packed:
        yield packed
