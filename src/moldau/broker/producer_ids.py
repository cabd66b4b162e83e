"""Producer ids: every idempotent producer gets one that nobody else in the cluster has.

The controller hands them out to brokers in blocks of a thousand (KIP-730). What is left of a block when a
broker stops is never used.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

Block = tuple[int, int]
"""The first id, and how many."""


class ProducerIds:
    """`allocate` asks the controller for a block."""

    def __init__(self, allocate: Callable[[], Awaitable[Block]]) -> None:
        self._allocate = allocate
        self._next = self._end = 0
        self._turn = asyncio.Lock()

    async def take(self) -> int:
        """An id for one producer; raises what asking the controller raises."""
        async with self._turn:
            if self._next == self._end:
                first, count = await self._allocate()
                assert count > 0, "a block is not empty"
                self._next, self._end = first, first + count
            taken = self._next
            self._next += 1
            return taken
