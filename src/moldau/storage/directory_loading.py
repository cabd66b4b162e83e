"""Opening all logs of a log directory at start, in as many threads as `num.recovery.threads.per.data.dir` says.

    orders-3                    loaded: as it is after a clean stop, and recovered otherwise
    orders-3.<hex>-future       loaded too: whoever moves replicas goes on with it
    orders-3.<hex>-delete       to be removed, after the delay once more
    orders-3.<hex>-stray        left alone

Checkpoints that cannot be read say nothing: recovery then begins at the start of each log, which takes longer and loses
nothing but what DeleteRecords had hidden. Offsets beyond the end of a log are dealt with where the log is loaded.

An OSError stops the loading of this directory, and of no other. Anything else that is wrong is for an operator to see
before data is touched, and stops the start.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterable
from pathlib import Path

from moldau.storage.checkpoints import (
    LOG_START_CHECKPOINT,
    RECOVERY_POINT_CHECKPOINT,
    REPLICATION_CHECKPOINT,
    read_offsets,
)
from moldau.storage.directory_files import clear_clean_shutdown
from moldau.storage.file_names import LOG_SUFFIX, DirectoryState, PartitionDirectory, parse_segment_file
from moldau.storage.files import CorruptFile
from moldau.storage.log import PRODUCER_EXPIRATION_MS, Log
from moldau.storage.log_directory import LogDirectory, RemovedDirectory, TopicPartition
from moldau.storage.log_loading import Checkpointed, load_log
from moldau.storage.log_settings import LogSettings
from moldau.storage.segment import Segment

logger = logging.getLogger(__name__)

SettingsOf = Callable[[str], LogSettings]

_PROGRESS_INTERVAL_MS = 5_000
_MEBIBYTE = 1 << 20


class DirectoryLoading:
    """The loading of one directory: `begin`, then `work` in some threads at once, then `finish`, not in a thread."""

    def __init__(
        self,
        directory: LogDirectory,
        settings_of: SettingsOf,
        delete_delay_ms: int,
        producer_expiration_ms: int = PRODUCER_EXPIRATION_MS,
    ) -> None:
        self.directory = directory
        self._delete_delay_ms = delete_delay_ms
        self._producer_expiration_ms = producer_expiration_ms
        self._to_load = deque(found for found in directory.found if found[1].state in _LOADED)
        self._count = len(self._to_load)
        self._settings = {topic: settings_of(topic) for topic in {found.topic for _, found in self._to_load}}
        self._loaded: list[tuple[PartitionDirectory, Log]] = []
        self._bytes_left = 0
        self._said_ms = directory.seams.clock.monotonic_ms()
        self._started_ms = self._said_ms

    def begin(self) -> None:
        """Read the checkpoints; from now on the directory counts as not left in order."""
        directory = self.directory
        self._recovery_points = self._checkpoint(RECOVERY_POINT_CHECKPOINT)
        self._log_starts = self._checkpoint(LOG_START_CHECKPOINT)
        self._high_watermarks = self._checkpoint(REPLICATION_CHECKPOINT)
        if directory.was_clean:
            logger.info("%s: %d logs to load after a clean stop", directory, self._count)
            clear_clean_shutdown(directory.files, directory.path)
        elif not self._count:
            logger.info("%s: there are no logs yet", directory)
        else:
            self._bytes_left = sum(self._bytes_to_recover(name, found) for name, found in self._to_load)
            size = self._bytes_left // _MEBIBYTE
            logger.info("%s: %d logs to load, not stopped cleanly: %d MiB to recover", directory, self._count, size)

    def work(self) -> None:
        """Load logs until there are none left. Runs in several threads."""
        while True:
            try:
                name, found = self._to_load.popleft()
            except IndexError:
                return
            try:
                self._loaded.append((found, self._load(name, found)))
            except BaseException:
                self._to_load.clear()
                logger.error("%s: %s cannot be loaded", self.directory, name)  # noqa: TRY400  # the caller has the rest
                raise
            self._say_progress()

    def finish(self) -> Iterable[tuple[PartitionDirectory, Log]]:
        """All logs that were loaded; what was deleted before the stop is to be removed."""
        directory, clock = self.directory, self.directory.seams.clock
        due_ms = clock.now_ms() + self._delete_delay_ms
        for name, found in directory.found:
            if found.state is DirectoryState.DELETE:
                directory.removed.append(RemovedDirectory(due_ms, directory.path / name))
            elif found.state is DirectoryState.STRAY:
                logger.warning("%s: %s is not touched; remove it when nothing in it is needed", directory, name)
        took_ms = clock.monotonic_ms() - self._started_ms
        logger.info("%s: loaded %d logs in %d ms", directory, len(self._loaded), took_ms)
        return self._loaded

    def _load(self, name: str, found: PartitionDirectory) -> Log:
        partition = found.topic, found.partition
        return load_log(
            self.directory.place(found.topic, found.partition, name),
            self._settings[found.topic],
            Checkpointed(
                self._recovery_points.get(partition, 0),
                self._log_starts.get(partition, 0),
                self._high_watermarks.get(partition, 0),
            ),
            clean=self.directory.was_clean,
            producer_expiration_ms=self._producer_expiration_ms,
            progress=self._recovering,
        )

    def _checkpoint(self, name: str) -> dict[TopicPartition, int]:
        path = self.directory.path / name
        try:
            return read_offsets(self.directory.files, path)
        except CorruptFile as error:
            logger.warning("%s cannot be used, as if there were none: %s", name, error)
            return {}

    def _bytes_to_recover(self, name: str, found: PartitionDirectory) -> int:
        """The bytes in segments from the recovery point on, which are about to be read."""
        files, path = self.directory.files, self.directory.path / name
        parsed = [file for file in map(parse_segment_file, files.names(path)) if file and file.kind == LOG_SUFFIX]
        bases = sorted(file.offset for file in parsed if not file.state)
        recovery_point = self._recovery_points.get((found.topic, found.partition), 0)
        first = max((base for base in bases if base <= recovery_point), default=0)
        return sum(_log_bytes(self.directory, path, base) for base in bases if base >= first)

    def _recovering(self, segment: Segment) -> None:
        self._bytes_left = max(0, self._bytes_left - segment.size_bytes)
        self._say_progress()

    def _say_progress(self) -> None:
        now_ms = self.directory.seams.clock.monotonic_ms()
        if now_ms - self._said_ms >= _PROGRESS_INTERVAL_MS:
            self._said_ms = now_ms
            left = f", {self._bytes_left // _MEBIBYTE} MiB left to recover" if self._bytes_left else ""
            logger.info("%s: %d of %d logs loaded%s", self.directory, len(self._loaded), self._count, left)


_LOADED = (DirectoryState.CURRENT, DirectoryState.FUTURE)


def _log_bytes(directory: LogDirectory, path: Path, base_offset: int) -> int:
    return directory.files.size(path / f"{base_offset:020d}{LOG_SUFFIX}")
