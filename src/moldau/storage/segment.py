"""One segment of a log: a `.log` file of batches, and the indexes that find offsets, times and aborted transactions.

The `.log` file is the truth. An entry of the offset index (last offset of a batch, its position) is made at most every
`index.interval.bytes`, one of the time index (largest timestamp so far, the offset that had it) along with it. A search
goes to the nearest entry before its target and walks batches by their headers from there. Only the last segment of a
log, the active one, is appended to; when the next one begins, its indexes get their last entry and are cut to size.

Nothing here is kept open: files come from `OpenFiles` at every use. With `wait=False` a search never waits for a disk:
it raises `NotInCache`, and the caller repeats it in a thread that may wait.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, TypeAlias
from weakref import ref

from moldau.base.errors import MoldauError
from moldau.records.batch import LOG_OVERHEAD_BYTES, MAGIC_AT, MAGIC_V2, Buffer, RecordBatch
from moldau.records.legacy import entries, read_message_set
from moldau.records.reader import read_batch
from moldau.records.record import NO_TIMESTAMP, Record
from moldau.storage.file_names import (
    LOG_SUFFIX,
    OFFSET_INDEX_SUFFIX,
    TIME_INDEX_SUFFIX,
    TRANSACTION_INDEX_SUFFIX,
    segment_file,
)
from moldau.storage.files import File, no_file
from moldau.storage.log_settings import LogSettings
from moldau.storage.offset_index import OffsetIndex
from moldau.storage.open_files import OpenFiles
from moldau.storage.scan import BatchSummary, scan
from moldau.storage.time_index import TimeIndex, TimestampOffset
from moldau.storage.transaction_index import TransactionIndex

NotedBatch: TypeAlias = tuple[int, int, int, int]
"""Of a batch in a file what its indexes are made from: position, size in bytes, last offset, largest timestamp."""

RELATIVE_OFFSET_MAX = (1 << 31) - 1

_new_tuple = tuple.__new__  # half the price of a constructor


class NotInCache(MoldauError):
    """What was asked for would have to come from the disk; ask again where waiting is allowed."""


class FoundOffset(NamedTuple):
    """The first record that a search by time was for."""

    offset: int
    timestamp: int
    leader_epoch: int


class Segment:
    """The records from `base_offset` up to the next segment's."""

    def __init__(
        self,
        open_files: OpenFiles,
        directory: Path,
        base_offset: int,
        settings: LogSettings,
        *,
        size_bytes: int = 0,
        created_ms: int = 0,
        state: str = "",
    ) -> None:
        """Opens nothing. `state` is the last suffix of its files, none for a segment in use."""
        self.base_offset = base_offset
        self.directory = directory
        self.size_bytes = size_bytes
        self.created_ms = created_ms
        self.state = state
        self._open_files = open_files
        self._index_interval_bytes = settings.index_interval_bytes
        self._bytes_since_index_entry = 0
        self.is_full = False  # whether an index has no room for another entry; a full one gets no appends
        self._largest: TimestampOffset | None = None  # not known until asked for
        self._indexed: TimestampOffset | None = None  # the last of these that the time index has been given
        self._first_timestamp: int | None = None
        self._appended: Callable[[], File | None] = no_file
        index_bytes = settings.segment_index_bytes
        self.path = self._path(LOG_SUFFIX)
        self.offset_index = OffsetIndex(open_files, self._path(OFFSET_INDEX_SUFFIX), base_offset, index_bytes)
        self.time_index = TimeIndex(open_files, self._path(TIME_INDEX_SUFFIX), base_offset, index_bytes)
        self.transaction_index = TransactionIndex(open_files, self._path(TRANSACTION_INDEX_SUFFIX), base_offset)

    def _path(self, kind: str) -> Path:
        return self.directory / segment_file(self.base_offset, kind, self.state)

    def __repr__(self) -> str:
        return f"Segment({self.path.name}, {self.size_bytes} bytes)"

    @property
    def file(self) -> File:
        return self._open_files.get(self.path)

    # -- life

    def create(self, preallocate_bytes: int = 0) -> None:
        """Make the files of a new active segment."""
        file = self._open_files.get(self.path, create=True)
        if preallocate_bytes:
            self._open_files.pin(self.path)
            file.preallocate(preallocate_bytes)
        self.offset_index.preallocate()
        self.time_index.preallocate()

    def finish(self) -> None:
        """No more appends: the largest timestamp gets its entry, and the files their true size."""
        largest = self.largest_timestamp
        if largest.timestamp != NO_TIMESTAMP:
            self.time_index.append(largest.timestamp, largest.offset, on_roll=True)
        self.offset_index.trim()
        self.time_index.trim()
        if self.file.pins:
            self.file.truncate(self.size_bytes)
            self._open_files.unpin(self.path)

    def sync(self) -> None:
        """Make records and indexes durable; may run in any thread."""
        self.file.sync()
        self.offset_index.sync()
        self.time_index.sync()
        self.transaction_index.sync()

    def rename(self, state: str) -> None:
        """Change the last suffix of all files that there are."""
        files = self._open_files.files
        self.state = state
        for part in (self, self.offset_index, self.time_index, self.transaction_index):
            renamed = self._path(_kind(part.path))
            self._open_files.forget(part.path)
            self._open_files.forget(renamed)  # a file that had the name before, such as an older `.deleted`
            if files.exists(part.path):
                files.rename(part.path, renamed)
            part.path = renamed

    def forget_files(self) -> None:
        """Let go of open files."""
        for path in self.paths:
            self._open_files.forget(path)

    def move_to(self, directory: Path) -> None:
        """The directory has another name."""
        self.forget_files()
        self.directory = directory
        for part in (self, self.offset_index, self.time_index, self.transaction_index):
            part.path = directory / part.path.name

    def remove(self) -> None:
        """Remove all files."""
        for path in self.paths:
            self._open_files.forget(path)
            self._open_files.files.remove(path)

    @property
    def paths(self) -> list[Path]:
        return [self.path, self.offset_index.path, self.time_index.path, self.transaction_index.path]

    # -- appending

    def append(self, data: Buffer, batches: Iterable[RecordBatch]) -> None:
        """Write `data`, which is these batches and nothing else."""
        position = self.size_bytes
        noted: list[NotedBatch] = []
        for batch in batches:
            size_bytes = LOG_OVERHEAD_BYTES + batch.length
            noted.append((position, size_bytes, batch.base_offset + batch.last_offset_delta, batch.max_timestamp))
            position += size_bytes
        self.append_run((data,), noted)

    def append_run(self, run: Sequence[Buffer], noted: Sequence[NotedBatch]) -> None:
        """Write batches in one go; `noted` says where each of them comes to be."""
        file = self._appended()
        if file is None or not file.is_kept:
            file = self._open_files.get(self.path)
            self._appended = ref(file)
        file.is_recent = True
        if len(run) == 1:
            file.append(run[0])
        else:
            file.append_parts(run)
        self.size_bytes = noted[-1][0] + noted[-1][1]
        self.note(noted)

    def note(self, batches: Sequence[NotedBatch]) -> None:
        """Bring the indexes up to batches that are in the file."""
        if batches[0][0] == 0:
            self._first_timestamp = batches[0][3]
        largest = self._largest or self.largest_timestamp
        since_bytes, interval_bytes = self._bytes_since_index_entry, self._index_interval_bytes
        for position, size_bytes, last_offset, timestamp in batches:
            if timestamp > largest[0]:
                largest = _new_tuple(TimestampOffset, (timestamp, last_offset))
            if since_bytes <= interval_bytes or self.is_full:
                since_bytes += size_bytes
                continue
            since_bytes = size_bytes
            self.is_full = self.offset_index.append(last_offset, position)
            if largest is not self._indexed and largest[0] != NO_TIMESTAMP:
                self.is_full |= self.time_index.append(largest[0], largest[1])
                self._indexed = largest
        self._bytes_since_index_entry, self._largest = since_bytes, largest

    def note_all(self, batches: Sequence[NotedBatch]) -> None:
        """As `note` of each; faster for many."""
        if min(self.offset_index.room, self.time_index.room) < len(batches):
            self.note(batches)
            return
        if batches[0][0] == 0:
            self._first_timestamp = batches[0][3]
        base_offset, interval_bytes = self.base_offset, self._index_interval_bytes
        since_bytes, (largest, largest_offset) = self._bytes_since_index_entry, self.largest_timestamp
        offsets: list[tuple[int, int]] = []
        times: list[tuple[int, int]] = []
        indexed = self.time_index.last.timestamp
        for position, size_bytes, last_offset, timestamp in batches:
            if timestamp > largest:
                largest, largest_offset = timestamp, last_offset
            if since_bytes > interval_bytes:
                since_bytes = 0
                offsets.append((last_offset - base_offset, position))
                if largest > indexed:
                    times.append((largest, largest_offset - base_offset))
                    indexed = largest
            since_bytes += size_bytes
        self._bytes_since_index_entry, self._largest = since_bytes, TimestampOffset(largest, largest_offset)
        self.offset_index.extend(offsets)
        self.time_index.extend(times)

    @property
    def largest_timestamp(self) -> TimestampOffset:
        """The largest timestamp in the segment and the last offset of the batch that has it."""
        if self._largest is None:
            self._largest = self.time_index.last
            self.is_full = self.offset_index.is_full or self.time_index.is_full
        return self._largest

    @property
    def knows_largest_timestamp(self) -> bool:
        return self._largest is not None

    def peek_largest_timestamp(self) -> TimestampOffset:
        """What the time index says, read anew; may run in any thread."""
        return TimeIndex(self._open_files, self.time_index.path, self.base_offset, 0).last

    def learn_largest_timestamp(self, largest: TimestampOffset) -> None:
        """Take what was peeked, unless more is known by now."""
        if self._largest is None:
            self._largest = largest

    @property
    def first_timestamp(self) -> int:
        """The first batch's timestamp, from which the segment's age counts; -1 if it has none."""
        if self._first_timestamp is None:
            first = next(scan(self.file.read, 0, self.size_bytes), None) if self.size_bytes else None
            if first is None:
                return NO_TIMESTAMP
            self._first_timestamp = first.max_timestamp
        return self._first_timestamp

    @property
    def retention_timestamp(self) -> int:
        """What retention by time goes by: the largest timestamp, or the file's own where records have none."""
        largest = self.largest_timestamp.timestamp
        return largest if largest >= 0 else self._open_files.files.modified_ms(self.path)

    # -- searching

    def scan(self, position: int = 0, *, wait: bool = True) -> Iterator[BatchSummary]:
        return scan(self.file.read if wait else self._read_now, position, self.size_bytes)

    def locate(self, offset: int, *, wait: bool = True) -> BatchSummary | None:
        """The first batch that ends at or after an offset."""
        if wait:
            position = self.offset_index.lookup(offset).position
        elif (entry := self.offset_index.lookup_now(offset)) is not None:
            position = entry.position
        else:
            raise NotInCache
        for batch in self.scan(position, wait=wait):
            if batch.last_offset >= offset:
                return batch
        return None

    def _read_now(self, size: int, position: int) -> Buffer:
        data = self.file.read_now(size, position)
        if data is None:
            raise NotInCache
        return data

    def find_timestamp(self, timestamp: int, first_offset: int) -> FoundOffset | None:
        """The first record, from an offset on, that has at least a timestamp."""
        entry = self.time_index.lookup(timestamp)
        position = self.offset_index.lookup(max(entry.offset, first_offset)).position
        for summary in self.scan(position):
            if summary.max_timestamp < timestamp or summary.last_offset < first_offset:
                continue
            for record in self._records(summary):
                if record.timestamp >= timestamp and record.offset >= first_offset:
                    return FoundOffset(record.offset, record.timestamp, summary.leader_epoch)
        return None

    def find_largest_timestamp(self) -> FoundOffset | None:
        """The first record with the largest timestamp of the segment."""
        largest = self.largest_timestamp
        return None if largest.timestamp == NO_TIMESTAMP else self.find_timestamp(largest.timestamp, self.base_offset)

    def _records(self, summary: BatchSummary) -> list[Record]:
        data = self.file.read(summary.size_bytes, summary.position)
        return read_message_set(entries(data)) if data[MAGIC_AT] < MAGIC_V2 else read_batch(RecordBatch(data))

    def batch(self, summary: BatchSummary) -> RecordBatch:
        """The batch itself."""
        return RecordBatch(self.file.read(summary.size_bytes, summary.position))

    # -- cutting

    def truncate_to(self, offset: int) -> int:
        """Remove the batches from the one that an offset is in; where the segment ends now."""
        batch = self.locate(offset)
        self.offset_index.truncate_to(offset)
        self.time_index.truncate_to(offset)
        self.transaction_index.truncate_to(offset)
        if batch is not None:
            self.cut(batch.position)
        self.find_largest_timestamp_again()
        return offset if batch is None else min(offset, batch.base_offset)

    def find_largest_timestamp_again(self) -> None:
        """Where the time index has lost its end: batches are looked at from its last entry on."""
        largest = self.time_index.last
        for batch in self.scan(self.offset_index.lookup(largest.offset).position):
            if batch.max_timestamp > largest.timestamp:
                largest = TimestampOffset(batch.max_timestamp, batch.last_offset)
        self._largest = largest

    def cut(self, size_bytes: int) -> None:
        """Cut the file to a size; the indexes are the caller's."""
        self.file.truncate(size_bytes)
        self.size_bytes = size_bytes
        self._bytes_since_index_entry = 0
        if size_bytes == 0:
            self._first_timestamp = None

    def cut_after(self, size_bytes: int) -> int:
        """Cut off what comes after the last good batch; how many bytes that were."""
        removed = self.size_bytes - size_bytes
        if removed:
            self.cut(size_bytes)
        return removed

    def reset_indexes(self) -> None:
        """Empty the indexes, to build them again from the file."""
        self.offset_index.reset()
        self.time_index.reset()
        self.transaction_index.reset()
        self._largest = None
        self._first_timestamp = None
        self._bytes_since_index_entry = 0
        self.is_full = False


def _kind(path: Path) -> str:
    """The suffix that says what a segment's file is."""
    return "." + path.name.split(".")[1]
