"""The listeners of a broker: sockets bound, connections let in, counted, swept and drained.

A server's life: `start` binds every listener or none, the loop does the rest, `drain` lets the open
requests finish and closes. One timer looks after all connections (idle ones, closed ones whose client
does not take the last bytes); there is none per connection.
"""

from __future__ import annotations

import asyncio
import errno
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from moldau.base.errors import ConfigError
from moldau.net.admission import Admission
from moldau.net.connection import Connection, Handler
from moldau.net.frames import ReceiveBuffers
from moldau.net.limits import UNLIMITED, Limits
from moldau.net.request_queue import RequestQueue
from moldau.net.traffic import CloseReason, Traffic

if TYPE_CHECKING:
    import ssl

SWEEP_MS_MAX = 5_000
TLS_HANDSHAKE_MS_MAX = 30_000
ABORT_MS_MAX = 1_000  # an aborted transport needs a turn of the loop, no network


@dataclass(frozen=True, slots=True)
class Listener:
    """Where to listen. Host "" is every address of the machine; port 0 lets the system choose."""

    name: str
    host: str
    port: int
    tls: ssl.SSLContext | None = None
    connections_max: int = UNLIMITED  # listener.name.<name>.max.connections


class Server:
    """Accepts connections on its listeners and calls `handle` with every request.

    To be made inside a running loop. `addresses` has what each listener is bound to, after `start`.
    """

    def __init__(
        self,
        listeners: Sequence[Listener],
        handle: Handler,
        limits: Limits | None = None,
        *,
        inter_broker_listener: str | None = None,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._listeners = listeners
        self._acceptors: list[asyncio.Server] = []
        self._sweep_timer: asyncio.TimerHandle | None = None
        self._draining = False
        self._emptied: asyncio.Future[None] | None = None
        self.handle = handle
        self.limits = limits or Limits()
        self.buffers = ReceiveBuffers()
        self.queue = RequestQueue(self._loop, self.limits.queued_requests_max)
        self.traffic = Traffic()
        self.admission = Admission(
            self._loop,
            self.limits,
            {listener.name: listener.connections_max for listener in listeners},
            inter_broker_listener,
        )
        self.addresses: dict[str, tuple[str, int]] = {}

    @property
    def connections(self) -> int:
        """How many there are, with those in the waiting room."""
        return len(self.admission.admitted) + len(self.admission.waiting)

    # -- life

    async def start(self) -> None:
        """Bind every listener; if one cannot be bound, none is."""
        try:
            for listener in self._listeners:
                await self._bind(listener)
        except BaseException:
            self._stop_accepting()
            raise
        self._sweep_timer = self._loop.call_later(self._sweep_s, self._sweep)

    async def drain(self, timeout_ms: int) -> int:
        """Accept and read nothing more, let the open requests be answered, close.

        Returns how many connections had to be broken off with something still owed when time was up.
        """
        self._draining = True
        self._stop_accepting()
        if self._sweep_timer:
            self._sweep_timer.cancel()
        for connection in list(self.admission.waiting):
            connection.abort(CloseReason.SHUTDOWN)
        for connection in list(self.admission.admitted):
            connection.finish()
        await self._wait_until_empty(timeout_ms)
        broken_off = list(self.admission.admitted)
        for connection in broken_off:
            connection.abort(CloseReason.SHUTDOWN)
        await self._wait_until_empty(ABORT_MS_MAX)
        return len(broken_off)

    def change_limits(self, limits: Limits) -> None:
        self.limits = limits
        self.queue.limit = limits.queued_requests_max
        self.admission.change_limits(limits)

    async def _wait_until_empty(self, timeout_ms: int) -> None:
        if self.connections:
            self._emptied = self._loop.create_future()
            await asyncio.wait([self._emptied], timeout=timeout_ms / 1000)

    def _stop_accepting(self) -> None:
        for acceptor in self._acceptors:
            acceptor.close()
        self._acceptors.clear()

    # -- listeners

    async def _bind(self, listener: Listener) -> None:
        """Bind all addresses that the host's name has, on one port."""
        port = listener.port
        try:
            found = await self._loop.getaddrinfo(
                listener.host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
            )
            for address in dict.fromkeys(str(entry[4][0]) for entry in found):
                try:
                    acceptor = await self._accept_on(listener, address, port)
                except OSError as error:
                    # The machine knows the family (commonly IPv6) and has it switched off.
                    if error.errno in (errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL) and listener.name in self.addresses:
                        continue
                    raise
                port = acceptor.sockets[0].getsockname()[1]
                self.addresses.setdefault(listener.name, (address, port))
        except OSError as error:
            raise ConfigError(
                f"listener {listener.name} cannot be bound to {listener.host or '*'}:{listener.port}: "
                f"{error.strerror or error}"
            ) from error

    async def _accept_on(self, listener: Listener, address: str, port: int) -> asyncio.Server:
        limits = self.limits
        acceptor = await self._loop.create_server(
            lambda: Connection(self._loop, self, listener.name),
            address,
            port,
            ssl=listener.tls,
            ssl_handshake_timeout=TLS_HANDSHAKE_MS_MAX / 1000 if listener.tls else None,
            backlog=limits.listen_backlog_size,
            start_serving=False,
        )
        self._acceptors.append(acceptor)
        for bound in acceptor.sockets:  # what it accepts inherits these
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            if limits.send_buffer_bytes >= 0:
                bound.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, limits.send_buffer_bytes)
            if limits.receive_buffer_bytes >= 0:
                bound.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, limits.receive_buffer_bytes)
        await acceptor.start_serving()
        return acceptor

    # -- connections

    def connection_arrived(self, connection: Connection) -> None:
        self.traffic.connections_accepted += 1
        self.admission.arrived(connection)
        if self._draining:  # it was under way when the door was shut
            connection.abort(CloseReason.SHUTDOWN)

    def connection_left(self, connection: Connection) -> None:
        self.admission.left(connection)
        if self._emptied and not self._emptied.done() and not self.connections:
            self._emptied.set_result(None)

    @property
    def _sweep_s(self) -> float:
        idle_ms_max = self.limits.connection_idle_ms_max
        return min(SWEEP_MS_MAX, idle_ms_max / 8 if idle_ms_max > 0 else SWEEP_MS_MAX) / 1000

    def _sweep(self) -> None:
        now = self._loop.time()
        for connection in [*self.admission.admitted, *self.admission.waiting]:
            connection.expire(now)
        self.buffers.trim()
        self._sweep_timer = self._loop.call_later(self._sweep_s, self._sweep)
