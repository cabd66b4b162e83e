"""A member of a classic group: what it told when it joined, what it was assigned, and which answers it waits for."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import TypeAlias

from moldau.coordinator.runtime.result import Reply
from moldau.protocol.messages.join_group import JoinGroupResponse
from moldau.protocol.messages.sync_group import SyncGroupResponse

Protocols: TypeAlias = tuple[tuple[str, bytes], ...]
"""Names of protocols (assignors, for consumers) with the member's metadata for each, the preferred one first."""


@dataclass(slots=True, eq=False)
class Member:
    """Its session lasts until `session_end_ms`, in monotonic time; the timer that looks for it runs at `timer_ms`."""

    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    session_timeout_ms: int
    protocols: Protocols
    assignment: bytes = b""
    is_new: bool = False
    join_reply: Reply[JoinGroupResponse] | None = None
    sync_reply: Reply[SyncGroupResponse] | None = None
    session_end_ms: float = 0.0
    timer_ms: float = 0.0

    @property
    def is_static(self) -> bool:
        return self.group_instance_id is not None

    @property
    def is_excused(self) -> bool:
        """Whether silence is no sign of death: it waits for us. Who has just joined may be gone, and nobody knows."""
        return not self.is_new and (self.join_reply is not None or self.sync_reply is not None)

    def metadata(self, protocol_name: str) -> bytes:
        return next(metadata for name, metadata in self.protocols if name == protocol_name)

    def vote(self, candidates: Collection[str]) -> str:
        """The protocol that it likes best of those which everybody supports."""
        return next(name for name, _ in self.protocols if name in candidates)
