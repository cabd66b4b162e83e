"""What a session hears, in the order in which it happened: answers, watch events, and changes of its state.

All of it is delivered by one callback of the event loop, in the context in which the session was opened, so that in a
simulation a paused broker hears nothing until it runs again. Behind answers, an event waits for another turn of the
loop: the tasks that wait for those answers go on before they hear of what came later.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from contextvars import copy_context
from typing import NamedTuple


class _Item(NamedTuple):
    is_answer: bool
    deliver: Callable[[], None]


class Inbox:
    """`whose` names the session in reports of callbacks that failed."""

    def __init__(self, whose: str) -> None:
        self._whose = whose
        self._context = copy_context()
        self._items: deque[_Item] = deque()
        self._delivery_due = False
        self._paused = False

    def __len__(self) -> int:
        return len(self._items)

    def put_answer(self, deliver: Callable[[], None]) -> None:
        self._put(_Item(True, deliver))

    def put_event(self, deliver: Callable[[], None]) -> None:
        self._put(_Item(False, deliver))

    def clear(self) -> None:
        self._items.clear()

    def pause(self) -> None:
        """Keep what comes."""
        self._paused = True

    def resume(self) -> None:
        self._paused = False
        self._deliver_soon()

    def _put(self, item: _Item) -> None:
        self._items.append(item)
        self._deliver_soon()

    def _deliver_soon(self) -> None:
        if self._items and not self._delivery_due:
            self._delivery_due = True
            asyncio.get_running_loop().call_soon(self._deliver, context=self._context)

    def _deliver(self) -> None:
        self._delivery_due = False
        answered = False
        while self._items and not self._paused:
            if answered and not self._items[0].is_answer:
                self._deliver_soon()  # after the tasks that wait for the answers have gone on
                return
            item = self._items.popleft()
            answered = answered or item.is_answer
            try:
                item.deliver()
            except Exception as error:
                context = {"message": f"a callback of {self._whose} failed", "exception": error}
                asyncio.get_running_loop().call_exception_handler(context)
