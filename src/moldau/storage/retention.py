"""Which segments a log need not keep any longer: too old, too many bytes, or before the start of the log.

Decisions are pure, and go from the oldest segment on: the first one that stays ends them. Nothing above the high
watermark goes, whatever the settings say, and a log always keeps an active segment: when all of it has expired, an
empty one is begun first.

    by start offset   the next segment begins at or before the log start offset (DeleteRecords); any cleanup policy
    by size           what is over `retention.bytes`, in whole segments, so that never less than that is left
    by time           the largest timestamp is more than `retention.ms` ago; a clock that was set back keeps segments

The last two are for logs with the cleanup policy `delete`, alone or beside `compact`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable

from moldau.storage.log import Log
from moldau.storage.segment import Segment
from moldau.storage.time_index import TimestampOffset

logger = logging.getLogger(__name__)

_Expired = Callable[[Segment, int | None], bool]  # a segment and where the next one begins


def before_log_start(log: Log) -> list[Segment]:
    """The segments that end at or before the log start offset."""
    start = log.log_start_offset
    return _oldest_while(log, lambda _, next_base: next_base is not None and next_base <= start)


def beyond_size(log: Log) -> list[Segment]:
    """The oldest segments without which the log still has `retention.bytes`."""
    excess = log.size_bytes - log.settings.retention_bytes
    if log.settings.retention_bytes < 0 or excess <= 0:
        return []

    def expired(segment: Segment, _next_base: int | None) -> bool:
        nonlocal excess
        excess -= segment.size_bytes
        return excess >= 0

    return _oldest_while(log, expired)


def beyond_time(log: Log, now_ms: int) -> list[Segment]:
    """The oldest segments without a record of the last `retention.ms`."""
    retention_ms = log.settings.retention_ms
    if retention_ms < 0:
        return []
    return _oldest_while(log, lambda segment, _: now_ms - segment.retention_timestamp > retention_ms)


def first_unknown_timestamps(logs: Iterable[Log], now_ms: int) -> list[tuple[Segment, TimestampOffset]]:
    """The largest timestamps that `beyond_time` is going to ask for and would have to read from the disk.

    For a thread: it changes nothing that the loop looks at.
    """
    found = []
    for log in logs:
        retention_ms = log.settings.retention_ms
        if retention_ms < 0 or not log.settings.delete:
            continue
        for segment in list(log.segments):
            if segment.knows_largest_timestamp:
                continue
            try:
                largest = segment.peek_largest_timestamp()
            except FileNotFoundError:
                break  # it was taken out of the log meanwhile; if not, that is noticed when it is needed
            found.append((segment, largest))
            if largest.timestamp >= 0 and now_ms - largest.timestamp <= retention_ms:
                break
    return found


def _oldest_while(log: Log, expired: _Expired) -> list[Segment]:
    """The segments from the oldest on that have expired, lie below the high watermark and are worth removing."""
    segments = list(log.segments)
    bases: list[int | None] = [segment.base_offset for segment in segments[1:]]
    chosen = []
    for segment, next_base in zip(segments, [*bases, None], strict=True):
        end = log.log_end_offset if next_base is None else next_base
        is_empty_active = next_base is None and not segment.size_bytes
        if end > log.high_watermark or is_empty_active or not expired(segment, next_base):
            break
        chosen.append(segment)
    return chosen


def enforce_retention(log: Log, now_ms: int) -> int:
    """Take the segments that have expired out of a log, saying why; how many that were."""
    count = _remove(log, before_log_start(log), _say_start_offset)
    if log.settings.delete:
        count += _remove(log, beyond_size(log), _say_size)
        count += _remove(log, beyond_time(log, now_ms), _say_time)
    return count


def _remove(log: Log, segments: list[Segment], say: Callable[[Log, Iterable[Segment]], None]) -> int:
    if not segments:
        return 0
    say(log, segments)
    if len(segments) == len(log.segments):
        log.roll()
    next_base = log.segments.next_base(segments[-1])
    assert next_base is not None, "the active segment stays"
    if log.advance_log_start_offset(next_base):
        logger.info("%s: incremented log start offset to %d due to segment deletion", log.place, next_base)
    log.remove_segments(segments)
    log.snapshots.remove_below(next_base)
    return len(segments)


def _say_start_offset(log: Log, segments: Iterable[Segment]) -> None:
    listed = ", ".join(map(repr, segments))
    logger.info("%s: deleting segments due to log start offset %d breach: %s", log.place, log.log_start_offset, listed)


def _say_size(log: Log, segments: Iterable[Segment]) -> None:
    size_bytes = log.size_bytes
    for segment in segments:
        size_bytes -= segment.size_bytes
        logger.info(
            "%s: deleting segment %r due to log retention size %d breach. Log size after deletion will be %d.",
            log.place,
            segment,
            log.settings.retention_bytes,
            size_bytes,
        )


def _say_time(log: Log, segments: Iterable[Segment]) -> None:
    for segment in segments:
        dated = segment.largest_timestamp.timestamp >= 0
        logger.info(
            "%s: deleting segment %r due to log retention time %dms breach based on the %s the segment",
            log.place,
            segment,
            log.settings.retention_ms,
            "largest record timestamp in" if dated else "last modified time of",
        )
