"""One cleaning of one log, in a worker thread.

It works on a copy of the segment list and of the producers, taken in the loop, and asks the loop to put each cleaned
segment into the log. Nothing else of the log is touched, so appends and reads go on beside it. It may be stopped
between any two batches; groups of segments that were swapped in by then stay, and the checkpoint does not move.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from moldau.base.errors import CorruptRecord
from moldau.records.batch import CONTROL_FLAG, Buffer, RecordBatch
from moldau.records.convert import ConvertedEntry
from moldau.storage.cleaner.batch_filter import BatchFilter, Retained
from moldau.storage.cleaner.grouping import group_segments
from moldau.storage.cleaner.key_scan import scan_records
from moldau.storage.cleaner.legacy_filter import LegacyFilter, legacy_delete_horizon_ms
from moldau.storage.cleaner.offset_map import OffsetMap
from moldau.storage.cleaner.pace import CleaningAborted, Pace
from moldau.storage.cleaner.schedule import CleanableLog
from moldau.storage.cleaner.statistics import CleaningStatistics
from moldau.storage.cleaner.swap import create_cleaned, finish_cleaned, swap_in
from moldau.storage.cleaner.transactions import CleanedTransactions, aborted_between
from moldau.storage.producer_entry import ProducerEntry
from moldau.storage.scan import whole_batches
from moldau.storage.segment import NotedBatch, Segment

WRITE_BYTES = 512 * 1024  # what stays is gathered up to this before it is written

InLoop = Callable[[Callable[[], bool]], bool]
"""Runs a short function in the thread that owns the log, and gives its result."""


@dataclass(frozen=True, slots=True)
class Cleaning:
    """What a run works on and with."""

    cleanable: CleanableLog
    producers: Mapping[int, ProducerEntry]
    offset_map: OffsetMap
    pace: Pace
    in_loop: InLoop

    def run(self) -> CleaningStatistics:
        """Clean the log up to where the map reaches; the statistics say where that is.

        `CorruptRecord` if a batch is damaged, `OSError` if the directory fails, `CleaningAborted` if told to stop.
        """
        cleanable, log = self.cleanable, self.cleanable.log
        clock = log.place.clock
        statistics = CleaningStatistics(first_dirty_offset=cleanable.first_dirty_offset)
        began_ms = clock.monotonic_ms()
        try:
            end_offset = self._fill_map(statistics)
            statistics.end_offset = end_offset
            statistics.map_ms = clock.monotonic_ms() - began_ms
            statistics.map_utilization = self.offset_map.utilization
            self._copy(end_offset, statistics)
        finally:
            self.offset_map.clear(self.pace.pause)
        statistics.elapsed_ms = clock.monotonic_ms() - began_ms
        return statistics

    # -- learning the last offset of each key

    def _fill_map(self, statistics: CleaningStatistics) -> int:
        """Read the dirty part, or as much of it as the map holds; where what was read ends."""
        cleanable, offset_map = self.cleanable, self.offset_map
        first, bound = cleanable.first_dirty_offset, cleanable.first_uncleanable_offset
        transactions = CleanedTransactions(aborted_between(cleanable.segments, first, bound))
        offset_map.clear()
        offset_map.latest_offset = first - 1
        for segment in cleanable.segments_between(first, bound):
            position = segment.offset_index.lookup(first).position if first > segment.base_offset else 0
            for size_bytes, batch in self._batches(segment, position):
                discardable = transactions.is_discardable(batch)
                if batch.last_offset < first:
                    continue
                if not discardable and not batch.attributes & CONTROL_FLAG:
                    if not offset_map.has_room(batch.count):
                        return offset_map.latest_offset + 1
                    offset_map.add(scan_records(batch), batch.base_offset, first)
                offset_map.latest_offset = batch.last_offset
                statistics.map_records_read += batch.count
                statistics.map_bytes_read += size_bytes
        offset_map.latest_offset = bound - 1
        return bound

    def _batches(self, segment: Segment, position: int = 0) -> Iterator[tuple[int, RecordBatch]]:
        """The batches of a segment with their sizes in it, checked; reading takes its time, as the pace says."""
        end = position
        for start, size_bytes, batch in whole_batches(segment.file.read, position, segment.size_bytes):
            self.pace.step(size_bytes)
            yield size_bytes, batch
            end = start + size_bytes
        if end != segment.size_bytes:
            raise CorruptRecord(f"{segment.path.name} has {segment.size_bytes} bytes, but its batches end at {end}")

    # -- copying what stays

    def _copy(self, end_offset: int, statistics: CleaningStatistics) -> None:
        cleanable, log = self.cleanable, self.cleanable.log
        segments = cleanable.segments_between(0, end_offset)
        if not segments:
            return
        # Segments are copied whole, so up to beyond `end_offset` where the map was full in the middle of one.
        bound = cleanable.first_uncleanable_offset
        transactions = CleanedTransactions(aborted_between(cleanable.segments, 0, bound))
        batch_filter = BatchFilter(
            self.offset_map,
            transactions,
            self.producers,
            now_ms=log.place.clock.now_ms(),
            delete_retention_ms=log.settings.delete_retention_ms,
            end_offset=bound,
        )
        horizon_ms = legacy_delete_horizon_ms(cleanable)
        legacy_filter = LegacyFilter(self.offset_map, delete_horizon_ms=horizon_ms, end_offset=bound)
        for group in group_segments(segments, log.settings, bound):
            self._copy_group(group, batch_filter, legacy_filter, transactions, statistics)
        statistics.invalid_records = batch_filter.invalid_records + legacy_filter.invalid_records

    def _copy_group(
        self,
        sources: Sequence[Segment],
        batch_filter: BatchFilter,
        legacy_filter: LegacyFilter,
        transactions: CleanedTransactions,
        statistics: CleaningStatistics,
    ) -> None:
        log = self.cleanable.log
        cleaned = create_cleaned(log, sources)
        try:
            transactions.keep = cleaned.transaction_index.append
            writer = _Writer(cleaned, statistics)
            for source in sources:
                legacy_filter.begin_segment(log.place.files.modified_ms(source.path))
                for size_bytes, batch in self._batches(source):
                    statistics.records_read += batch.count
                    statistics.bytes_read += size_bytes
                    if isinstance(batch, ConvertedEntry):
                        retained = legacy_filter.filter(batch)
                    else:
                        retained = batch_filter.filter(batch)
                    if retained is not None and writer.add(retained):
                        self.pace.step(writer.write())
            writer.write()
            finish_cleaned(log, cleaned)
        except BaseException:
            _discard(cleaned)
            raise
        self._swap_in(sources, cleaned)
        log.place.files.sync_directory(log.place.directory)
        statistics.segments_before += len(sources)
        statistics.segments_after += 1

    def _swap_in(self, sources: Sequence[Segment], cleaned: Segment) -> None:
        """From here on the files are needed: an OSError between two renames is put right by the next start."""
        try:
            is_done = self.in_loop(lambda: not self.pace.aborted and swap_in(self.cleanable.log, sources, cleaned))
        except CleaningAborted:
            is_done = False
        if not is_done:
            _discard(cleaned)
            raise CleaningAborted


def _discard(cleaned: Segment) -> None:
    """Remove what is no part of the log; what cannot be removed now is removed by the next start."""
    with suppress(OSError):
        cleaned.remove()


class _Writer:
    """Gathers what stays, to write it in large pieces."""

    def __init__(self, cleaned: Segment, statistics: CleaningStatistics) -> None:
        self._cleaned = cleaned
        self._statistics = statistics
        self._parts: list[Buffer] = []
        self._noted: list[NotedBatch] = []
        self._size_bytes = 0

    def add(self, retained: Retained) -> bool:
        """Whether it is time to write."""
        data, last_offset, max_timestamp, records = retained
        size_bytes = len(data)
        self._parts.append(data)
        self._noted.append((self._cleaned.size_bytes + self._size_bytes, size_bytes, last_offset, max_timestamp))
        self._size_bytes += size_bytes
        self._statistics.records_written += records
        return self._size_bytes >= WRITE_BYTES

    def write(self) -> int:
        """Write what has been gathered; how many bytes that were."""
        size_bytes = self._size_bytes
        if size_bytes:
            self._cleaned.append_run((b"".join(self._parts),), self._noted)
            self._statistics.bytes_written += size_bytes
        self._parts, self._noted, self._size_bytes = [], [], 0
        return size_bytes
