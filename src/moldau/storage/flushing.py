"""Making logs durable without waiting on the loop: fsync in threads, one for all who ask for it at the same time.

While a sync of a log runs, appends go on; who asks meanwhile shares the next one (group commit). At most one sync per
log is under way, so the threads' queue is never longer than the number of logs.

    flush(log) ──► nothing unflushed: done
        │
        └────────► sync in a thread ──► recovery point moves; who asked later than it began: once more
                        │
                        ├─► a file has another name by now (retention, compaction, a move): once more
                        └─► OSError: everybody who waits gets KAFKA_STORAGE_ERROR, the log's directory has failed.
                            It is never tried again: after a failed fsync the kernel has dropped the bytes

A log that was cut at its end meanwhile is synced again, since what was appended after the cut may not be on the disk.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor
from functools import partial
from pathlib import Path
from typing import NamedTuple

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError
from moldau.storage.log import Log, UnsavedEpochs
from moldau.storage.segment import Segment

WorkersOf = Callable[[Log], Executor | None]
OnFailure = Callable[[Log, OSError], object]


class _Sync(NamedTuple):
    """What one sync makes durable, and what the log looked like when it began."""

    log: Log
    directory: Path
    segments: list[Segment]
    active: Segment
    has_new_names: bool
    epochs: UnsavedEpochs | None
    end_offset: int
    truncations: int

    def run(self) -> None:
        """In a thread; the files first, and then the names by which they are found.

        The indexes of the active segment are built again after a crash, so they need not be on disk.
        """
        for segment in self.segments:
            if segment is self.active:
                segment.file.sync()
            else:
                segment.sync()
        if self.epochs is not None:
            self.epochs.save()  # syncs the directory as well
        elif self.has_new_names:
            self.log.place.files.sync_directory(self.directory)

    @property
    def names_changed(self) -> bool:
        """Whether files that this was about have been renamed or removed since it began."""
        current = {id(segment) for segment in self.log.segments}
        moved = self.log.place.directory != self.directory
        return moved or any(id(segment) not in current for segment in self.segments)


class _Waiting(NamedTuple):
    """Up to where the log is to be on disk, and who is to be told."""

    end_offset: int
    done: asyncio.Future[None] | None = None


class Flusher:
    """Flushes of all logs; everything here but the sync itself runs on the loop."""

    def __init__(self, workers_of: WorkersOf, on_failure: OnFailure) -> None:
        """`workers_of` gives the threads of a log's directory, or None if it is offline."""
        self._workers_of = workers_of
        self._on_failure = on_failure
        self._waiting: dict[Log, list[_Waiting]] = {}

    @property
    def running(self) -> int:
        """How many logs are being synced."""
        return len(self._waiting)

    async def flush(self, log: Log) -> None:
        """Return when all that is in the log now is on disk; KAFKA_STORAGE_ERROR if that cannot be."""
        end_offset = log.log_end_offset
        if log.recovery_point < end_offset:
            done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._ask(log, _Waiting(end_offset, done))
            await done

    def flush_soon(self, log: Log) -> None:
        """Begin to make durable what is in the log now, unless a sync is under way; nobody waits for it."""
        if log not in self._waiting and log.recovery_point < log.log_end_offset:
            self._waiting[log] = []
            self._begin(log, log.log_end_offset)

    def flush_rolled(self, log: Log) -> None:
        """As `flush_soon`, of all but the active segment: called when that has been begun."""
        base_offset = log.segments.active.base_offset
        if log.recovery_point < base_offset:
            if log in self._waiting:
                self._waiting[log].append(_Waiting(base_offset))
            else:
                self._waiting[log] = []
                self._begin(log, base_offset)

    def _ask(self, log: Log, waiting: _Waiting) -> None:
        if log in self._waiting:
            self._waiting[log].append(waiting)
        else:
            self._waiting[log] = [waiting]
            self._begin(log, log.log_end_offset)

    def _begin(self, log: Log, end_offset: int) -> None:
        workers = self._workers_of(log)
        if workers is None:
            self._fail(log, f"the log directory of {log.place} is offline")
            return
        active = log.segments.active
        segments = [segment for segment in log.unflushed() if segment.base_offset < end_offset]
        has_new_names = log.recovery_point <= active.base_offset
        epochs = log.unsaved_epochs()
        sync = _Sync(log, log.place.directory, segments, active, has_new_names, epochs, end_offset, log.truncations)
        running = asyncio.get_running_loop().run_in_executor(workers, sync.run)
        running.add_done_callback(partial(self._ended, sync))

    def _ended(self, sync: _Sync, running: asyncio.Future[None]) -> None:
        log = sync.log
        error = None if running.cancelled() else running.exception()
        if running.cancelled():
            self._fail(log, "the broker is stopping")
        elif isinstance(error, FileNotFoundError) and (sync.names_changed or self._workers_of(log) is None):
            self._begin(log, log.log_end_offset)
        elif isinstance(error, OSError):
            self._fail(log, f"{log.place} could not be flushed: {error}")
            self._on_failure(log, error)
        elif error is not None:
            self._fail(log, f"{log.place} could not be flushed: {error!r}")
            raise error
        else:
            self._succeeded(sync)

    def _succeeded(self, sync: _Sync) -> None:
        log = sync.log
        if sync.epochs is not None:
            log.saved_epochs_version = sync.epochs.version
        reached = -1
        if log.truncations == sync.truncations:
            reached = sync.end_offset
            log.flushed(reached)
        later = []
        for waiting in self._waiting[log]:
            if waiting.end_offset <= reached or log.log_end_offset <= log.recovery_point:
                if waiting.done is not None and not waiting.done.done():
                    waiting.done.set_result(None)
            else:
                later.append(waiting)
        if later:
            self._waiting[log] = later
            wanted, base_offset = max(waiting.end_offset for waiting in later), log.segments.active.base_offset
            self._begin(log, log.log_end_offset if wanted > base_offset else base_offset)
        else:
            del self._waiting[log]

    def _fail(self, log: Log, reason: str) -> None:
        for waiting in self._waiting.pop(log, []):
            if waiting.done is not None and not waiting.done.done():
                waiting.done.set_exception(ApiError(ErrorCode.KAFKA_STORAGE_ERROR, reason))
