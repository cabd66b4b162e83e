"""A log of nothing but leader epochs, one for each record: enough for replication."""

from __future__ import annotations

from moldau.replication.partition import Partition
from moldau.replication.partition_state import LeaderAndIsr
from moldau.storage.leader_epochs import LeaderEpochs

LAG_MS = 10_000


class MemoryLog:
    def __init__(self, records: int = 0, epoch: int = 0) -> None:
        self.epochs = [epoch] * records
        self.leader_epochs = LeaderEpochs("memory", [(epoch, 0)] if records else [])
        self.log_start_offset = 0
        self.high_watermark = 0
        self.open_transaction_offset: int | None = None

    @property
    def log_end_offset(self) -> int:
        return len(self.epochs)

    @property
    def last_stable_offset(self) -> int:
        opened = self.open_transaction_offset
        return self.high_watermark if opened is None else min(self.high_watermark, opened)

    def append(self, epoch: int, records: int = 1) -> None:
        self.start_epoch(epoch, self.log_end_offset)
        self.epochs += [epoch] * records

    def start_epoch(self, epoch: int, start_offset: int) -> None:
        self.leader_epochs.assign(epoch, start_offset)

    def advance_high_watermark(self, offset: int) -> bool:
        offset = min(offset, self.log_end_offset)
        if offset <= self.high_watermark:
            return False
        self.high_watermark = offset
        return True


def partition(
    log: MemoryLog | None, *, broker_id: int = 1, min_isr: int = 1, dead: set[int] | None = None
) -> Partition[MemoryLog]:
    dead = set() if dead is None else dead
    return Partition(
        "t-0",
        broker_id,
        log,
        min_insync_replicas=min_isr,
        replica_lag_time_max_ms=LAG_MS,
        is_alive=lambda broker: broker not in dead,
    )


def led_by(
    leader: int, isr: tuple[int, ...], *, epoch: int = 0, version: int = 0, replicas: tuple[int, ...] = (1, 2, 3)
) -> LeaderAndIsr:
    return LeaderAndIsr(leader, epoch, isr, version, replicas)
