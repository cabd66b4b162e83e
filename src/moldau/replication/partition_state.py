"""What goes in and out of a partition: its log, the controller's word about it, and the effects on others."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from moldau.replication.in_sync_replicas import IsrProposal
from moldau.storage.leader_epochs import LeaderEpochs

NO_LEADER = -1
NO_EPOCH = -1


class PartitionLog(Protocol):
    """What a partition needs of its log; `moldau.storage.log.Log` is one."""

    @property
    def log_start_offset(self) -> int: ...
    @property
    def log_end_offset(self) -> int: ...
    @property
    def high_watermark(self) -> int: ...
    @property
    def last_stable_offset(self) -> int: ...
    @property
    def leader_epochs(self) -> LeaderEpochs: ...
    def advance_high_watermark(self, offset: int) -> bool: ...
    def start_epoch(self, epoch: int, start_offset: int) -> None: ...


class LeaderAndIsr(NamedTuple):
    """What the controller says about a partition."""

    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    partition_epoch: int
    replicas: tuple[int, ...]
    adding_replicas: tuple[int, ...] = ()


class Moved(NamedTuple):
    """Effects of a follower's fetch or of the controller's word."""

    high_watermark: bool = False
    low_watermark: bool = False
    proposal: IsrProposal | None = None
