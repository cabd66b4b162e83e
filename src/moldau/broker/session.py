"""What a node knows of the client at the other end of a connection."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Session:
    """Kept in the connection for as long as it lasts."""

    client_software_name: str = "unknown"
    client_software_version: str = "unknown"
    last_produced: tuple[str, int] | None = None
    last_committed: list[tuple[str, int]] | None = None
    """The partition of the last produce, if that was an ordinary one (see `repeated_produce`)."""
