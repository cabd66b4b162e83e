"""Where a log lives, and through what it reaches the world: files, clock and randomness."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from random import Random

from moldau.base.clock import Clock
from moldau.storage.files import Files
from moldau.storage.log_settings import LogSettings
from moldau.storage.open_files import OpenFiles
from moldau.storage.segment import Segment

LEADER_EPOCH_CHECKPOINT = "leader-epoch-checkpoint"


@dataclass(frozen=True, slots=True)
class LogPlace:
    """The directory of one partition, and the seams of the broker that it belongs to."""

    directory: Path
    topic: str
    partition: int
    open_files: OpenFiles
    clock: Clock
    random: Random

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"

    @property
    def files(self) -> Files:
        return self.open_files.files

    @property
    def epochs_path(self) -> Path:
        return self.directory / LEADER_EPOCH_CHECKPOINT

    def segment(
        self, base_offset: int, settings: LogSettings, *, size_bytes: int = 0, created_ms: int = 0, state: str = ""
    ) -> Segment:
        return Segment(
            self.open_files,
            self.directory,
            base_offset,
            settings,
            size_bytes=size_bytes,
            created_ms=created_ms,
            state=state,
        )
