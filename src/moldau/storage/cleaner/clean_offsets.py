"""Up to where each log is clean: `cleaner-offset-checkpoint` in every log directory.

The offsets are kept in memory and belong to the loop; a file is written as a whole, in a thread, after a cleaning. A
lost or old checkpoint costs a cleaning that finds little to do, and nothing else.
"""

from __future__ import annotations

import logging
from collections.abc import Collection
from pathlib import Path

from moldau.storage.checkpoints import CLEANER_CHECKPOINT, read_offsets
from moldau.storage.files import CorruptFile, Files
from moldau.storage.log import Log
from moldau.storage.log_directory import TopicPartition

logger = logging.getLogger(__name__)


class CleanOffsets:
    """The first dirty offset of each log that was ever cleaned."""

    def __init__(self) -> None:
        self._offsets: dict[Path, dict[TopicPartition, int]] = {}

    def load(self, files: Files, directory: Path) -> None:
        """Take over what a log directory says; waits for the disk."""
        try:
            self._offsets[directory] = read_offsets(files, directory / CLEANER_CHECKPOINT)
        except CorruptFile as error:
            logger.warning("all compacted logs of %s count as dirty: %s", directory, error)
            self._offsets[directory] = {}

    def get(self, log: Log) -> int | None:
        return self._of(log).get(partition_of(log))

    def set(self, log: Log, offset: int) -> None:
        self._of(log)[partition_of(log)] = offset

    def cut(self, log: Log, offset: int) -> bool:
        """After a truncation nothing from an offset on is clean; whether that changed anything."""
        current = self.get(log)
        if current is None or current <= offset:
            return False
        self.set(log, offset)
        return True

    def forget(self, log: Log) -> None:
        """The log is deleted; a new one of its name is not clean."""
        self._of(log).pop(partition_of(log), None)

    def move(self, log: Log, source: Path) -> None:
        """The log has come from another log directory, as clean as it was."""
        offset = self._offsets.get(source, {}).pop(partition_of(log), None)
        if offset is not None:
            self.set(log, offset)

    def keep(self, directory: Path, existing: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        """The offsets to write for a directory: of the logs that there are, the others are forgotten."""
        offsets = self._offsets.get(directory, {})
        kept = {partition: offset for partition, offset in offsets.items() if partition in existing}
        self._offsets[directory] = kept
        return dict(kept)

    def _of(self, log: Log) -> dict[TopicPartition, int]:
        return self._offsets.setdefault(log.place.directory.parent, {})


def partition_of(log: Log) -> TopicPartition:
    return log.place.topic, log.place.partition
