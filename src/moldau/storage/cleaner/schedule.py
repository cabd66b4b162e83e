"""Which log is cleaned next, and up to where.

Dirt is measured in bytes: what has been written since the last cleaning and may be cleaned, of all that would be read.
The dirtiest log whose share is above its `min.cleanable.dirty.ratio` comes first; one with records that have waited
longer than `max.compaction.lag.ms` does not need the share. Not to be cleaned are: the active segment, everything from
the last stable offset on (who knows how those transactions end), and from the first segment with a record that is
younger than `min.compaction.lag.ms`. Only whole segments are cleaned, so the bound is the base offset of one.

Looking at timestamps may wait for the disk. So `observe` copies in the loop what belongs to it, and the rest
is worked out wherever waiting is allowed.
"""

from __future__ import annotations

import logging
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from moldau.storage.log import Log
from moldau.storage.log_settings import LogSettings
from moldau.storage.segment import Segment

logger = logging.getLogger(__name__)


class ObservedLog(NamedTuple):
    """A log at one moment."""

    log: Log
    settings: LogSettings
    segments: list[Segment]
    log_start_offset: int
    log_end_offset: int
    last_stable_offset: int
    checkpointed_offset: int | None
    """The first dirty offset according to the checkpoint; None if it was never cleaned."""


@dataclass(frozen=True, slots=True)
class CleanableLog:
    """How dirty a log is, and the part of it that may be cleaned."""

    log: Log
    segments: list[Segment]
    first_dirty_offset: int
    first_uncleanable_offset: int
    clean_bytes: int
    cleanable_bytes: int
    overdue_ms: int
    """For how long its oldest dirty record has been waiting beyond `max.compaction.lag.ms`."""
    is_checkpoint_invalid: bool = False

    @property
    def cleanable_ratio(self) -> float:
        total = self.clean_bytes + self.cleanable_bytes
        return self.cleanable_bytes / total if total else 0.0

    @property
    def needs_cleaning(self) -> bool:
        if self.overdue_ms > 0 and self.cleanable_bytes > 0:
            return True
        return self.cleanable_ratio > self.log.settings.min_cleanable_dirty_ratio

    def segments_between(self, start: int, bound: int) -> list[Segment]:
        """The segments from the one that an offset is in up to a bound, where one must not begin."""
        return _between(self.segments, start, bound)


def observe(log: Log, checkpointed_offset: int | None) -> ObservedLog:
    """In the loop's thread, and at once."""
    segments = list(log.segments)
    _ = segments[-1].transaction_index.entries  # counted here, where it is appended to; others may read it then
    return ObservedLog(
        log,
        log.settings,
        segments,
        log.log_start_offset,
        log.log_end_offset,
        log.last_stable_offset,
        checkpointed_offset,
    )


def cleanable(observed: ObservedLog, now_ms: int) -> CleanableLog:
    """What of a log may be cleaned now; may wait for the disk."""
    first_dirty, is_invalid = _first_dirty_offset(observed)
    segments, active = observed.segments, observed.segments[-1]
    bound = max(first_dirty, _first_uncleanable_offset(observed, first_dirty, now_ms))
    bound = next(iter(_between(segments, bound, active.base_offset)), active).base_offset
    return CleanableLog(
        observed.log,
        segments,
        first_dirty,
        bound,
        clean_bytes=sum(segment.size_bytes for segment in segments if segment.base_offset < first_dirty),
        cleanable_bytes=sum(segment.size_bytes for segment in _between(segments, min(first_dirty, bound), bound)),
        overdue_ms=_overdue_ms(observed, first_dirty, now_ms),
        is_checkpoint_invalid=is_invalid,
    )


def dirtiest(candidates: Iterable[CleanableLog]) -> CleanableLog | None:
    """The log to clean next, if any needs it."""
    return max(
        (candidate for candidate in candidates if candidate.needs_cleaning),
        key=lambda candidate: candidate.cleanable_ratio,
        default=None,
    )


def _between(segments: list[Segment], start: int, bound: int) -> list[Segment]:
    """From the segment that `start` is in, all that begin before `bound`."""
    first = max(0, bisect_right(segments, start, key=_base_offset) - 1)
    return segments[first : bisect_left(segments, bound, key=_base_offset)]


def _base_offset(segment: Segment) -> int:
    return segment.base_offset


def _first_dirty_offset(observed: ObservedLog) -> tuple[int, bool]:
    """Where the dirty part begins, and whether the checkpoint was wrong about it."""
    start, checkpointed = observed.log_start_offset, observed.checkpointed_offset
    if checkpointed is None:
        return start, False
    if start <= checkpointed <= observed.log_end_offset:
        return checkpointed, False
    # With the policy `delete` retention moves the start past the checkpoint, which is as it should be.
    if checkpointed > observed.log_end_offset or not observed.settings.delete:
        logger.warning(
            "%s: the checkpoint says that it is clean up to %d, but the log is from %d to %d: all of it is dirty",
            observed.log.place,
            checkpointed,
            start,
            observed.log_end_offset,
        )
    return start, True


def _first_uncleanable_offset(observed: ObservedLog, first_dirty: int, now_ms: int) -> int:
    active = observed.segments[-1]
    bound = min(observed.last_stable_offset, active.base_offset)
    lag_ms = observed.settings.min_compaction_lag_ms
    if lag_ms > 0:
        for segment in _between(observed.segments, first_dirty, bound):
            if segment.largest_timestamp.timestamp > now_ms - lag_ms:
                return segment.base_offset
    return bound


def _overdue_ms(observed: ObservedLog, first_dirty: int, now_ms: int) -> int:
    """How much longer than `max.compaction.lag.ms` the oldest dirty segment has been waiting."""
    until_ms = now_ms - max(0, observed.settings.max_compaction_lag_ms)
    if until_ms <= 0:
        return 0
    dirty = _between(observed.segments, first_dirty, observed.segments[-1].base_offset)
    timestamps = [segment.first_timestamp for segment in dirty]
    earliest = min([timestamp for timestamp in timestamps if timestamp > 0], default=until_ms)
    return max(0, until_ms - earliest)
