"""Cutting a log at its end: a follower drops what its leader does not have.

A cut is on the disk before anything is appended after it. Otherwise a crash could bring segments back that were dropped
and put them behind new ones whose offsets happen to end where they begin: a log that nobody ever wrote. For the same
reason the caller writes the recovery point down before it appends again. Both wait for the disk; cuts are rare.
"""

from __future__ import annotations

import logging

from moldau.storage.log import Log
from moldau.storage.replay import restore_producers

logger = logging.getLogger(__name__)


def truncate_to(log: Log, offset: int) -> bool:
    """Remove the batches from the one that an offset is in; whether there was anything to remove."""
    if offset >= log.log_end_offset:
        _cut_epochs(log, offset)
        return False
    logger.info("%s: truncated from %d to %d", log.place, log.log_end_offset, offset)
    if offset < log.segments.first.base_offset:
        truncate_fully_and_start_at(log, offset)
        return True
    log.remove_segments(log.segments.above(offset))
    log.log_end_offset = log.segments.active.truncate_to(offset)
    log.log_start_offset = min(log.log_start_offset, log.log_end_offset)
    _cut_epochs(log, log.log_end_offset)
    _follow_the_end(log)
    restore_producers(log)
    return True


def truncate_fully_and_start_at(log: Log, offset: int) -> None:
    """Remove everything and begin anew at an offset: a follower that is too far behind its leader's log start."""
    logger.info("%s: truncated fully, starts at %d", log.place, offset)
    log.remove_segments(list(log.segments))
    log.start_segment(offset)
    log.log_start_offset = log.log_end_offset = offset
    log.high_watermark = offset
    if log.leader_epochs.clear():
        log.epochs_changed()
    log.snapshots.remove(log.snapshots.offsets)
    log.producer_state.truncate_fully_and_start_at(offset)
    _follow_the_end(log)


def _cut_epochs(log: Log, end_offset: int) -> None:
    if log.leader_epochs.truncate_from_end(end_offset):
        log.epochs_changed()


def _follow_the_end(log: Log) -> None:
    """Nothing can be beyond the end of the log."""
    end = log.log_end_offset
    log.truncations += 1
    log.is_changed = True
    log.recovery_point = min(log.recovery_point, end)
    log.high_watermark = min(log.high_watermark, end)
    log.recent.clear()
    log.snapshots.remove_above(end)
    log.segments.active.file.sync()
    log.place.files.sync_directory(log.place.directory)
