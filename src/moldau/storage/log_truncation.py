"""Cutting a log at its end: a follower drops what its leader does not have."""

from __future__ import annotations

import logging

from moldau.storage.log import Log
from moldau.storage.replay import restore_producers

logger = logging.getLogger(__name__)


def truncate_to(log: Log, offset: int) -> bool:
    """Remove the batches from the one that an offset is in; whether there was anything to remove."""
    if log.leader_epochs.truncate_from_end(offset):
        log.write_epochs()
    if offset >= log.log_end_offset:
        return False
    logger.info("%s: truncated from %d to %d", log.place, log.log_end_offset, offset)
    if offset < log.segments.first.base_offset:
        truncate_fully_and_start_at(log, offset)
        return True
    log.remove_segments(log.segments.above(offset))
    log.log_end_offset = log.segments.active.truncate_to(offset)
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
    _follow_the_end(log)
    if log.leader_epochs.clear():
        log.write_epochs()
    log.snapshots.remove(log.snapshots.offsets)
    log.producer_state.truncate_fully_and_start_at(offset)


def _follow_the_end(log: Log) -> None:
    """Nothing can be beyond the end of the log."""
    end = log.log_end_offset
    log.recovery_point = min(log.recovery_point, end)
    log.high_watermark = min(log.high_watermark, end)
    log.recent.clear()
    log.snapshots.remove_above(end)
