"""Making and deleting the logs of partitions.

A new log goes to the directory with the fewest partitions, whatever their sizes, unless another one was asked for. It
is there once its directory has a name on disk that a crash does not take away. Deleting renames the directory, and the
files go after `file.delete.delay.ms`, as in Kafka, so that running reads finish. The checkpoints are written before a
deletion counts as done: a new partition of the same name must not find the offsets of the old one there.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from functools import partial as bind
from pathlib import Path
from typing import NamedTuple

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError
from moldau.base.ids import uuid_to_text
from moldau.storage.directory_files import read_topic_id, write_topic_id
from moldau.storage.log import Log
from moldau.storage.log_directories import LogDirectories
from moldau.storage.log_directory import LogDirectory, TopicPartition
from moldau.storage.log_loading import load_log
from moldau.storage.log_settings import LogSettings

logger = logging.getLogger(__name__)


class _Creating(NamedTuple):
    """A log that is being made: where, and when that has come to an end."""

    directory: LogDirectory
    ended: asyncio.Event


class LogCreation:
    def __init__(self, directories: LogDirectories) -> None:
        self._directories = directories
        self._creating: dict[TopicPartition, _Creating] = {}
        self._preferred: dict[TopicPartition, Path] = {}

    def prefer(self, topic: str, partition: int, directory: Path) -> None:
        """Where the log of a partition is to be made that has none yet (AlterReplicaLogDirs before LeaderAndIsr)."""
        self._directories.directory(directory)
        self._preferred[topic, partition] = directory

    async def get_or_create(
        self, topic: str, partition: int, settings: LogSettings, topic_id: bytes | None = None, *, is_new: bool = True
    ) -> Log:
        """The log of a partition, made if there is none.

        `is_new` says that the partition has never had a log here. Without it, a missing log may be in a directory that
        is offline, and an empty one in its place would answer for it: KAFKA_STORAGE_ERROR.
        """
        key = topic, partition
        while True:
            if (log := self._directories.logs.get(key)) is not None:
                return log
            if key in self._creating:
                await self._creating[key].ended.wait()
                continue
            if not is_new and self._directories.offline:
                listed = ", ".join(map(str, self._directories.offline))
                raise ApiError(
                    ErrorCode.KAFKA_STORAGE_ERROR,
                    f"no log is made for {topic}-{partition}, since it may be in a directory that is offline: {listed}",
                )
            directory = self._choose(key)
            try:
                log = await self._create(directory, key, settings, topic_id)
            except ApiError:
                if directory.is_online or not self._directories.online:
                    raise
                continue  # there is one directory less to try
            self._preferred.pop(key, None)
            return log

    async def _create(
        self, directory: LogDirectory, key: TopicPartition, settings: LogSettings, topic_id: bytes | None
    ) -> Log:
        creating = self._creating[key] = _Creating(directory, asyncio.Event())
        try:
            log = await self._directories.run(directory, bind(make_log, directory, key, settings, topic_id))
            if not directory.is_online:
                raise ApiError(ErrorCode.KAFKA_STORAGE_ERROR, f"log directory {directory} failed meanwhile")
            self._directories.add(directory, log)
            logger.info("created log for partition %s in %s", log.place, log.place.directory)
            return log
        finally:
            del self._creating[key]
            creating.ended.set()

    def _choose(self, key: TopicPartition) -> LogDirectory:
        """The directory with the fewest partitions, those that are being made included; the first of several."""
        preferred = self._preferred.get(key)
        if preferred is not None:
            return self._directories.directory(preferred)
        online = self._directories.online
        if not online:
            raise ApiError(ErrorCode.KAFKA_STORAGE_ERROR, "all log directories are offline")
        making = [creating.directory for creating in self._creating.values()]
        return min(online, key=lambda directory: len(directory.all_logs) + making.count(directory))

    async def delete(self, partitions: Iterable[TopicPartition]) -> None:
        """Delete the logs of partitions, and copies of them that are being made; unknown ones are none to delete."""
        touched: dict[LogDirectory, None] = {}
        for key in partitions:
            self._preferred.pop(key, None)
            if key in self._creating:
                await self._creating[key].ended.wait()
            for known in (self._directories.logs, self._directories.future_logs):
                if (log := known.get(key)) is not None:
                    touched[self.delete_log(log)] = None
        for directory in touched:
            if directory.is_online:
                await self._directories.run(directory, bind(directory.files.sync_directory, directory.path))
                await self._directories.checkpoint(directory)

    def delete_log(self, log: Log) -> LogDirectory:
        """Rename the directory of a log at once; the directory that it is in still has to be synced."""
        directory = self._directories.directory_of(log)
        self._directories.remove(log)
        try:
            directory.delete(log)
        except OSError as error:
            self._directories.fail(directory, error)
        return directory

    async def check_topic_id(self, log: Log, topic_id: bytes) -> None:
        """Note the id of a log's topic, if it has none; INCONSISTENT_TOPIC_ID if it is of another topic's past."""
        directory, files, path = self._directories.directory_of(log), log.place.files, log.place.directory
        stored = await self._directories.run(directory, bind(read_topic_id, files, path))
        if stored is None:
            await self._directories.run(directory, bind(write_topic_id, files, path, topic_id))
        elif stored != topic_id:
            raise ApiError(
                ErrorCode.INCONSISTENT_TOPIC_ID,
                f"the log of {log.place} is of topic id {uuid_to_text(stored)}, not {uuid_to_text(topic_id)}",
            )


def make_log(
    directory: LogDirectory, key: TopicPartition, settings: LogSettings, topic_id: bytes | None, name: str = ""
) -> Log:
    """Make an empty log with its directory, and wait until a crash cannot take them away."""
    place, files = directory.place(*key, name), directory.files
    files.make_directory(place.directory)
    log = load_log(place, settings)
    if topic_id is not None:
        write_topic_id(files, place.directory, topic_id)  # which syncs the names of all files there
    else:
        files.sync_directory(place.directory)
    files.sync_directory(directory.path)
    return log
