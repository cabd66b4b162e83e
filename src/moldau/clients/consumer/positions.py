"""Where one partition is read, and what has to be found out before.

    INITIALIZING ──committed offset──► FETCHING ◄──valid── AWAIT_VALIDATION
         │ none                         ▲   │ ▲                  ▲
         ▼                              │   │ └── new leader ────┘
    AWAIT_RESET ───────offset───────────┘   └── out of range ──► AWAIT_RESET

Each change that is not reading on gives the position a new version. What was asked before a change carries the old one,
and is dropped when it comes.
"""

from __future__ import annotations

from enum import Enum, auto
from itertools import count
from typing import NamedTuple

from moldau.clients.consumer.offset_reset import ResetPolicy

NO_EPOCH = -1
_versions = count(1)


class FetchPosition(NamedTuple):
    """The next record to read, the epoch of the one before it, and the leader's epoch as far as it is known."""

    offset: int
    offset_epoch: int = NO_EPOCH
    leader_epoch: int = NO_EPOCH


class FetchState(Enum):
    INITIALIZING = auto()
    AWAIT_RESET = auto()
    AWAIT_VALIDATION = auto()
    FETCHING = auto()


class PartitionState:
    """An assigned partition."""

    __slots__ = (
        "high_watermark",
        "last_stable_offset",
        "log_start_offset",
        "nearby_replica",
        "nearby_until_ms",
        "next_fetch_offset",
        "paused",
        "position",
        "reset",
        "retry_at_ms",
        "state",
        "version",
    )

    def __init__(self) -> None:
        self.state = FetchState.INITIALIZING
        self.position: FetchPosition | None = None
        self.version = next(_versions)
        self.paused = False
        self.reset: ResetPolicy | None = None
        self.high_watermark = -1
        self.last_stable_offset = -1
        self.log_start_offset = -1
        self.nearby_replica = -1
        self.nearby_until_ms = 0.0
        self.retry_at_ms = 0.0
        self.next_fetch_offset = -1
        """From where the next fetch reads: ahead of the position by what is buffered."""

    @property
    def fetchable(self) -> bool:
        return self.state is FetchState.FETCHING and not self.paused

    def seek(self, position: FetchPosition) -> None:
        """Read from another place."""
        self._change(FetchState.FETCHING)
        self.position = position
        self.next_fetch_offset = position.offset

    def seek_and_validate(self, position: FetchPosition) -> None:
        """Read from a place that another consumer knew, unless the log has changed since."""
        self.seek(position)
        if position.offset_epoch != NO_EPOCH:
            self.state = FetchState.AWAIT_VALIDATION

    def begin_reset(self, policy: ResetPolicy) -> None:
        self._change(FetchState.AWAIT_RESET)
        self.position = None
        self.reset = policy

    def leader_is(self, leader_epoch: int) -> None:
        """A leader of another epoch: what was read may not be in its log (KIP-320)."""
        position = self.position
        if position is None or leader_epoch <= position.leader_epoch:
            return
        self.position = position._replace(leader_epoch=leader_epoch)
        self.nearby_replica = -1
        if self.state is FetchState.FETCHING and position.leader_epoch != NO_EPOCH != position.offset_epoch:
            self._change(FetchState.AWAIT_VALIDATION)
            self.next_fetch_offset = position.offset

    def validated(self) -> None:
        self.state = FetchState.FETCHING

    def read_up_to(self, position: FetchPosition) -> None:
        """Records were given out."""
        self.position = position

    def _change(self, state: FetchState) -> None:
        self.state = state
        self.version = next(_versions)
        self.nearby_replica = -1
        self.retry_at_ms = 0.0
