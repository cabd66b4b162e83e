"""Knowing where a log ends: after a clean stop from what it left, after a crash from the log itself."""

from __future__ import annotations

import logging
from collections.abc import Callable

from moldau.base.errors import CorruptRecord
from moldau.storage.log import Log
from moldau.storage.recovery_scan import EpochRun, RecoveryScan
from moldau.storage.replay import replay
from moldau.storage.segment import Segment

logger = logging.getLogger(__name__)


class Recovery:
    """Finds out where a log ends, and what its producers and epochs are there."""

    def __init__(self, log: Log, durable_offset: int, progress: Callable[[Segment], None]) -> None:
        """Nothing before `durable_offset` can have been lost."""
        self._log = log
        self._durable_offset = durable_offset
        self._progress = progress

    def trust(self) -> None:
        """After a clean stop: the log ends where its newest snapshot was taken, or else after the last batch."""
        log, active = self._log, self._log.segments.active
        end = log.snapshots.offsets[-1] if log.snapshots.offsets else -1
        if end < active.base_offset or (end == active.base_offset and active.size_bytes):
            end = active.base_offset
            for batch in active.scan(active.offset_index.lookup(active.offset_index.last_offset).position):
                end = batch.last_offset + 1
        log.log_end_offset = log.recovery_point = log.indexes_flushed = end
        self._restore_producers(end)
        log.is_changed = end not in log.snapshots.offsets[-1:]

    def recover(self, from_offset: int) -> None:
        """After a crash: read every segment from an offset on, and end the log at the first batch that is not whole."""
        log = self._log
        segments = log.segments.from_offset(from_offset)
        first_offset = segments[0].base_offset
        log.snapshots.remove_above(first_offset)
        self._restore_producers(first_offset)
        for segment in segments:
            self._progress(segment)
            log.snapshots.take(log.producer_state, segment.base_offset)
            good_bytes = self._rebuild(segment)
            if segment.cut_after(good_bytes) or self._lost_after(segment):
                logger.warning("%s: %s ends at byte %d now", log.place, segment.path.name, good_bytes)
                self._remove_after(segment)
                break
        if (previous := log.segments.floor(first_offset - 1)) is not None:
            previous.find_largest_timestamp_again()  # it may have been finished after its last sync
            previous.finish()
        for segment in log.segments.from_offset(first_offset):
            segment.finish()
        log.recovery_point = min(log.recovery_point, first_offset)  # the indexes from there on are new
        if log.leader_epochs.truncate_from_end(log.log_end_offset):
            log.epochs_changed()
        log.snapshots.take(log.producer_state, log.log_end_offset)

    def _rebuild(self, segment: Segment) -> int:
        """Derive indexes, producers and epochs from a segment again; how many bytes of it are good batches."""
        log = self._log
        segment.reset_indexes()
        scan = RecoveryScan(segment.file, segment.size_bytes, segment.base_offset)
        try:
            for batches, idempotent in scan.windows():
                segment.note_all(batches)
                for batch in idempotent:
                    log.note_completed(segment, log.producer_state.replay(batch))
        except CorruptRecord as error:
            logger.warning("%s: %s is damaged at byte %d: %s", log.place, segment.path.name, scan.good_bytes, error)
        for run in scan.epoch_runs:
            self._agree(run)
        log.log_end_offset = log.producer_state.map_end_offset = scan.end_offset
        return scan.good_bytes

    def _agree(self, run: EpochRun) -> None:
        """Where the noted epochs say something else than the batches, they are of a log that was not written."""
        epoch, first_offset, last_base_offset = run
        epochs = self._log.leader_epochs
        if epoch < 0:
            return
        if epochs.epoch_for_offset(first_offset) != epoch:
            epochs.truncate_from_end(first_offset)
            self._log.start_epoch(epoch, first_offset)
        elif epochs.epoch_for_offset(last_base_offset) != epoch:
            epochs.truncate_from_end(first_offset + 1)
            self._log.epochs_changed()

    def _lost_after(self, segment: Segment) -> bool:
        """Whether a crash took whole batches from the end of a segment: then the next one begins further on.

        Where cleaning makes gaps it cannot be told, but there only if records follow.
        """
        later = self._log.segments.above(segment.base_offset)
        if not later or later[0].base_offset <= max(self._log.log_end_offset, self._durable_offset):
            return False
        return not self._log.settings.compact or not any(map(_has_records, later))

    def _remove_after(self, segment: Segment) -> None:
        """What comes after damage is not a continuation of the log."""
        log = self._log
        later = log.segments.above(segment.base_offset)
        if later:
            logger.warning("%s: removed, since they come after damage: %s", log.place, later)
            log.remove_segments(later)
            log.place.files.sync_directory(log.place.directory)  # or a crash could bring them back behind new ones

    def _restore_producers(self, offset: int) -> None:
        """The producers at an offset: from a snapshot, and the batches between it and the offset."""
        log = self._log
        now_ms = log.place.clock.now_ms()
        start = log.snapshots.load(log.producer_state, offset, now_ms, log.producer_expiration_ms)
        if start < offset:
            earlier = [segment for segment in log.segments.from_offset(start) if segment.base_offset < offset]
            replay(log.producer_state, earlier, start)
        log.producer_state.map_end_offset = offset


def _has_records(segment: Segment) -> bool:
    """Whether it begins with a good batch; a preallocated file has bytes and no records."""
    try:
        return any(True for _ in RecoveryScan(segment.file, segment.size_bytes, segment.base_offset).windows())
    except CorruptRecord:
        return False
