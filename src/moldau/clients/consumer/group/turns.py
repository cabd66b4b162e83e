"""One after the other, in the order in which turns were taken; a lock counts from when one begins to wait."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager


class Turns:
    """To be used inside a running loop."""

    def __init__(self) -> None:
        self._last: asyncio.Future[None] | None = None

    def take(self) -> AbstractAsyncContextManager[None]:
        """A place in the row, from now on; whoever took it must also enter it."""
        before, self._last = self._last, asyncio.get_running_loop().create_future()
        return self._in_turn(before, self._last)

    @asynccontextmanager
    async def _in_turn(self, before: asyncio.Future[None] | None, mine: asyncio.Future[None]) -> AsyncIterator[None]:
        try:
            if before is not None:
                await asyncio.shield(before)
            yield
        finally:
            # Who gives up waiting passes the turn on when it comes.
            if before is None or before.done():
                mine.set_result(None)
            else:
                before.add_done_callback(lambda _: mine.set_result(None))
