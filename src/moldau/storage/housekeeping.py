"""What has to be done for logs every now and then, each at the interval of its setting.

    retention check          log.retention.check.interval.ms                   segments that have expired
    flush check              log.flush.scheduler.interval.ms                   logs whose `flush.ms` is over
    recovery points          log.flush.offset.checkpoint.interval.ms           up to where logs are on disk
    log start offsets        log.flush.start.offset.checkpoint.interval.ms     what DeleteRecords has hidden
    high watermarks          replica.high.watermark.checkpoint.interval.ms     what is replicated
    expired producers        ten minutes, as in Kafka                          idempotent producers that are gone
    removal                  a second                                          files after `file.delete.delay.ms`

All begin some time after the start (log.initial.task.delay.ms), when the broker has found its place in the cluster. A
checkpoint is also how a directory that fails while nobody writes to it is noticed.

The loop is never held up for long: disks are waited for in threads, and the rest is done in slices. A clock that is
set back makes nothing happen twice: what is due is due by the clock, and intervals are the loop's.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from moldau.base.errors import ApiError
from moldau.base.supervision import OnFailure, Supervisor
from moldau.storage.checkpoints import LOG_START_CHECKPOINT, RECOVERY_POINT_CHECKPOINT, REPLICATION_CHECKPOINT
from moldau.storage.log import Log
from moldau.storage.log_directories import LogDirectories
from moldau.storage.log_directory import LogDirectory
from moldau.storage.log_settings import INT64_MAX
from moldau.storage.retention import enforce_retention, first_unknown_timestamps

if TYPE_CHECKING:
    from moldau.base.config.broker_config import BrokerConfig

logger = logging.getLogger(__name__)

_REMOVAL_INTERVAL_MS = 1_000
_SLICE_MS = 5.0


@dataclass(frozen=True, slots=True)
class HousekeepingSettings:
    """Kafka's defaults."""

    retention_check_interval_ms: int = 300_000
    flush_check_interval_ms: int = INT64_MAX
    recovery_point_interval_ms: int = 60_000
    log_start_interval_ms: int = 60_000
    high_watermark_interval_ms: int = 5_000
    producer_check_interval_ms: int = 600_000
    initial_delay_ms: int = 30_000

    @classmethod
    def of(cls, config: BrokerConfig) -> HousekeepingSettings:
        return cls(
            retention_check_interval_ms=config.integer("log.retention.check.interval.ms"),
            flush_check_interval_ms=config.integer("log.flush.scheduler.interval.ms"),
            recovery_point_interval_ms=config.integer("log.flush.offset.checkpoint.interval.ms"),
            log_start_interval_ms=config.integer("log.flush.start.offset.checkpoint.interval.ms"),
            high_watermark_interval_ms=config.integer("replica.high.watermark.checkpoint.interval.ms"),
            initial_delay_ms=config.integer("log.initial.task.delay.ms"),
        )


