"""What a server counts, as plain numbers: the metrics layer reads them when it is asked."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum


class CloseReason(StrEnum):
    """Why a connection ended; a closed set, so that it can label a metric."""

    CLIENT = "closed by the client"
    RESET = "broken off"
    IDLE = "idle"
    REQUEST_SIZE = "request size out of bounds"
    MALFORMED = "malformed request"
    HANDLER_FAILED = "handler failed"
    PRODUCE_FAILED = "a produce with acks=0 failed"
    TOO_MANY_OF_IP = "too many connections of one address"
    TOO_MANY = "too many connections"
    MADE_ROOM = "closed to make room for another broker"
    AUTHENTICATION = "authentication failed or expired"
    SHUTDOWN = "shutdown"


@dataclass(slots=True)
class Traffic:
    """Since the start of the server. Bytes in are those of whole requests, with their size fields."""

    connections_accepted: int = 0
    requests: int = 0
    bytes_in: int = 0
    bytes_out: int = 0
    closed: Counter[CloseReason] = field(default_factory=Counter)
