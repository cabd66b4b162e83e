"""Who may connect: `max.connections`, its per-listener and per-address kin, and the waiting room.

Kafka's acceptor stops accepting when `max.connections` is reached, and newcomers wait in the kernel's
backlog. An event loop accepts them, so they wait here, unread, in a room as large as that backlog; who
finds it full is closed. The listener between brokers is not held up by the total (KIP-402): when others
have taken every place, the least recently used connection of another listener makes room. A connection
too many from one address is closed at once.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Mapping

from moldau.net.connection import Connection
from moldau.net.limits import Limits
from moldau.net.traffic import CloseReason

# However many connections are refused, the log gets one line in this time.
REFUSAL_LOG_MS = 1000

logger = logging.getLogger(__name__)


class Admission:
    """The connections of a server, in order of arrival: the admitted, and those in the waiting room."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        limits: Limits,
        listener_connections_max: Mapping[str, int],
        inter_broker_listener: str | None,
    ) -> None:
        # Dictionaries as ordered sets: what is done to all is done in the same order every time.
        self.admitted: dict[Connection, None] = {}
        self.waiting: dict[Connection, None] = {}
        self._loop = loop
        self._limits = limits
        self._listener_connections_max = listener_connections_max
        self._exempt = inter_broker_listener if len(listener_connections_max) > 1 else None
        self._of_ip: Counter[str] = Counter()
        self._of_listener: Counter[str] = Counter()
        self._log_again_at = loop.time()
        self._refused_unlogged = 0

    def arrived(self, connection: Connection) -> None:
        self._of_ip[connection.peer_host] += 1
        allowed = self._limits.connections_of_ip_max(connection.peer_host)
        if self._of_ip[connection.peer_host] > allowed:
            self._refuse(connection, CloseReason.TOO_MANY_OF_IP, allowed)
        elif self._has_place(connection.listener):
            self._admit(connection)
        elif sum(other.listener == connection.listener for other in self.waiting) < (self._limits.listen_backlog_size):
            self.waiting[connection] = None
            connection.wait()
        else:
            self._refuse(connection, CloseReason.TOO_MANY, self._limits.connections_max)

    def left(self, connection: Connection) -> None:
        self._of_ip[connection.peer_host] -= 1
        if not self._of_ip[connection.peer_host]:
            del self._of_ip[connection.peer_host]
        self.waiting.pop(connection, None)
        self._give_up_place(connection)
        self._admit_waiting()

    def change_limits(self, limits: Limits) -> None:
        """`max.connections` and its kin may change at any time; a lower total closes connections."""
        self._limits = limits
        self._make_room()
        self._admit_waiting()

    def _has_place(self, listener: str) -> bool:
        if self._of_listener[listener] >= self._listener_connections_max[listener]:
            return False
        return listener == self._exempt or len(self.admitted) < self._limits.connections_max

    def _admit(self, connection: Connection) -> None:
        self.admitted[connection] = None
        self._of_listener[connection.listener] += 1
        self._make_room()
        connection.admit()

    def _admit_waiting(self) -> None:
        for connection in list(self.waiting):
            if self._has_place(connection.listener):
                del self.waiting[connection]
                self._admit(connection)

    def _give_up_place(self, connection: Connection) -> None:
        if connection in self.admitted:
            del self.admitted[connection]
            self._of_listener[connection.listener] -= 1

    def _make_room(self) -> None:
        while len(self.admitted) > self._limits.connections_max:
            candidates = [other for other in self.admitted if other.listener != self._exempt]
            if not candidates:
                return
            oldest = min(candidates, key=lambda other: other.active_at)
            self._give_up_place(oldest)
            oldest.abort(CloseReason.MADE_ROOM)

    def _refuse(self, connection: Connection, reason: CloseReason, allowed: int) -> None:
        connection.abort(reason)
        self._refused_unlogged += 1
        now = self._loop.time()
        if now >= self._log_again_at:
            logger.info(
                "Refused the connection from %s to listener %s: %s (allowed: %d); refused since the last such line: %d",
                connection.peer_host,
                connection.listener,
                reason,
                allowed,
                self._refused_unlogged,
            )
            self._log_again_at = now + REFUSAL_LOG_MS / 1000
            self._refused_unlogged = 0
