"""A machine of the simulation: a name, the ports it listens on, and the code that runs in its name.

Which host a piece of code runs on travels in a context variable, so it is inherited by every task,
callback and connection that the code creates. That is how a whole host can be stopped for a while, as by
a long garbage collection or SIGSTOP, or for good, as by kill -9.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from moldau.testing.simulation.server import SimulatedServer
    from moldau.testing.simulation.transport import SimulatedTransport

Result = TypeVar("Result")

EPHEMERAL_PORT_FIRST = 32768

current_host: contextvars.ContextVar[Host] = contextvars.ContextVar("current_host")


class Host:
    """Made by `SimulatedNetwork.host`. After a crash the name belongs to a new host; this one is dead."""

    def __init__(self, loop: asyncio.AbstractEventLoop, name: str) -> None:
        self.name = name
        self.alive = True
        self.paused = False
        self.refuses = False  # dead, but the machine is there, and says that nobody listens
        self.held: list[asyncio.Handle] = []  # what would have run while paused, or after the crash
        self.listening: dict[int, SimulatedServer] = {}
        self.transports: dict[SimulatedTransport, None] = {}
        self._loop = loop
        self._port = EPHEMERAL_PORT_FIRST

    def __repr__(self) -> str:
        return self.name

    @property
    def runs(self) -> bool:
        return self.alive and not self.paused

    def run(self, coroutine: Coroutine[Any, Any, Result]) -> asyncio.Task[Result]:
        """Start a task on this host."""
        context = contextvars.copy_context()
        context.run(current_host.set, self)
        return self._loop.create_task(coroutine, context=context)

    def free_port(self) -> int:
        while self._port in self.listening:
            self._port += 1
        self._port += 1
        return self._port - 1
