"""The way to one address: a connection when it is needed, a new one when the old one is gone.

At most one attempt is under way; whoever asks meanwhile waits for the same one. After a failure, or after a
connection was lost, the next attempt is put off with a backoff, and until then everybody who asks fails at
once: waiting is the caller's decision, who knows what else it could do (another broker, say). A connection
that was idle for so long that the broker may be about to close it is replaced before it is used.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from moldau.base.errors import ConnectFailed, MoldauError
from moldau.net.backoff import Backoff
from moldau.net.client import ClientConnection
from moldau.net.client_options import ClientOptions
from moldau.net.connect import client_buffers, connect
from moldau.net.frames import ReceiveBuffers
from moldau.protocol.schema import Message

# What loops tell apart: who has slept for `retry_in_ms` is not told to wait for a fraction of this.
TIMER_MS = 1.0


class Channel:
    """Connections to one address, one at a time. To be made inside a running loop."""

    def __init__(
        self,
        host: str,
        port: int,
        options: ClientOptions | None = None,
        *,
        buffers: ReceiveBuffers | None = None,
        on_lost: Callable[[], None] | None = None,
    ) -> None:
        options = options or ClientOptions()
        self.host = host
        self.port = port
        self._options = options
        self._buffers = buffers or client_buffers()
        self._loop = asyncio.get_running_loop()
        drawn_from = options.drawn_from
        self._backoff = Backoff(options.reconnect_backoff_ms, options.reconnect_backoff_max_ms, drawn_from=drawn_from)
        self._setup_timeout = Backoff(options.setup_timeout_ms, options.setup_timeout_max_ms, drawn_from=drawn_from)
        self._connection: ClientConnection | None = None
        self._attempt: asyncio.Task[ClientConnection] | None = None
        self._failures = 0
        self._retry_at = 0.0
        self._last_failure = ""
        self._closed = False
        self._on_lost = on_lost

    @property
    def connected(self) -> ClientConnection | None:
        """The connection if there is one now; a plain look, for callers that must not wait."""
        return self._connection

    @property
    def retry_in_ms(self) -> float:
        """How long every attempt fails at once; 0 if the next one will be made."""
        left_ms = (self._retry_at - self._loop.time()) * 1000
        return left_ms if left_ms >= TIMER_MS else 0.0

    async def connection(self) -> ClientConnection:
        """The connection, made now if there is none. Raises ConnectFailed, at once while in backoff."""
        self._drop_if_idle()
        if self._connection is not None:
            return self._connection
        if self._closed:
            raise ConnectFailed(f"the channel to {self.host}:{self.port} is closed")
        if self._attempt is None:
            if retry_in_ms := self.retry_in_ms:
                raise ConnectFailed(
                    f"{self._last_failure}; the next attempt to connect is in {retry_in_ms:.0f} ms at the earliest"
                )
            self._attempt = self._loop.create_task(self._connect(), name=f"connect to {self.host}:{self.port}")
            self._attempt.add_done_callback(_look_at_failure)
        attempt = self._attempt
        try:
            # Shielded: one caller that gives up does not take the attempt away from the others.
            return await asyncio.shield(attempt)
        except asyncio.CancelledError:
            caller = asyncio.current_task()
            assert caller is not None
            # Who is cancelled as well must hear that, and not that it may try again.
            if attempt.cancelled() and not caller.cancelling() and self._closed:
                raise ConnectFailed(f"the channel to {self.host}:{self.port} was closed") from None
            raise

    async def request(self, request: Message, version: int | None = None, *, timeout_ms: float | None = None) -> Any:
        """Send on the connection, made now if there is none, and wait for the answer."""
        connection = await self.connection()
        return await connection.request(request, version, timeout_ms=timeout_ms)

    def close(self) -> None:
        """For good; requests in flight fail with Disconnected."""
        self._closed = True
        if self._attempt is not None:
            self._attempt.cancel()
        if self._connection is not None:
            self._connection.close(f"the channel to {self.host}:{self.port} was closed")

    def _drop_if_idle(self) -> None:
        connection = self._connection
        if connection is not None and not connection.in_flight:
            idle_ms = (self._loop.time() - connection.active_at) * 1000
            if 0 <= self._options.idle_ms_max <= idle_ms:
                self._connection = None  # so that its end is not taken for a failure
                connection.close("idle")

    async def _connect(self) -> ClientConnection:
        setup_timeout_ms = self._setup_timeout.delay_ms(self._failures)
        try:
            connection = await connect(
                self.host, self.port, self._options, buffers=self._buffers, setup_timeout_ms=setup_timeout_ms
            )
        except MoldauError as error:
            self._put_off(str(error))
            raise
        finally:
            self._attempt = None
        self._failures = 0
        self._connection = connection
        connection.on_close(self._lost)
        return connection

    def _lost(self, connection: ClientConnection) -> None:
        if self._connection is connection:
            self._connection = None
            self._put_off(str(connection.closed))
            if self._on_lost is not None and not self._closed:
                self._on_lost()

    def _put_off(self, failure: str) -> None:
        self._last_failure = failure
        self._retry_at = self._loop.time() + self._backoff.delay_ms(self._failures) / 1000
        self._failures += 1


def _look_at_failure(attempt: asyncio.Task[ClientConnection]) -> None:
    """Whoever waited has the error; if nobody waited any more, it is no news either."""
    if not attempt.cancelled():
        attempt.exception()