class Housekeeping:
    """`is_being_cleaned` tells the logs that the cleaner is at work on: their segments are not to be touched."""

    def __init__(
        self,
        directories: LogDirectories,
        settings: HousekeepingSettings,
        is_being_cleaned: Callable[[Log], bool] = lambda _log: False,
    ) -> None:
        self._directories = directories
        self._settings = settings
        self._is_being_cleaned = is_being_cleaned
        self._clock = directories.seams.clock

    def start(self, supervisor: Supervisor) -> None:
        settings = self._settings
        jobs: list[tuple[str, int, Callable[[], Awaitable[None]]]] = [
            ("log-retention", settings.retention_check_interval_ms, self.check_retention),
            ("log-flusher", settings.flush_check_interval_ms, self.check_flushes),
            (
                "recovery-point-checkpoint",
                settings.recovery_point_interval_ms,
                self._writing(RECOVERY_POINT_CHECKPOINT),
            ),
            ("log-start-offset-checkpoint", settings.log_start_interval_ms, self._writing(LOG_START_CHECKPOINT)),
            ("high-watermark-checkpoint", settings.high_watermark_interval_ms, self._writing(REPLICATION_CHECKPOINT)),
            ("producer-id-expiration", settings.producer_check_interval_ms, self.expire_producers),
            ("delete-file", _REMOVAL_INTERVAL_MS, self.remove_due),
        ]
        for name, interval_ms, job in jobs:
            if interval_ms < INT64_MAX:
                work = partial(_repeat, settings.initial_delay_ms, max(interval_ms, 1), job)
                supervisor.start(name, work, OnFailure.RESTART)

    async def check_retention(self) -> None:
        """Take what has expired out of all logs."""
        started_ms, removed = self._clock.monotonic_ms(), 0
        for directory in self._directories.online:
            removed += await self._check_retention_in(directory)
        if removed:
            took_ms = self._clock.monotonic_ms() - started_ms
            logger.info("log cleanup completed. %d segments deleted in %d ms", removed, took_ms)

    async def _check_retention_in(self, directory: LogDirectory) -> int:
        logs = [log for log in directory.all_logs if not self._is_being_cleaned(log)]
        now_ms = self._clock.now_ms()
        try:
            found = await self._directories.run(directory, partial(first_unknown_timestamps, logs, now_ms))
        except ApiError:
            return 0  # the directory is offline, and has said so
        for segment, timestamp in found:
            segment.learn_largest_timestamp(timestamp)
        removed = 0
        slices = _Slices(self._clock.monotonic_ms)
        for log in logs:
            if not directory.is_online:
                break
            if self._directories.is_known(log) and not self._is_being_cleaned(log):
                try:
                    removed += enforce_retention(log, now_ms)
                except OSError as error:
                    self._directories.failed(log, error)
            await slices.end()
        return removed

    async def check_flushes(self) -> None:
        """Begin to flush the logs that ask for it by `flush.ms` or `flush.messages`."""
        slices = _Slices(self._clock.monotonic_ms)
        for directory in self._directories.online:
            for log in directory.all_logs:
                if log.is_flush_due:
                    self._directories.flusher.flush_soon(log)
                await slices.end()

    async def expire_producers(self) -> None:
        """Forget producers that have not written for `producer.id.expiration.ms`."""
        slices = _Slices(self._clock.monotonic_ms)
        for directory in self._directories.online:
            for log in directory.all_logs:
                log.producer_state.remove_expired(self._clock.now_ms(), log.producer_expiration_ms)
                await slices.end()

    async def remove_due(self) -> None:
        """Remove the files whose delay is over."""
        for directory in self._directories.online:
            removal = directory.take_due(self._clock.now_ms())
            if removal is not None:
                await self._on(directory, self._directories.run(directory, removal.run))

    def _writing(self, name: str) -> Callable[[], Awaitable[None]]:
        async def write() -> None:
            for directory in self._directories.online:
                await self._on(directory, self._directories.checkpoint(directory, [name]))

        return write

    async def _on(self, directory: LogDirectory, work: Awaitable[None]) -> None:
        """A directory that fails is not the end of a job: the others have their turn."""
        try:
            await work
        except ApiError:
            if directory.is_online:
                raise


class _Slices:
    """Work on the loop that lets others run every few milliseconds."""

    def __init__(self, monotonic_ms: Callable[[], float]) -> None:
        self._monotonic_ms = monotonic_ms
        self._started_ms = monotonic_ms()

    async def end(self) -> None:
        """Give way if the slice is used up."""
        if self._monotonic_ms() - self._started_ms >= _SLICE_MS:
            await asyncio.sleep(0)
            self._started_ms = self._monotonic_ms()


async def _repeat(delay_ms: int, interval_ms: int, job: Callable[[], Awaitable[None]]) -> None:
    await asyncio.sleep(delay_ms / 1000)
    while True:
        await job()
        await asyncio.sleep(interval_ms / 1000)
