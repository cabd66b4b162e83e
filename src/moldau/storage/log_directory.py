"""One of the directories in `log.dirs`: whose it is, how it was left, its logs, and whether it still works.

A directory is taken by its lock, belongs to a broker by `meta.properties`, and is trusted after a stop that ended with
the clean-shutdown mark. The mark is taken away before anything changes, and put back as the very last thing.

An OSError means that the disk cannot be relied on: the directory goes offline with all its logs, for good, since what a
failed write or sync has left in the page cache is unknown; the broker goes on with its other directories. A new start
recovers it.

A checkpoint is of what the logs say when it is begun, and its file is written in a thread. A partition whose log is
gone is gone from the next ones, so that a new log of the same name does not inherit the old one's offsets.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import NamedTuple, TypeAlias

from moldau.base.clock import Clock
from moldau.base.errors import ConfigError
from moldau.storage.checkpoints import (
    CLEANER_CHECKPOINT,
    LOG_START_CHECKPOINT,
    RECOVERY_POINT_CHECKPOINT,
    REPLICATION_CHECKPOINT,
    write_offsets,
)
from moldau.storage.directory_files import (
    MetaProperties,
    lock_directory,
    mark_clean_shutdown,
    read_meta_properties,
    was_clean_shutdown,
    write_meta_properties,
)
from moldau.storage.file_names import DirectoryState, PartitionDirectory, parse_partition_directory, partition_directory
from moldau.storage.files import Files, Lock
from moldau.storage.log import Log
from moldau.storage.log_place import LogPlace
from moldau.storage.open_files import OpenFiles

logger = logging.getLogger(__name__)

TopicPartition: TypeAlias = tuple[str, int]

# More threads, which only wait for the disk: what is synced at the same time shares a commit of the file system.
SYNCING = 16


class Seams(NamedTuple):
    """Through what the logs of a broker reach the world."""

    open_files: OpenFiles
    clock: Clock
    random: Random


class RemovedDirectory(NamedTuple):
    """A partition's directory that was deleted, and when its files may go."""

    due_ms: int
    path: Path


class Removal(NamedTuple):
    """What is to be removed, for a thread."""

    files: Files
    paths: list[Path]
    logs: list[Log]
    now_ms: int

    def run(self) -> None:
        for path in self.paths:
            self.files.remove_tree(path)
            logger.info("deleted log directory %s", path)
        for log in self.logs:
            log.remove_due_files(self.now_ms)


class Checkpoint(NamedTuple):
    """An offset of each partition, and the file for them."""

    path: Path
    offsets: dict[TopicPartition, int]


