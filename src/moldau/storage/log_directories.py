"""All log directories of a broker, and the logs in them by partition.

    LogDirectories(paths, …)   open() ─► owner ─► claim(…) ─► load(…) ─► … get, create, delete … ─► close()

`open` takes the directories and changes nothing, so a start that is refused leaves them as they were. A directory that
cannot be used is offline, at start or later: `on_offline` is told with the partitions that went with it. Without any
directory a broker can do nothing: `open` and `load` raise then, and later `on_all_offline` is called.

Everything runs on the loop, and whatever waits for a disk in the threads of the directory that it is in, so that
a disk that hangs holds up nothing but itself.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from concurrent.futures import Executor
from functools import partial
from pathlib import Path
from typing import TypeVar

from moldau.base.collector import collector_resting
from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError, ConfigError
from moldau.storage.checkpoints import RECOVERY_POINT_CHECKPOINT
from moldau.storage.directory_files import MetaProperties, check_owner, check_same_broker
from moldau.storage.directory_loading import DirectoryLoading, SettingsOf
from moldau.storage.file_names import DirectoryState
from moldau.storage.flushing import Flusher
from moldau.storage.log import PRODUCER_EXPIRATION_MS, Log
from moldau.storage.log_directory import LogDirectory, Seams, TopicPartition

logger = logging.getLogger(__name__)

Result = TypeVar("Result")
OnOffline = Callable[[Path, list[TopicPartition]], None]

FILE_DELETE_DELAY_MS = 60_000  # log.segment.delete.delay.ms


class LogDirectories:
    """`logs` has the log of every partition, `future_logs` the copies that are to replace some of them."""

    def __init__(
        self,
        paths: Sequence[Path],
        seams: Seams,
        *,
        threads: int = 1,
        on_offline: OnOffline = lambda _path, _partitions: None,
        on_all_offline: Callable[[], None] = lambda: None,
    ) -> None:
        """`paths` is `log.dirs`, `threads` is `num.recovery.threads.per.data.dir`."""
        self.directories = [LogDirectory(path, seams, threads) for path in paths]
        self.seams = seams
        self.logs: dict[TopicPartition, Log] = {}
        self.future_logs: dict[TopicPartition, Log] = {}
        self.owner: MetaProperties | None = None
        self.flusher = Flusher(self._workers_of, self.failed)
        self._by_path = {directory.path: directory for directory in self.directories}
        self._is_loaded = False
        self._on_offline = on_offline
        self._on_all_offline = on_all_offline
        self._checkpointing = {directory.path: asyncio.Lock() for directory in self.directories}

    @property
    def online(self) -> list[LogDirectory]:
        return [directory for directory in self.directories if directory.is_online]

    @property
    def offline(self) -> list[LogDirectory]:
        return [directory for directory in self.directories if not directory.is_online]

    def directory(self, path: Path) -> LogDirectory:
        """LOG_DIR_NOT_FOUND if a path is not in `log.dirs`; KAFKA_STORAGE_ERROR if it is offline."""
        directory = self._by_path.get(path)
        if directory is None:
            raise ApiError(ErrorCode.LOG_DIR_NOT_FOUND, f"{path} is none of log.dirs")
        if not directory.is_online:
            raise ApiError(ErrorCode.KAFKA_STORAGE_ERROR, f"log directory {path} is offline")
        return directory

    def directory_of(self, log: Log) -> LogDirectory:
        return self._by_path[log.place.directory.parent]

    def get(self, topic: str, partition: int) -> Log | None:
        return self.logs.get((topic, partition))

    # -- start

    def open(self) -> None:
        """Take all directories and see whose they are; waits for the disks. `ConfigError` refuses the start."""
        if len(self._by_path) < len(self.directories) or not self.directories:
            raise ConfigError("log.dirs must name directories, and none of them twice")
        try:
            for directory in self.directories:
                try:
                    directory.open()
                except OSError as error:
                    directory.fail(error)
            self._check_some_online()
            self.owner = check_same_broker({d.path: d.owner for d in self.online if d.owner is not None})
        except ConfigError:
            for directory in self.directories:
                directory.release()
            raise

    def claim(self, owner: MetaProperties) -> None:
        """Make the directories this broker's; `ConfigError` if they are another's. Waits for the disks."""
        if self.owner is not None:
            check_owner(self.owner, owner.broker_id, owner.cluster_id)
        for directory in self.online:
            try:
                directory.claim(owner)
            except OSError as error:
                directory.fail(error)
        self._check_some_online()
        self.owner = owner

    async def load(
        self,
        settings_of: SettingsOf,
        *,
        delete_delay_ms: int = FILE_DELETE_DELAY_MS,
        producer_expiration_ms: int = PRODUCER_EXPIRATION_MS,
    ) -> None:
        """Open every log; `settings_of` is asked for each topic that is found."""
        loadings = [
            DirectoryLoading(directory, settings_of, delete_delay_ms, producer_expiration_ms)
            for directory in self.online
        ]
        with collector_resting():  # a fifth of the time of loading
            await _all([self._load(loading) for loading in loadings])
            for loading in loadings:
                if loading.directory.is_online:
                    self._take_in(loading)
            await asyncio.gather(*(self.checkpoint(directory) for directory in self.online), return_exceptions=True)
        self._check_some_online()
        self._is_loaded = True

    async def _load(self, loading: DirectoryLoading) -> None:
        directory = loading.directory
        try:
            await self.run(directory, loading.begin)
            await _all([self.run(directory, loading.work) for _ in range(directory.threads)])
        except ApiError as error:
            if directory.is_online:
                raise
            logger.error("%s: not loaded: %s", directory, error)  # noqa: TRY400  # the directory said why

    def _take_in(self, loading: DirectoryLoading) -> None:
        directory = loading.directory
        for found, log in loading.finish():
            partition = found.topic, found.partition
            if found.state is DirectoryState.FUTURE:
                self.add(directory, log, is_future=True)
            elif (other := self.logs.get(partition)) is None:
                self.add(directory, log)
            else:
                self._settle_twins(log, other)

    def _settle_twins(self, one: Log, other: Log) -> None:
        """A move was interrupted after the copy took its place: both logs are whole, and the copy is no shorter."""
        kept, spare = (one, other) if one.log_end_offset > other.log_end_offset else (other, one)
        self.remove(spare)
        self.add(self.directory_of(kept), kept)
        directory = self.directory_of(spare)
        try:
            path = directory.set_aside(spare, DirectoryState.STRAY)
        except OSError as error:
            self.fail(directory, error)
            return
        logger.warning(
            "%s has a log in two directories: %s, which ends at %d, is used, and the other one, to %d, is now %s",
            kept.place,
            kept.place.directory,
            kept.log_end_offset,
            spare.log_end_offset,
            path,
        )

    def _check_some_online(self) -> None:
        if not self.online:
            reasons = ", ".join(f"{directory}: {directory.offline_reason}" for directory in self.directories)
            raise ConfigError(f"none of the directories in log.dirs can be used: {reasons}")

    # -- logs

    def add(self, directory: LogDirectory, log: Log, *, is_future: bool = False) -> None:
        partition = log.place.topic, log.place.partition
        log.on_roll = self.flusher.flush_rolled
        if is_future:
            directory.future_logs[partition] = self.future_logs[partition] = log
        else:
            directory.logs[partition] = self.logs[partition] = log

    def remove(self, log: Log) -> None:
        """Know no more of a log; its files are the caller's."""
        partition = log.place.topic, log.place.partition
        directory = self.directory_of(log)
        for known in (self.logs, self.future_logs, directory.logs, directory.future_logs):
            if known.get(partition) is log:
                del known[partition]

    # -- disks

    async def run(self, directory: LogDirectory, work: Callable[[], Result]) -> Result:
        """Do in a thread what waits for a disk; if that fails, the directory is offline: KAFKA_STORAGE_ERROR."""
        if not directory.is_online:
            raise ApiError(ErrorCode.KAFKA_STORAGE_ERROR, f"log directory {directory} is offline")
        running = asyncio.get_running_loop().run_in_executor(directory.workers, work)
        try:
            return await asyncio.shield(running)
        except asyncio.CancelledError:
            await asyncio.wait([running])  # a thread cannot be interrupted, and nobody else may begin before it ends
            raise
        except OSError as error:
            raise self.fail(directory, error) from error

    def fail(self, directory: LogDirectory, error: OSError) -> ApiError:
        """Take a directory offline, with its logs; what to answer to who needed it."""
        if directory.is_online:
            for log in directory.all_logs:
                partition = log.place.topic, log.place.partition
                for known in (self.logs, self.future_logs):
                    if known.get(partition) is log:
                        del known[partition]
            self._on_offline(directory.path, directory.fail(error))
            if not self.online:
                logger.critical("all log directories have failed")
                self._on_all_offline()
        return ApiError(ErrorCode.KAFKA_STORAGE_ERROR, f"log directory {directory} failed: {error}")

    def failed(self, log: Log, error: OSError) -> ApiError:
        """A read, a write or a sync of a log has failed: as `fail`, unless the log has been deleted meanwhile."""
        if self.is_known(log):
            return self.fail(self.directory_of(log), error)
        return ApiError(ErrorCode.KAFKA_STORAGE_ERROR, f"the log of {log.place} is gone: {error}")

    async def checkpoint(self, directory: LogDirectory, names: Iterable[str] = ()) -> None:
        """Write checkpoints of a directory by name, or all; one after the other, so that the newest is the last."""
        async with self._checkpointing[directory.path]:
            checkpoints = directory.checkpoints(names)
            await self.run(directory, partial(directory.write_checkpoints, checkpoints))

    async def truncated(self, logs: Iterable[Log]) -> None:
        """To be awaited when logs were cut at their ends, before anything is appended to them.

        Otherwise a recovery could begin after what has been appended since.
        """
        for directory in {self.directory_of(log): None for log in logs if self.is_known(log)}:
            await self.checkpoint(directory, [RECOVERY_POINT_CHECKPOINT])

    def is_known(self, log: Log) -> bool:
        partition = log.place.topic, log.place.partition
        return self.logs.get(partition) is log or self.future_logs.get(partition) is log

    def _workers_of(self, log: Log) -> Executor | None:
        return self.directory_of(log).workers if self.is_known(log) else None

    # -- stop

    async def close(self) -> None:
        """A clean stop: all logs on disk, then the checkpoints, then the mark. Directories that fail get none.

        After a start that did not come to its end the directories stay as they were left before.
        """
        if not self._is_loaded:
            for directory in self.directories:
                directory.release()
            return
        await _all([self._close(directory) for directory in self.online])

    async def _close(self, directory: LogDirectory) -> None:
        logs = directory.all_logs

        def work() -> None:
            while logs:
                try:
                    log = logs.pop()
                except IndexError:  # another thread has had the last one
                    return
                log.close()

        try:
            await _all([self.run(directory, work) for _ in range(directory.threads)])
            async with self._checkpointing[directory.path]:
                await self.run(directory, partial(directory.close, True))
            logger.info("%s: stopped cleanly", directory)
        except ApiError as error:
            logger.error("%s: not stopped cleanly, the next start recovers it: %s", directory, error)  # noqa: TRY400


async def _all(works: Sequence[Awaitable[None]]) -> None:
    """Wait for all, and then raise the first failure: nothing goes on in the background."""
    for outcome in await asyncio.gather(*works, return_exceptions=True):
        if isinstance(outcome, BaseException):
            raise outcome
