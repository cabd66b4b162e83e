"""A listening port of a simulated host."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from moldau.testing.simulation.host import Host


class ListeningSocket:
    """As much of a socket as code that looks at `server.sockets` needs."""

    def __init__(self, address: tuple[str, int]) -> None:
        self._address = address

    def getsockname(self) -> tuple[str, int]:
        return self._address

    def setsockopt(self, level: int, option: int, value: int) -> None:
        """Buffers of the simulated network are drawn from its conditions instead."""


class SimulatedServer(asyncio.AbstractServer):
    """Bound at once, reachable from `start_serving` until `close`."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        host: Host,
        port: int,
        protocol_factory: Callable[[], asyncio.BaseProtocol],
    ) -> None:
        self._loop = loop
        self._host = host
        self._serving = False
        self.port = port
        self.protocol_factory = protocol_factory
        self.context = contextvars.copy_context()
        self.sockets = (ListeningSocket((host.name, port)),)

    def get_loop(self) -> asyncio.AbstractEventLoop:
        return self._loop

    def is_serving(self) -> bool:
        return self._serving

    async def start_serving(self) -> None:
        self._serving = True

    async def serve_forever(self) -> None:
        self._serving = True
        await self._loop.create_future()

    def close(self) -> None:
        self._serving = False
        if self._host.listening.get(self.port) is self:
            del self._host.listening[self.port]

    async def wait_closed(self) -> None:
        """Nothing is left to wait for after `close`."""
