"""The cleaner of a broker: chooses the dirtiest log, cleans it in a worker thread, and goes on.

All state here belongs to the event loop. A worker gets a `Cleaning`, which shares nothing with the loop but a flag that
stops it, and comes back into the loop's thread for each segment that it has finished. That is why stopping is immediate
for the others: once a partition is paused, its log changes no more by our hand, even if the worker takes a while to
notice. Whoever truncates, moves or deletes a log pauses it first.

A log with a damaged batch is left alone from then on, with the reason, and counted: it grows, and its owner must know.
A disk that fails is reported to who owns the directories. Neither keeps the other logs from being cleaned.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TypeVar

from moldau.base.clock import Clock
from moldau.base.errors import CorruptRecord
from moldau.storage.checkpoints import CLEANER_CHECKPOINT, write_offsets
from moldau.storage.cleaner.clean_offsets import CleanOffsets, partition_of
from moldau.storage.cleaner.cleaning import Cleaning
from moldau.storage.cleaner.in_loop import LoopCalls
from moldau.storage.cleaner.offset_map import OffsetMap
from moldau.storage.cleaner.pace import CleaningAborted, Pace
from moldau.storage.cleaner.schedule import CleanableLog, ObservedLog, cleanable, dirtiest, observe
from moldau.storage.cleaner.settings import CleanerSettings
from moldau.storage.cleaner.states import CleaningEvent, CleaningState, CleaningStates
from moldau.storage.cleaner.statistics import CleaningStatistics
from moldau.storage.files import CorruptFile, Files
from moldau.storage.log import Log
from moldau.storage.log_directory import TopicPartition

logger = logging.getLogger(__name__)

STOP_TIMEOUT_S = 10.0
Result = TypeVar("Result")
_LOOKED_AT = 64  # logs that are looked at in one turn of the loop


@dataclass(slots=True)
class CleanerMetrics:
    """What metrics read; the names are Kafka's."""

    runs: int = 0
    cleaner_recopy_percent: float = 0.0
    max_buffer_utilization_percent: float = 0.0
    max_clean_time_secs: float = 0.0
    max_compaction_delay_secs: float = 0.0
    max_dirty_percent: float = 0.0
    last_run_ms: int = 0
    last: CleaningStatistics = field(default_factory=CleaningStatistics)


