"""One partition that is copied from its leader: where it stands, and what it waits for.

    TRUNCATING ──(the leader said where the epoch ends)──► FETCHING ◄──(the leader said what it has)── LOST
         ▲                                                  │   │                                        ▲
         └────────────(the leader cannot say by fetch)──────┘   └──(the leader has no such offset)───────┘

In any stage it may be delayed after an error, and then nothing is asked about it until the delay is over. The first
delays are short: most errors are a leader that has not heard yet that it leads.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import Protocol

from moldau.records.batch import Buffer
from moldau.storage.leader_epochs import LeaderEpochs
from moldau.storage.log_directory import TopicPartition

NO_EPOCH = -1
FIRST_DELAY_MS = 20


class FollowerReplica(Protocol):
    """The local log as a follower needs it; everything may raise `ApiError`, as when its directory is offline."""

    @property
    def log_start_offset(self) -> int: ...
    @property
    def log_end_offset(self) -> int: ...
    @property
    def high_watermark(self) -> int: ...
    @property
    def leader_epochs(self) -> LeaderEpochs: ...
    def append(self, records: Buffer) -> None: ...
    def follow(self, high_watermark: int, log_start_offset: int) -> None: ...
    def truncate_to(self, offset: int) -> None: ...
    def truncate_fully_and_start_at(self, offset: int) -> None: ...


class Stage(Enum):
    TRUNCATING = auto()
    """Where the log agrees with the leader's has to be asked first (OffsetForLeaderEpoch)."""
    FETCHING = auto()
    LOST = auto()
    """The leader does not have the offset that was asked for: what it has is to be asked (ListOffsets)."""


class FollowedPartition:
    """`lag` is how far the log is behind the leader's high watermark, None as long as that is not known."""

    __slots__ = (
        "delayed_until_ms",
        "failures",
        "key",
        "lag",
        "last_fetched_epoch",
        "leader_epoch",
        "offset",
        "replica",
        "stage",
        "topic_id",
    )

    def __init__(self, key: TopicPartition, topic_id: bytes, leader_epoch: int, replica: FollowerReplica) -> None:
        self.key = key
        self.topic_id = topic_id
        self.leader_epoch = leader_epoch
        self.replica = replica
        self.stage = Stage.FETCHING
        self.lag: int | None = None
        self.delayed_until_ms: float | None = None
        self.failures = 0
        self.offset = 0
        self.last_fetched_epoch = NO_EPOCH

    def __repr__(self) -> str:
        return f"FollowedPartition({self.key[0]}-{self.key[1]}, {self.stage.name}, offset {self.offset})"

    @property
    def is_in_sync(self) -> bool:
        return self.lag == 0

    def stand_at_end(self) -> None:
        """Go on from where the log ends now."""
        self.offset = self.replica.log_end_offset
        latest = self.replica.leader_epochs.latest_epoch
        self.last_fetched_epoch = NO_EPOCH if latest is None else latest

    def delay(self, now_ms: float, delay_max_ms: int) -> float:
        """Until when to leave it alone; longer with each failure in a row."""
        delay_ms = min(FIRST_DELAY_MS << min(self.failures, 16), delay_max_ms)
        self.failures += 1
        self.delayed_until_ms = now_ms + delay_ms
        return self.delayed_until_ms
