"""Opening a log: finding its files, putting right what a crash left, and knowing where it ends.

After a clean stop nothing is scanned: the newest snapshot is at the end of the log, and the files are what they say.
After a crash every segment from the recovery point on is read batch by batch. Its indexes, the producers and the leader
epochs are built again from it, and at the first batch that is torn or damaged the log ends. Leftovers of what was going
on are dealt with first, in an order that a second crash cannot hurt:

    *.deleted, *.cleaned          removed: of a deletion, or of a cleaning that did not finish
    *.swap                        a cleaning that finished: takes the place of the segments that it was made from
    index without its .log        removed
    .log without its indexes      the segment is recovered as if after a crash
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import NamedTuple

from moldau.base.errors import CorruptRecord
from moldau.records.batch import RecordBatch
from moldau.storage.checkpoints import read_leader_epochs
from moldau.storage.file_names import (
    CLEANED_SUFFIX,
    DELETED_SUFFIX,
    LOG_SUFFIX,
    OFFSET_INDEX_SUFFIX,
    SNAPSHOT_SUFFIX,
    SWAP_SUFFIX,
    TIME_INDEX_SUFFIX,
    SegmentFile,
    parse_segment_file,
    segment_file,
)
from moldau.storage.files import TEMPORARY_SUFFIX, CorruptFile
from moldau.storage.leader_epochs import LeaderEpochs
from moldau.storage.log import PRODUCER_EXPIRATION_MS, Log
from moldau.storage.log_place import LogPlace
from moldau.storage.log_settings import INT64_MAX, LogSettings
from moldau.storage.log_truncation import truncate_fully_and_start_at
from moldau.storage.producer_state import ProducerState
from moldau.storage.replay import replay
from moldau.storage.scan import whole_batches
from moldau.storage.segment import Segment
from moldau.storage.segments import Segments
from moldau.storage.snapshots import Snapshots

logger = logging.getLogger(__name__)


class Checkpointed(NamedTuple):
    """What the checkpoints of the log directory say of a partition; 0 where they say nothing."""

    recovery_point: int = 0
    log_start_offset: int = 0
    high_watermark: int = 0


NOTHING_CHECKPOINTED = Checkpointed()


def load_log(
    place: LogPlace,
    settings: LogSettings,
    checkpointed: Checkpointed = NOTHING_CHECKPOINTED,
    *,
    clean: bool = False,
    producer_expiration_ms: int = PRODUCER_EXPIRATION_MS,
    progress: Callable[[Segment], None] = lambda _: None,
) -> Log:
    """The log in a directory, which is made if it is missing; `clean` after a clean stop. Waits for the disk."""
    found = _put_right(place)
    segments, damaged = _open_segments(place, settings, found)
    epochs = LeaderEpochs(str(place), _read_epochs(place))
    was_known = bool(epochs.entries)
    snapshots = Snapshots(
        place.files, place.directory, [f.offset for f in found if f.kind == SNAPSHOT_SUFFIX and not f.state]
    )
    state = ProducerState(str(place))
    log = Log(
        place,
        settings,
        segments,
        epochs,
        state,
        snapshots,
        log_start_offset=max(checkpointed.log_start_offset, segments.first.base_offset),
        log_end_offset=0,
        recovery_point=checkpointed.recovery_point,
        producer_expiration_ms=producer_expiration_ms,
    )
    recovery = _Recovery(log, INT64_MAX if clean else checkpointed.recovery_point, progress)
    if not clean and not epochs.entries:
        damaged.append(segments.first.base_offset)  # a crash took them, or there are no records
    if clean and not damaged:
        recovery.trust()
    else:
        recovery.recover(min([checkpointed.recovery_point if not clean else _end(segments), *damaged]))
        if checkpointed.recovery_point > log.log_end_offset and not clean:
            logger.warning(
                "%s: its end %d is before the recovery point %d, so all of it is recovered",
                place,
                log.log_end_offset,
                checkpointed.recovery_point,
            )
            recovery.recover(0)
    if not was_known and log.size_bytes:
        log.leader_epochs.clear()
        _rebuild_epochs(log)
    if log.log_start_offset > log.log_end_offset:
        truncate_fully_and_start_at(log, log.log_start_offset)
    log.high_watermark = max(log.log_start_offset, min(checkpointed.high_watermark, log.log_end_offset))
    state.on_high_watermark(log.high_watermark)
    return log


def _end(segments: Segments) -> int:
    return segments.active.base_offset


def _read_epochs(place: LogPlace) -> list[tuple[int, int]]:
    try:
        return read_leader_epochs(place.files, place.epochs_path)
    except CorruptFile as error:
        logger.warning("%s: the leader epochs are built again from the log: %s", place, error)
        return []


def _rebuild_epochs(log: Log) -> None:
    """The epochs of the records that there are, from the headers of all batches: a crash has taken the checkpoint."""
    for segment in log.segments:
        for batch in segment.scan():
            latest = log.leader_epochs.latest_epoch
            if batch.leader_epoch >= 0 and (latest is None or batch.leader_epoch > latest):
                log.leader_epochs.assign(batch.leader_epoch, batch.base_offset)
    log.leader_epochs.truncate_from_start(log.log_start_offset)
    log.write_epochs()


# -- files


def _put_right(place: LogPlace) -> list[SegmentFile]:
    """Remove and rename what a crash left; the files that are there then."""
    files, directory = place.files, place.directory
    found: list[SegmentFile] = []
    for name in _names(place):
        parsed = parse_segment_file(name)
        if name.endswith(TEMPORARY_SUFFIX) or (parsed and parsed.state in (DELETED_SUFFIX, CLEANED_SUFFIX)):
            files.remove(directory / name)
        elif parsed:
            found.append(parsed)
    swapped = sorted(file.offset for file in found if file.state == SWAP_SUFFIX and file.kind == LOG_SUFFIX)
    if any(file.state == SWAP_SUFFIX for file in found):
        found = _finish_swaps(place, found, swapped)
    logs = {file.offset for file in found if file.kind == LOG_SUFFIX}
    for file in [file for file in found if file.kind != SNAPSHOT_SUFFIX and file.offset not in logs]:
        logger.warning("%s: %s has no .log file and is removed", place, segment_file(*file))
        files.remove(directory / segment_file(*file))
        found.remove(file)
    return found


def _names(place: LogPlace) -> list[str]:
    """The names in the directory, which is made if it is missing."""
    try:
        return place.files.names(place.directory)
    except FileNotFoundError:
        place.files.make_directory(place.directory)
        return []


def _finish_swaps(place: LogPlace, found: list[SegmentFile], swapped: list[int]) -> list[SegmentFile]:
    """Put cleaned segments in the place of those that they were made from, as the cleaner was about to.

    A cleaned segment replaces all segments from its base offset up to its last batch.
    """
    files, directory = place.files, place.directory
    originals = [file for file in found if not file.state]
    for base_offset in swapped:
        path = directory / segment_file(base_offset, LOG_SUFFIX, SWAP_SUFFIX)
        last_offset = base_offset
        cleaned = place.segment(base_offset, LogSettings(), size_bytes=files.size(path), state=SWAP_SUFFIX)
        for batch in cleaned.scan():
            last_offset = batch.last_offset
        for file in list(originals):
            if file.kind != SNAPSHOT_SUFFIX and base_offset <= file.offset <= last_offset:
                files.remove(directory / segment_file(*file))
                originals.remove(file)
        place.open_files.forget(path)
    for file in [file for file in found if file.state == SWAP_SUFFIX]:
        target = SegmentFile(file.offset, file.kind)
        files.rename(directory / segment_file(*file), directory / segment_file(*target))
        if target not in originals:
            originals.append(target)
    files.sync_directory(directory)
    return originals


def _open_segments(place: LogPlace, settings: LogSettings, found: list[SegmentFile]) -> tuple[Segments, list[int]]:
    """The segments, and the base offsets of those whose indexes are missing or cannot be theirs."""
    segments = Segments()
    damaged = []
    indexed, timed = (
        {file.offset for file in found if file.kind == kind} for kind in (OFFSET_INDEX_SUFFIX, TIME_INDEX_SUFFIX)
    )
    for base_offset in sorted(file.offset for file in found if file.kind == LOG_SUFFIX):
        path = place.directory / segment_file(base_offset, LOG_SUFFIX)
        created_ms = place.files.modified_ms(path)
        size_bytes = place.files.size(path)
        segments.add(place.segment(base_offset, settings, size_bytes=size_bytes, created_ms=created_ms))
        if base_offset not in indexed & timed and size_bytes:
            damaged.append(base_offset)
    if not len(segments):
        segment = place.segment(0, settings, created_ms=place.clock.now_ms())
        segment.create(settings.segment_bytes if settings.preallocate else 0)
        segments.add(segment)
    return segments, damaged


# -- contents


class _Recovery:
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
        log.log_end_offset = log.recovery_point = end
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
            log.write_epochs()
        log.snapshots.take(log.producer_state, log.log_end_offset)

    def _rebuild(self, segment: Segment) -> int:
        """Derive indexes, producers and epochs from a segment again; how many bytes of it are good batches."""
        log = self._log
        log.log_end_offset = segment.base_offset
        segment.reset_indexes()
        good_bytes = 0
        try:
            for position, batch in whole_batches(segment.file.read, 0, segment.size_bytes):
                self._take_in(segment, position, batch)
                good_bytes = position + batch.size_bytes
        except CorruptRecord as error:
            logger.warning("%s: %s is damaged at byte %d: %s", log.place, segment.path.name, good_bytes, error)
        return good_bytes

    def _take_in(self, segment: Segment, position: int, batch: RecordBatch) -> None:
        log = self._log
        if batch.base_offset < log.log_end_offset:
            raise CorruptRecord(f"offset {batch.base_offset} comes after {log.log_end_offset - 1}")
        segment.note(batch, position)
        log.note_completed(segment, log.producer_state.replay(batch))
        if log.leader_epochs.epoch_for_offset(batch.base_offset) != batch.leader_epoch:
            log.leader_epochs.truncate_from_end(batch.base_offset)  # the checkpoint is of a log that was not written
            log.note_epochs((batch,))
        log.log_end_offset = batch.next_offset

    def _lost_after(self, segment: Segment) -> bool:
        """Whether a crash took whole batches from the end of a segment: then the next one begins further on.

        Where cleaning makes gaps it cannot be told, but there only if records follow.
        """
        later = self._log.segments.above(segment.base_offset)
        if not later or later[0].base_offset <= max(self._log.log_end_offset, self._durable_offset):
            return False
        return not self._log.settings.compact or not any(other.size_bytes for other in later)

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
