"""How ZooKeeper is spoken to, beyond its address: patience, credentials, and whether znodes are protected."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ZooKeeperOptions:
    connection_timeout_ms: int | None = None
    """How long a session may take to begin; None is its own timeout."""
    in_flight_requests_max: int = 10
    """Requests of a session that are not answered; more wait for their turn."""
    digest_credentials: tuple[str, ...] = ()
    """user:password each, of ZooKeeper's scheme `digest`."""
    set_acl: bool = False
    """Whether znodes are protected: only who has the credentials can change them."""
