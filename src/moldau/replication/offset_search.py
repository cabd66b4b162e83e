"""Offsets by time: what ListOffsets asks of a log.

-1 latest    -2 earliest    -3 the largest timestamp (KIP-734)    -4 earliest on this broker's disks (KIP-405)
-5 the last in tiered storage, -6 the first to be put there: there is none, and so no such offset
"""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from concurrent.futures import Executor

from moldau.replication.delayed_fetch import FetchIsolation
from moldau.storage.log import Log
from moldau.storage.log_reading import find_largest_timestamp, find_timestamp
from moldau.storage.segment import FoundOffset

LATEST_TIMESTAMP = -1
EARLIEST_TIMESTAMP = -2
LARGEST_TIMESTAMP = -3
EARLIEST_LOCAL_TIMESTAMP = -4

NO_EPOCH = -1
NOT_FOUND = FoundOffset(offset=-1, timestamp=-1, leader_epoch=NO_EPOCH)


async def find_by_timestamp(log: Log, timestamp: int, isolation: FetchIsolation, readers: Executor) -> FoundOffset:
    """What a reader with an isolation is told; searches that read from disk do so in a thread."""
    if timestamp == LATEST_TIMESTAMP:
        latest = log.leader_epochs.latest_epoch
        return FoundOffset(_bound(log, isolation), -1, NO_EPOCH if latest is None else latest)
    if timestamp in (EARLIEST_TIMESTAMP, EARLIEST_LOCAL_TIMESTAMP):
        start = log.log_start_offset
        epoch = log.leader_epochs.epoch_for_offset(start)
        return FoundOffset(start, -1, NO_EPOCH if epoch is None else epoch)
    run = asyncio.get_running_loop().run_in_executor
    if timestamp == LARGEST_TIMESTAMP:
        found = await run(readers, find_largest_timestamp, log)
    elif timestamp >= 0:
        found = await run(readers, find_timestamp, log, timestamp)
    else:
        found = None
    return found if found is not None and found.offset < _bound(log, isolation) else NOT_FOUND


def _bound(log: Log, isolation: FetchIsolation) -> int:
    if isolation is FetchIsolation.LOG_END:
        return log.log_end_offset
    return log.high_watermark if isolation is FetchIsolation.HIGH_WATERMARK else log.last_stable_offset


def segment_offsets_before(log: Log, timestamp: int, bound: int, count_max: int) -> list[int]:
    """Version 0: beginnings of segments that were last written before a time, and the end; latest first."""
    segments = [segment for segment in log.segments if segment.size_bytes or segment is log.segments.first]
    offsets = [max(segment.base_offset, log.log_start_offset) for segment in segments]
    times = [segment.largest_timestamp.timestamp for segment in segments]
    if log.segments.active.size_bytes:
        offsets.append(log.log_end_offset)
        times.append(log.place.clock.now_ms())
    if timestamp == LATEST_TIMESTAMP:
        last = len(offsets)
    else:
        last = 1 if timestamp == EARLIEST_TIMESTAMP else bisect_right(times, timestamp)
    # What consumers may not see yet is not told; the end that they may see is.
    found = dict.fromkeys(min(offset, bound) for offset in reversed(offsets[:last]))
    return list(found)[: max(count_max, 0)]
