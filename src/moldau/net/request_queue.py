"""`queued.max.requests`: how many requests of all connections may be read and not yet answered.

Kafka has a queue of that many places between the threads that read and the threads that handle. Here
handling begins in the same call as reading, so what counts is a request that outlives that call and does
not wait on purpose (`Answer.park`): 500 idle consumers in a long poll are no load. When the places are
taken, a connection that has a request to hand over stops reading and stands in line; whoever came first
goes on first.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from typing import Protocol


class Stalled(Protocol):
    """A connection that stands in line."""

    def proceed(self) -> None: ...


class RequestQueue:
    """Counts the requests under way; a connection stands in its line at most once."""

    __slots__ = ("_line", "_loop", "_waking", "limit", "open")

    def __init__(self, loop: asyncio.AbstractEventLoop, limit: int) -> None:
        self.limit = limit
        self.open = 0
        self._loop = loop
        self._line: OrderedDict[Stalled, None] = OrderedDict()
        self._waking = False

    def stand_in_line(self, connection: Stalled) -> None:
        """`connection.proceed` is called once there is a place."""
        self._line[connection] = None

    def is_in_line(self, connection: Stalled) -> bool:
        return connection in self._line

    def leave_line(self, connection: Stalled) -> None:
        self._line.pop(connection, None)

    def release(self) -> None:
        assert self.open > 0, "a request is counted once and released once"
        self.open -= 1
        if self._line and not self._waking:
            self._waking = True
            self._loop.call_soon(self._wake)

    def _wake(self) -> None:
        """Each in line gets one turn: who finds no place stands in line again, at its end."""
        self._waking = False
        for _ in range(len(self._line)):
            if self.open >= self.limit or not self._line:
                return
            connection, _nothing = self._line.popitem(last=False)
            connection.proceed()
