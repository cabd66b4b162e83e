"""The logs of a node with all that looks after them: directories, creation, moves, cleaner and housekeeping."""

from __future__ import annotations

import logging
import resource
from collections.abc import Callable, Collection
from pathlib import Path
from random import Random

from moldau.base.clock import Clock
from moldau.base.config.broker_config import BrokerConfig
from moldau.base.supervision import OnFailure, Supervisor
from moldau.storage.cleaner.clean_offsets import CleanOffsets
from moldau.storage.cleaner.log_cleaner import LogCleaner
from moldau.storage.cleaner.settings import CleanerSettings
from moldau.storage.disk_files import DiskFiles
from moldau.storage.files import Files
from moldau.storage.housekeeping import Housekeeping, HousekeepingSettings
from moldau.storage.log import Log
from moldau.storage.log_creation import LogCreation
from moldau.storage.log_directories import LogDirectories
from moldau.storage.log_directory import Seams, TopicPartition
from moldau.storage.log_moves import LogMoves
from moldau.storage.log_settings import LogSettings
from moldau.storage.open_files import OpenFiles

logger = logging.getLogger(__name__)

OPEN_FILES_MAX = 16_384
DESCRIPTORS_LEFT = 0.5  # for connections, of those that the process may have

OnOffline = Callable[[Path, Collection[TopicPartition]], None]


class LogStorage:
    """To be opened, loaded and started, in this order, and closed."""

    def __init__(
        self,
        config: BrokerConfig,
        clock: Clock,
        random: Random,
        *,
        files: Files | None = None,
        on_offline: OnOffline,
        on_all_offline: Callable[[], None],
    ) -> None:
        seams = Seams(OpenFiles(files or DiskFiles(), open_files_max()), clock, random)
        self._config = config
        self.directories = LogDirectories(
            log_dirs_of(config),
            seams,
            threads=config.integer("num.recovery.threads.per.data.dir"),
            on_offline=on_offline,
            on_all_offline=on_all_offline,
        )
        self.creation = LogCreation(self.directories)
        self.moves = LogMoves(self.directories, self.creation)
        self._clean_offsets = CleanOffsets()
        self.cleaner = LogCleaner(
            lambda: list(self.directories.logs.values()),
            self._clean_offsets,
            CleanerSettings.of(config),
            clock,
            self._failed,
        )
        self._housekeeping = Housekeeping(self.directories, HousekeepingSettings.of(config), self.cleaner.is_cleaning)

    async def load(self, settings_of: Callable[[str], LogSettings]) -> None:
        await self.directories.load(
            settings_of,
            delete_delay_ms=self._config.integer("log.segment.delete.delay.ms"),
            producer_expiration_ms=self._config.integer("producer.id.expiration.ms"),
        )
        for directory in self.directories.online:
            self._clean_offsets.load(directory.files, directory.path)

    def start(self, supervisor: Supervisor) -> None:
        """Begin to look after the logs."""
        self._housekeeping.start(supervisor)
        if self._config.boolean("log.cleaner.enable"):
            supervisor.start("log-cleaner", self.cleaner.run, OnFailure.RESTART)

    async def close(self) -> None:
        self.cleaner.close()
        await self.directories.close()

    def abandon(self) -> None:
        """Let go of everything as it is: the next start recovers it as after a crash."""
        self.cleaner.close()
        for directory in self.directories.directories:
            for log in directory.all_logs:
                log.forget_files()
            directory.release()

    def _failed(self, log: Log, error: OSError) -> None:
        self.directories.failed(log, error)


def log_dirs_of(config: BrokerConfig) -> list[Path]:
    """`log.dirs`, else `log.dir`, as absolute paths."""
    text = config.text_or_none("log.dirs") or config.text("log.dir")
    return [Path(part.strip()).absolute() for part in text.split(",") if part.strip()]


def open_files_max() -> int:
    """How many files of logs may be open at the same time."""
    soft, _hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return OPEN_FILES_MAX
    return max(64, min(OPEN_FILES_MAX, int(soft * (1 - DESCRIPTORS_LEFT))))
