"""Reading from a log: by offset for fetches, by time for searches, and the aborted transactions that readers skip.

A read finds out which piece of which file holds the wanted batches, and reads it. It never goes beyond the bound that
it is given (the high watermark, the last stable offset, or the end for followers), always gives at least one batch if
there is one, however large, and never crosses a segment: the next read does.
"""

from __future__ import annotations

from typing import NamedTuple

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError
from moldau.records.batch import Buffer
from moldau.storage.files import File
from moldau.storage.log import Log
from moldau.storage.segment import FoundOffset, NotInCache, Segment
from moldau.storage.transaction_index import AbortedTransaction


class Slice(NamedTuple):
    """A piece of a segment's file: whole batches, but for the last one, which a limit may have cut.

    It holds the open file, so that it can be read in any thread and whatever becomes of the segment's name meanwhile.
    """

    segment: Segment
    position: int
    size_bytes: int
    file: File

    def read(self, *, wait: bool = True) -> Buffer:
        if wait:
            return self.file.read(self.size_bytes, self.position)
        data = self.file.read_now(self.size_bytes, self.position)
        if data is None:
            raise NotInCache
        return data


def find_slice(
    log: Log, offset: int, bound: int, bytes_max: int, *, at_least_one: bool = True, wait: bool = True
) -> Slice | None:
    """Where the batches from an offset up to a bound are; None if there are none yet.

    The first batch may begin before the offset. OFFSET_OUT_OF_RANGE if the log never had, or no longer has, the offset.
    """
    if not log.log_start_offset <= offset <= log.log_end_offset:
        raise ApiError(
            ErrorCode.OFFSET_OUT_OF_RANGE,
            f"offset {offset} is not within {log.log_start_offset} to {log.log_end_offset} of {log.place}",
        )
    bound = min(bound, log.log_end_offset)
    if offset >= bound:
        return None
    found = _find_batch(log, offset, bound, wait)
    if found is None:
        return None
    segment, position, batch_bytes = found
    available = _end_position(log, segment, bound, wait) - position
    if available <= 0:
        return None
    limit = max(bytes_max, batch_bytes) if at_least_one else bytes_max
    return Slice(segment, position, min(available, limit), segment.file) if limit > 0 else None


def _find_batch(log: Log, offset: int, bound: int, wait: bool) -> tuple[Segment, int, int] | None:
    """The first batch that ends at or after an offset: nearly always one of the latest, or in the offset's segment."""
    recent = log.recent.get(offset)
    if recent is not None:
        return recent
    for segment in log.segments.from_offset(offset):
        if segment.base_offset >= bound:
            break
        batch = segment.locate(offset, wait=wait)
        if batch is not None:
            return segment, batch.position, batch.size_bytes
    return None  # compaction has left nothing from here to the bound


def _end_position(log: Log, segment: Segment, bound: int, wait: bool) -> int:
    """Up to which position of a segment a reader with a bound may see."""
    next_base = log.segments.next_base(segment)
    if bound >= (log.log_end_offset if next_base is None else next_base):
        return segment.size_bytes
    recent = log.recent.get(bound)
    if recent is not None and recent[0] is segment:
        return recent[1]
    batch = segment.locate(bound, wait=wait)
    return segment.size_bytes if batch is None else batch.position


def aborted_transactions(log: Log, offset: int, bound: int) -> list[AbortedTransaction]:
    """The aborted transactions with records from an offset up to a bound, in the order of their markers."""
    found: list[AbortedTransaction] = []
    for segment in log.segments.from_offset(offset):
        some, complete = segment.transaction_index.collect(offset, bound)
        found += some
        if complete:
            break
    return found


def find_timestamp(log: Log, timestamp: int) -> FoundOffset | None:
    """The first record whose timestamp is at least the wanted one."""
    for segment in list(log.segments):
        if segment.largest_timestamp.timestamp < timestamp:
            continue
        found = segment.find_timestamp(timestamp, log.log_start_offset)
        if found is not None:
            return found
    return None


def find_largest_timestamp(log: Log) -> FoundOffset | None:
    """The first record that has the largest timestamp of the log (KIP-734)."""
    segments = [segment for segment in log.segments if segment.size_bytes]
    if not segments:
        return None
    largest = max(segments, key=lambda segment: segment.largest_timestamp.timestamp)
    return largest.find_largest_timestamp()
