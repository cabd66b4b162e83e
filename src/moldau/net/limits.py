"""How much a server takes on, with Kafka's defaults.

A field whose setting can change while the broker runs (`max.connections`, `max.connections.per.ip` and
its overrides) takes effect when the server is handed a new `Limits`; the others count from then on too,
except those of sockets that already exist.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

UNLIMITED = 2**31 - 1

# Kafka handles one request of a connection at a time. We handle several, so one connection needs a
# bound of its own: enough for any client's pipeline (the Java producer's default is 5), little enough
# that one client cannot take the whole of `queued.max.requests`.
OPEN_REQUESTS_PER_CONNECTION = 100

# Above the high mark no further request is read from the client, below the low mark it goes on.
WRITE_BUFFER_HIGH_BYTES = 256 * 1024
WRITE_BUFFER_LOW_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class Limits:
    """The bounds of one server; each field names the setting that it holds."""

    request_bytes_max: int = 104_857_600  # socket.request.max.bytes
    queued_requests_max: int = 500  # queued.max.requests: read, not answered, not parked
    open_requests_per_connection_max: int = OPEN_REQUESTS_PER_CONNECTION
    connections_max: int = UNLIMITED  # max.connections
    connections_per_ip_max: int = UNLIMITED  # max.connections.per.ip
    connections_per_ip_overrides: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    connection_idle_ms_max: int = 600_000  # connections.max.idle.ms; negative: never
    listen_backlog_size: int = 50  # socket.listen.backlog.size; also the size of the waiting room
    send_buffer_bytes: int = 102_400  # socket.send.buffer.bytes; -1: the system's own
    receive_buffer_bytes: int = 102_400  # socket.receive.buffer.bytes; -1: the system's own
    write_buffer_high_bytes: int = WRITE_BUFFER_HIGH_BYTES
    write_buffer_low_bytes: int = WRITE_BUFFER_LOW_BYTES

    def connections_of_ip_max(self, host: str) -> int:
        return self.connections_per_ip_overrides.get(host, self.connections_per_ip_max)
