"""How a connection to a broker is made, with the defaults of Kafka's clients."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from moldau.base.version import __version__

if TYPE_CHECKING:
    import ssl

    from moldau.net.client import ClientConnection

# Kafka's clients have at most 5 in flight towards a broker for ordering's sake, and that is the producer's matter. This
# bounds what one connection remembers; it is the number that a server of ours reads ahead.
IN_FLIGHT_MAX = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientOptions:
    """What connections of one client have in common; a field that is a setting names it."""

    client_id: str | None = "moldau"  # client.id
    software_name: str = "moldau"  # told to the broker in ApiVersions (KIP-511)
    software_version: str = __version__
    request_timeout_ms: int = 30_000  # request.timeout.ms
    setup_timeout_ms: int = 10_000  # socket.connection.setup.timeout.ms
    setup_timeout_max_ms: int = 30_000  # socket.connection.setup.timeout.max.ms
    reconnect_backoff_ms: int = 50  # reconnect.backoff.ms
    reconnect_backoff_max_ms: int = 1_000  # reconnect.backoff.max.ms
    idle_ms_max: int = 540_000  # connections.max.idle.ms: below the broker's, which would close under us
    in_flight_max: int = IN_FLIGHT_MAX
    response_bytes_max: int = 2**31 - 1
    send_buffer_bytes: int = -1  # send.buffer.bytes; -1: the system's own
    receive_buffer_bytes: int = -1  # receive.buffer.bytes; -1: the system's own
    negotiate: bool = True  # ask for the broker's versions; without, the newest of ours are used
    tls: ssl.SSLContext | None = None
    tls_server_name: str | None = None  # if the certificate names another host than the address
    authenticate: Callable[[ClientConnection], Awaitable[None]] | None = None  # after the negotiation
    drawn_from: random.Random | None = None  # for jitter; a seeded one makes runs repeatable
