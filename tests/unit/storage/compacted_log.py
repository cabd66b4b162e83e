"""A compacted log for tests of the cleaner: written record by record, cleaned at a given time, and read back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from random import Random
from typing import NamedTuple

from moldau.base.clock import VirtualClock
from moldau.records.batch import MAGIC_AT, Producer, RecordBatch
from moldau.records.builder import build_batch
from moldau.records.compression import CompressionType
from moldau.records.control import ControlRecordType, EndTransactionMarker, build_end_transaction_marker
from moldau.records.reader import read_batch
from moldau.records.record import Record
from moldau.storage.cleaner.cleaning import Cleaning
from moldau.storage.cleaner.offset_map import OffsetMap
from moldau.storage.cleaner.pace import Pace
from moldau.storage.cleaner.schedule import CleanableLog, cleanable, observe
from moldau.storage.cleaner.statistics import CleaningStatistics
from moldau.storage.files import Files
from moldau.storage.log import Log
from moldau.storage.log_loading import Checkpointed, load_log
from moldau.storage.log_place import LogPlace
from moldau.storage.log_reading import aborted_transactions
from moldau.storage.log_settings import LogSettings
from moldau.storage.open_files import OpenFiles
from moldau.storage.producer_append import AppendOrigin
from moldau.storage.scan import whole_batches
from moldau.testing.disk import SimulatedDisk

DIRECTORY = Path("/data")
HOUR_MS = 60 * 60 * 1000
SETTINGS = LogSettings(compact=True, delete=False, segment_index_bytes=4096, delete_retention_ms=24 * HOUR_MS)

KeyValue = tuple[bytes | None, bytes | None]


class Stored(NamedTuple):
    """A batch, or an entry of an old message set, as it is in the log."""

    batch: RecordBatch
    records: list[Record]
    data: bytes

    @property
    def magic(self) -> int:
        return self.data[MAGIC_AT]


class CompactedLog:
    """One partition on a simulated disk, or on any other."""

    def __init__(self, files: Files | None = None, settings: LogSettings = SETTINGS, base: Path = DIRECTORY) -> None:
        self.clock = VirtualClock()
        self.files = files or SimulatedDisk(self.clock)
        self.settings = settings
        self.clean_offset: int | None = None
        self.files.make_directory(base)
        self.place = self._place(base)
        self.log = load_log(self.place, settings)
        self.files.sync_directory(base.parent)
        self.files.sync_directory(base)
        self.sequences: dict[int, int] = {}

    def _place(self, base: Path) -> LogPlace:
        return LogPlace(base / "t-0", "t", 0, OpenFiles(self.files, 50), self.clock, Random(1))

    def reopen(self, *, clean: bool = False) -> Log:
        """Load the log again, as after a crash or a clean stop."""
        self.place = self._place(self.place.directory.parent)
        checkpointed = Checkpointed(high_watermark=self.log.high_watermark, log_start_offset=self.log.log_start_offset)
        if clean:
            checkpointed = checkpointed._replace(recovery_point=self.log.log_end_offset)
        self.log = load_log(self.place, self.settings, checkpointed, clean=clean)
        return self.log

    # -- writing

    def append(
        self,
        *records: KeyValue,
        codec: CompressionType = CompressionType.NONE,
        producer_id: int = -1,
        transactional: bool = False,
    ) -> int:
        """One batch; the offset of its first record."""
        now_ms = self.clock.now_ms()
        producer = Producer()
        if producer_id >= 0:
            sequence = self.sequences.get(producer_id, 0)
            producer = Producer(producer_id, 0, sequence)
            self.sequences[producer_id] = sequence + len(records)
        fields = [(index, now_ms + index, key, value, ()) for index, (key, value) in enumerate(records)]
        data = build_batch(fields, codec, producer=producer, transactional=transactional)
        return self._append(data, AppendOrigin.CLIENT if producer_id < 0 else AppendOrigin.COORDINATOR)

    def end(self, producer_id: int, *, commit: bool) -> int:
        """The marker that ends a transaction."""
        kind = ControlRecordType.COMMIT if commit else ControlRecordType.ABORT
        data = build_end_transaction_marker(EndTransactionMarker(kind, 0), producer_id, 0, self.clock.now_ms())
        return self._append(data, AppendOrigin.COORDINATOR)

    def _append(self, data: bytes, origin: AppendOrigin) -> int:
        result = self.log.append_as_leader(bytearray(data), 0, origin)
        self.log.advance_high_watermark(self.log.log_end_offset)
        return result.first_offset

    def put(self, data: bytes) -> None:
        """Bytes that another broker left at the end of the log; found when the log is opened."""
        file = self.files.open(self.log.segments.active.path)
        file.append(data)
        file.close()
        self.reopen()
        self.log.advance_high_watermark(self.log.log_end_offset)

    def roll(self) -> None:
        self.log.roll()

    # -- cleaning

    def cleanable(self) -> CleanableLog:
        return cleanable(observe(self.log, self.clean_offset), self.clock.now_ms())

    def cleaning(self, chosen: CleanableLog | None = None, budget_bytes: int = 1 << 20) -> Cleaning:
        chosen = chosen or self.cleanable()
        producers = dict(self.log.producer_state.producers)
        pace = Pace(self.clock, sleep=lambda seconds: self.clock.advance(seconds * 1000.0))
        return Cleaning(chosen, producers, OffsetMap(budget_bytes), pace, lambda function: function())

    def clean(self, budget_bytes: int = 1 << 20) -> CleaningStatistics:
        statistics = self.cleaning(budget_bytes=budget_bytes).run()
        self.clean_offset = statistics.end_offset
        return statistics

    # -- reading

    def stored(self) -> Iterator[Stored]:
        for segment in list(self.log.segments):
            for position, size_bytes, batch in whole_batches(segment.file.read, 0, segment.size_bytes):
                yield Stored(batch, read_batch(batch), bytes(segment.file.read(size_bytes, position)))

    def records(self) -> list[tuple[int, bytes | None, bytes | None]]:
        """What a reader of uncommitted records sees."""
        return [
            (record.offset, record.key, record.value)
            for stored in self.stored()
            if not stored.batch.is_control
            for record in stored.records
        ]

    def committed(self) -> list[tuple[int, bytes | None, bytes | None]]:
        """What a reader of committed records sees: aborted transactions are skipped as consumers do it."""
        log = self.log
        aborted = aborted_transactions(log, log.log_start_offset, log.last_stable_offset)
        return [
            (record.offset, record.key, record.value)
            for batch, records, _ in self.stored()
            if not batch.is_control and batch.base_offset < log.last_stable_offset
            for record in records
            if not batch.is_transactional
            or not any(
                one.producer_id == batch.producer_id and one.first_offset <= record.offset <= one.last_offset
                for one in aborted
            )
        ]

    def markers(self) -> list[int]:
        return [stored.batch.base_offset for stored in self.stored() if stored.batch.is_control]

    def check_files(self) -> None:
        """Indexes agree with the log, nothing is left of the cleaning, and offsets ascend."""
        end = -1
        for segment in self.log.segments:
            segment.offset_index.check()
            segment.time_index.check()
            segment.transaction_index.check()
            largest = -1
            for position, _, batch in whole_batches(segment.file.read, 0, segment.size_bytes):
                assert batch.base_offset > end
                assert batch.base_offset >= segment.base_offset
                end = batch.last_offset
                largest = max(largest, batch.max_timestamp)
                located = segment.locate(batch.last_offset)
                assert located is not None
                assert located.position == position
            assert segment.largest_timestamp.timestamp == largest
        assert not [name for name in self.files.names(self.place.directory) if name.endswith((".cleaned", ".swap"))]


def latest(records: Iterable[tuple[int, bytes | None, bytes | None]]) -> dict[bytes | None, bytes | None]:
    """The state that a reader builds: the last value of each key, none after a tombstone."""
    state: dict[bytes | None, bytes | None] = {}
    for _, key, value in records:
        state.pop(key, None)
        if value is not None:
            state[key] = value
    return state