class LogCleaner:
    """`run` is a task of the broker's supervisor; everything else may be called at any time, in the loop."""

    def __init__(
        self,
        logs: Callable[[], Iterable[Log]],
        clean_offsets: CleanOffsets,
        settings: CleanerSettings,
        clock: Clock,
        on_failure: Callable[[Log, OSError], None],
    ) -> None:
        """`logs` gives all logs that are online, but no future ones; `on_failure` takes a directory offline."""
        self.metrics = CleanerMetrics(last_run_ms=clock.now_ms())
        self.uncleanable: dict[TopicPartition, str] = {}
        """Partitions that are not cleaned any more, and why."""
        self._logs = logs
        self._clean_offsets = clean_offsets
        self._settings = settings
        self._clock = clock
        self._on_failure = on_failure
        self._states = CleaningStates()
        self._running: dict[TopicPartition, tuple[Pace, asyncio.Event]] = {}
        self._choosing = asyncio.Lock()
        self._writing = asyncio.Lock()
        self._unsaved: dict[Path, Files] = {}  # log directories whose checkpoint is older than what is known
        self._workers = ThreadPoolExecutor(max(1, settings.threads) + 1, thread_name_prefix="log-cleaner")

    # -- the work

    async def run(self) -> None:
        """Clean, for as long as the broker runs."""
        async with asyncio.TaskGroup() as group:
            for _ in range(self._settings.threads):
                group.create_task(self._clean_forever())

    async def _clean_forever(self) -> None:
        offset_map = self._offset_map()
        while True:
            if not await self.clean_dirtiest(offset_map):
                await asyncio.sleep(self._settings.backoff_ms / 1000.0)
            with suppress(OSError):  # whoever needs the directory finds out that it has failed
                await self.save_checkpoints()

    def close(self) -> None:
        """After `run` has been cancelled."""
        self._workers.shutdown(wait=False)

    async def clean_dirtiest(self, offset_map: OffsetMap | None = None) -> bool:
        """Clean the log that needs it most; whether there was one."""
        async with self._choosing:
            chosen = await self._choose()
            if chosen is None:
                return False
            partition = partition_of(chosen.log)
            self._states.apply(partition, CleaningEvent.START)
        try:
            await self._clean(chosen, offset_map or self._offset_map())
        finally:
            self._states.apply(partition, CleaningEvent.FINISH)
        return True

    def _offset_map(self) -> OffsetMap:
        settings = self._settings
        return OffsetMap(settings.dedupe_buffer_size // max(1, settings.threads), settings.io_buffer_load_factor)

    async def _choose(self) -> CleanableLog | None:
        """Look at all compacted logs; nobody else chooses meanwhile."""
        candidates: list[CleanableLog] = []
        logs = [log for log in self._logs() if log.settings.compact]
        for start in range(0, len(logs), _LOOKED_AT):
            observed = [
                observe(log, self._clean_offsets.get(log))
                for log in logs[start : start + _LOOKED_AT]
                if self._may_clean(log)
            ]
            candidates += await self._in_worker(partial(_cleanable_of, observed, self._clock.now_ms()))
        for candidate in candidates:
            if candidate.is_checkpoint_invalid:
                self._clean_offsets.set(candidate.log, candidate.first_dirty_offset)
        self.metrics.max_dirty_percent = 100.0 * max((c.cleanable_ratio for c in candidates), default=0.0)
        self.metrics.max_compaction_delay_secs = max((c.overdue_ms for c in candidates), default=0) / 1000.0
        return dirtiest(candidate for candidate in candidates if self._may_clean(candidate.log))

    def _may_clean(self, log: Log) -> bool:
        partition = partition_of(log)
        return self._states[partition] is CleaningState.IDLE and partition not in self.uncleanable

    async def _clean(self, chosen: CleanableLog, offset_map: OffsetMap) -> None:
        log, partition = chosen.log, partition_of(chosen.log)
        settings = self._settings
        pace = Pace(self._clock, settings.io_max_bytes_per_second / max(1, settings.threads))
        calls = LoopCalls(asyncio.get_running_loop(), pace)
        cleaning = Cleaning(chosen, dict(log.producer_state.producers), offset_map, pace, calls)
        ended = asyncio.Event()
        self._running[partition] = pace, ended
        try:
            statistics = await self._until_stopped(cleaning)
            if not pace.aborted:
                self._note(log, statistics)
                await self._write_checkpoint(log, statistics.end_offset)
        except CleaningAborted:
            logger.info("%s: cleaning was aborted", log.place)
        except (CorruptRecord, CorruptFile) as error:
            if not pace.aborted:
                self.uncleanable[partition] = str(error)
                logger.error("%s: it is not cleaned any more, and grows: %s", log.place, error)  # noqa: TRY400
        except OSError as error:
            if not pace.aborted and log in self._logs():
                self._on_failure(log, error)
        finally:
            del self._running[partition]
            ended.set()

    async def _until_stopped(self, cleaning: Cleaning) -> CleaningStatistics:
        """Run a cleaning; when this task is cancelled, stop it and wait for it."""
        work = asyncio.get_running_loop().run_in_executor(self._workers, cleaning.run)
        try:
            return await asyncio.shield(work)
        except asyncio.CancelledError:
            cleaning.pace.aborted = True
            await asyncio.wait({work}, timeout=STOP_TIMEOUT_S)
            if work.done() and not work.cancelled():
                work.exception()
            raise

    def _note(self, log: Log, statistics: CleaningStatistics) -> None:
        logger.info("%s: cleaned, %s", log.place, statistics)
        metrics = self.metrics
        metrics.runs += 1
        metrics.last = statistics
        metrics.last_run_ms = self._clock.now_ms()
        metrics.max_buffer_utilization_percent = 100.0 * statistics.map_utilization
        metrics.max_clean_time_secs = statistics.elapsed_ms / 1000.0
        read = statistics.bytes_read
        metrics.cleaner_recopy_percent = 100.0 * statistics.bytes_written / read if read else 0.0

    async def _write_checkpoint(self, log: Log, clean_offset: int) -> None:
        self._clean_offsets.set(log, clean_offset)
        self._unsaved[log.place.directory.parent] = log.place.files
        await self.save_checkpoints()

    async def save_checkpoints(self) -> None:
        """Write the checkpoints of the directories in which something has changed."""
        async with self._writing:
            while self._unsaved:
                directory, files = self._unsaved.popitem()
                existing = {partition_of(log) for log in self._logs() if log.place.directory.parent == directory}
                offsets = self._clean_offsets.keep(directory, existing)
                await self._in_worker(partial(write_offsets, files, directory / CLEANER_CHECKPOINT, offsets))

    async def _in_worker(self, work: Callable[[], Result]) -> Result:
        return await asyncio.get_running_loop().run_in_executor(self._workers, work)

    # -- for those who change logs

    def configure(self, settings: CleanerSettings) -> None:
        """Obey other settings from the next cleaning on; the number of threads stays until a new start."""
        self._settings = settings

    def is_cleaning(self, log: Log) -> bool:
        return self._states[partition_of(log)] is CleaningState.CLEANING

    def abort_and_pause(self, log: Log) -> None:
        """Keep away from a log until as many calls of `resume`; a cleaning that runs will not change it any more."""
        partition = partition_of(log)
        self._states.apply(partition, CleaningEvent.PAUSE)
        running = self._running.get(partition)
        if running is not None:
            running[0].aborted = True

    def resume(self, log: Log) -> None:
        self._states.apply(partition_of(log), CleaningEvent.RESUME)

    async def stopped(self, log: Log) -> None:
        """Wait until no worker reads or writes files of a log that has been paused; needed before a directory moves."""
        running = self._running.get(partition_of(log))
        if running is not None:
            await running[1].wait()

    def truncated(self, log: Log) -> None:
        """What was cut off is not clean, whatever will be written there."""
        if self._clean_offsets.cut(log, log.segments.active.base_offset):
            self._unsaved[log.place.directory.parent] = log.place.files

    def moved(self, log: Log, source: Path) -> None:
        """The log has come from another log directory."""
        self._clean_offsets.move(log, source)
        self._unsaved[source] = self._unsaved[log.place.directory.parent] = log.place.files

    def deleted(self, log: Log) -> None:
        """A new log of the same name is dirty, and may be cleaned again."""
        self._clean_offsets.forget(log)
        self._unsaved[log.place.directory.parent] = log.place.files
        self.uncleanable.pop(partition_of(log), None)


def _cleanable_of(observed: Iterable[ObservedLog], now_ms: int) -> list[CleanableLog]:
    return [cleanable(one, now_ms) for one in observed]
