"""Moving a replica from one log directory to another while it is in use (AlterReplicaLogDirs).

A future log is made in the target directory, and whoever replicates fills it from the current one, as a follower
would. When it has caught up, the two change places:

    source/orders-3                          source/orders-3         ─► source/orders-3.<hex>-delete
    target/orders-3.<hex>-future      ─►     target/orders-3            target/orders-3

The future log is on disk by then, and its name is, before the old log gives its up. So a crash at any moment leaves
the old log, or both of them under the same name, of which the next start takes the longer one, or the new one.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial as bind
from pathlib import Path

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError
from moldau.storage.directory_files import read_topic_id
from moldau.storage.file_names import DirectoryState, partition_directory
from moldau.storage.log import Log
from moldau.storage.log_creation import LogCreation, make_log
from moldau.storage.log_directories import LogDirectories

logger = logging.getLogger(__name__)


class LogMoves:
    def __init__(self, directories: LogDirectories, creation: LogCreation) -> None:
        self._directories = directories
        self._creation = creation

    async def start_move(self, topic: str, partition: int, target: Path) -> Log | None:
        """Begin to move a log; the future log to fill, or None if the log is in the target already.

        A move to the same target goes on; one to another target is cancelled first, as in Kafka.
        """
        key = topic, partition
        current = self._current(topic, partition)
        directory = self._directories.directory(target)
        future = self._directories.future_logs.get(key)
        if future is not None and self._directories.directory_of(future) is directory:
            return future
        if future is not None:
            await self.cancel_move(topic, partition)
        source = self._directories.directory_of(current)
        if source is directory:
            return None
        topic_id = await self._directories.run(source, bind(read_topic_id, source.files, current.place.directory))
        name = directory.unique_name(topic, partition, DirectoryState.FUTURE)
        making = bind(make_log, directory, key, current.settings, topic_id, name)
        future = await self._directories.run(directory, making)
        self._directories.add(directory, future, is_future=True)
        logger.info("%s: to be moved from %s to %s", current.place, source, directory)
        return future

    async def finish_move(
        self, topic: str, partition: int, on_swapped: Callable[[Log], None] = lambda _log: None
    ) -> Log | None:
        """Put the future log in the place of the current one; None if it has not caught up, and goes on copying.

        `on_swapped` is called in the same step: what is appended from then on must go to the log that it gets.
        """
        current, future = self._current(topic, partition), self._directories.future_logs.get((topic, partition))
        if future is None:
            raise ApiError(ErrorCode.REPLICA_NOT_AVAILABLE, f"{topic}-{partition} is not being moved")
        await self._directories.flusher.flush(future)
        if not self._is_ready(current, future):
            return None
        source, target = self._directories.directory_of(current), self._directories.directory_of(future)
        try:
            self._take_place(current, future)
            on_swapped(future)
        except OSError as error:
            raise self._directories.failed(future, error) from error
        await self._directories.run(target, bind(target.files.sync_directory, target.path))
        if source.is_online:
            try:
                source.delete(current)
            except OSError as error:
                raise self._directories.fail(source, error) from error
            await self._directories.run(source, bind(source.files.sync_directory, source.path))
            await self._directories.checkpoint(source)
        logger.info("%s: moved from %s to %s", future.place, source, target)
        return future

    async def cancel_move(self, topic: str, partition: int) -> None:
        """Give up a move; the future log is deleted, and the current one was never touched."""
        future = self._directories.future_logs.get((topic, partition))
        if future is not None:
            directory = self._creation.delete_log(future)
            if directory.is_online:
                await self._directories.checkpoint(directory)

    def _current(self, topic: str, partition: int) -> Log:
        current = self._directories.get(topic, partition)
        if current is None:
            raise ApiError(ErrorCode.REPLICA_NOT_AVAILABLE, f"{topic}-{partition} has no log here")
        return current

    def _is_ready(self, current: Log, future: Log) -> bool:
        """Whether both are still what they were, and the future log has all of the current one on disk."""
        key = current.place.topic, current.place.partition
        known = self._directories.logs.get(key) is current and self._directories.future_logs.get(key) is future
        return known and future.recovery_point == future.log_end_offset == current.log_end_offset

    def _take_place(self, current: Log, future: Log) -> None:
        """Nothing is appended to either log while this runs, since it does not wait."""
        target, place = self._directories.directory_of(future), future.place
        future.advance_high_watermark(current.high_watermark)
        future.advance_log_start_offset(min(current.log_start_offset, future.high_watermark))
        future.move_to(target.path / partition_directory(place.topic, place.partition))
        self._directories.remove(future)
        self._directories.remove(current)
        self._directories.add(target, future)