class LogDirectory:
    """Made by `LogDirectories`, which keeps what is known of all directories together."""

    def __init__(self, path: Path, seams: Seams, threads: int = 1) -> None:
        """`threads` is `num.recovery.threads.per.data.dir`; one more is there, so that a sync does not wait for all."""
        self.path = path
        self.seams = seams
        self.threads = threads
        self.logs: dict[TopicPartition, Log] = {}
        self.future_logs: dict[TopicPartition, Log] = {}
        self.owner: MetaProperties | None = None
        self.was_clean = False
        self.found: list[tuple[str, PartitionDirectory]] = []
        self.removed: list[RemovedDirectory] = []
        self.offline_reason: str | None = None
        self.workers = ThreadPoolExecutor(threads + SYNCING, thread_name_prefix=f"log-directory-{path.name}")
        self._lock: Lock | None = None

    def __str__(self) -> str:
        return str(self.path)

    @property
    def files(self) -> Files:
        return self.seams.open_files.files

    @property
    def is_online(self) -> bool:
        return self.offline_reason is None

    @property
    def all_logs(self) -> list[Log]:
        """Current and future ones."""
        return [*self.logs.values(), *self.future_logs.values()]

    # -- life

    def open(self) -> None:
        """Take the directory, made if need be, and see what is in it; nothing else changes.

        OSError if it cannot be used; `ConfigError` if it must not be: in use, or not a log directory.
        """
        _make_directories(self.files, self.path)
        self._lock = lock_directory(self.files, self.path)
        self.owner = read_meta_properties(self.files, self.path)
        self.was_clean = was_clean_shutdown(self.files, self.path)
        for name in sorted(self.files.directories(self.path)):
            try:
                self.found.append((name, parse_partition_directory(name)))
            except ConfigError as error:
                raise ConfigError(f"{self.path}: {error}") from None

    def claim(self, owner: MetaProperties) -> None:
        """Make the directory a broker's; whose it was has been checked."""
        if self.owner is None or self.owner.cluster_id is None:
            write_meta_properties(self.files, self.path, owner, self.seams.clock.now_ms())
        self.owner = owner
        if not self.files.exists(self.path / CLEANER_CHECKPOINT):
            self.files.open(self.path / CLEANER_CHECKPOINT, create=True).close()

    def close(self, is_clean: bool) -> None:
        """Let go of the directory; with all logs closed, write what the next start trusts. Waits for the disk."""
        if is_clean:
            self.write_checkpoints(self.checkpoints())
            mark_clean_shutdown(self.files, self.path)
        self.release()

    def release(self) -> None:
        self.workers.shutdown(wait=False)
        lock, self._lock = self._lock, None
        if lock is not None:
            with suppress(OSError):
                lock.release()

    def fail(self, error: OSError) -> list[TopicPartition]:
        """Go offline; the partitions that had their log here."""
        self.offline_reason = str(error)
        lost = list(self.logs)
        logger.error("log directory %s is offline, with %d partitions: %s", self.path, len(lost), error)
        for log in self.all_logs:
            log.forget_files()
        self.logs.clear()
        self.future_logs.clear()
        self.removed.clear()
        self.release()
        return lost

    # -- logs

    def place(self, topic: str, partition: int, name: str = "") -> LogPlace:
        """Where a log lives here; under another name while it is not the current one."""
        directory = self.path / (name or partition_directory(topic, partition))
        return LogPlace(directory, topic, partition, *self.seams)

    def set_aside(self, log: Log, state: DirectoryState) -> Path:
        """Rename the directory of a log that nobody is to use any more; its new path."""
        log.forget_files()
        path = self.path / self.unique_name(log.place.topic, log.place.partition, state)
        self.files.rename(log.place.directory, path)
        return path

    def delete(self, log: Log) -> None:
        """Rename a log's directory to be removed after `file.delete.delay.ms`: readers can still finish."""
        path = self.set_aside(log, DirectoryState.DELETE)
        due_ms = self.seams.clock.now_ms() + log.settings.file_delete_delay_ms
        self.removed.append(RemovedDirectory(due_ms, path))
        logger.info("log for partition %s is renamed to %s and is scheduled for deletion", log.place, path)

    def unique_name(self, topic: str, partition: int, state: DirectoryState) -> str:
        return partition_directory(topic, partition, state, self.seams.random.randbytes(16).hex())

    def take_due(self, now_ms: int) -> Removal | None:
        """The directories and files whose time has come, to be removed in a thread."""
        paths = [removed.path for removed in self.removed if removed.due_ms <= now_ms]
        logs = [log for log in self.all_logs if log.removed and log.removed[0].due_ms <= now_ms]
        if not paths and not logs:
            return None
        self.removed = [removed for removed in self.removed if removed.due_ms > now_ms]
        return Removal(self.files, paths, logs, now_ms)

    # -- checkpoints

    def checkpoints(self, names: Iterable[str] = ()) -> list[Checkpoint]:
        """What checkpoints say now, by name, or all but the cleaner's, which writes its own."""
        logs = self.all_logs
        found = []
        for name in names or _OFFSET_OF:
            offset_of = _OFFSET_OF[name]
            offsets = [(log.place.topic, log.place.partition, offset_of(log)) for log in logs]
            known = {(topic, partition): offset for topic, partition, offset in offsets if offset is not None}
            found.append(Checkpoint(self.path / name, known))
        return found

    def write_checkpoints(self, checkpoints: Iterable[Checkpoint]) -> None:
        """One writer at a time. Waits for the disk."""
        for checkpoint in checkpoints:
            write_offsets(self.files, checkpoint.path, checkpoint.offsets)


def _log_start_offset(log: Log) -> int | None:
    """Only what the first segment's name does not say."""
    return log.log_start_offset if log.log_start_offset > log.segments.first.base_offset else None


_OFFSET_OF: dict[str, Callable[[Log], int | None]] = {
    RECOVERY_POINT_CHECKPOINT: lambda log: log.checkpointed_recovery_point,
    LOG_START_CHECKPOINT: _log_start_offset,
    REPLICATION_CHECKPOINT: lambda log: log.high_watermark,
}


def _make_directories(files: Files, path: Path) -> None:
    if not files.exists(path):
        if path.parent != path:
            _make_directories(files, path.parent)
        files.make_directory(path)
        files.sync_directory(path.parent)
