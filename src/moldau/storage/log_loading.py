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
from moldau.storage.log_recovery import Recovery
from moldau.storage.log_settings import INT64_MAX, LogSettings
from moldau.storage.log_truncation import truncate_fully_and_start_at
from moldau.storage.producer_state import ProducerState
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
    recovery = Recovery(log, INT64_MAX if clean else checkpointed.recovery_point, progress)
    is_trusted = clean and not damaged
    recover_from = min([checkpointed.recovery_point if not clean else _end(segments), *damaged])
    if not epochs.entries:
        _rebuild_epochs(log, list(segments) if is_trusted else segments.before(recover_from))
    if is_trusted:
        recovery.trust()
    else:
        recovery.recover(recover_from)
        if checkpointed.recovery_point > log.log_end_offset and not clean:
            logger.warning(
                "%s: its end %d is before the recovery point %d, so all of it is recovered",
                place,
                log.log_end_offset,
                checkpointed.recovery_point,
            )
            recovery.recover(0)
    if log.leader_epochs.truncate_from_start(log.log_start_offset):
        log.epochs_changed()
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


def _rebuild_epochs(log: Log, segments: list[Segment]) -> None:
    """The epochs of the records that there are, from the headers of all batches: a crash has taken the checkpoint.

    Segments that are recovered are left out, since that finds their epochs too.
    """
    for segment in segments:
        log.note_epochs(segment.scan())


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
