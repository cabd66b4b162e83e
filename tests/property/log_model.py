"""What a log should be, said in the simplest way: a list of batches, from which all else follows.

Everything derived is worked out from the list each time, by looking at all of it. Nothing here uses the storage code.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from struct import pack_into
from typing import NamedTuple

from moldau.records.batch import NO_PRODUCER, Producer
from moldau.records.builder import build_batch
from moldau.records.control import ControlRecordType, EndTransactionMarker, build_end_transaction_marker
from moldau.records.record import Record


class Batch(NamedTuple):
    """A batch as it is in the log, and what it was made from."""

    data: bytes
    base_offset: int
    last_offset: int
    epoch: int
    records: tuple[Record, ...]
    producer: Producer = NO_PRODUCER
    transactional: bool = False
    aborts: bool | None = None  # for the end of a transaction: whether it aborts
    max_timestamp: int = -1


class Transaction(NamedTuple):
    producer_id: int
    first_offset: int
    last_offset: int  # of the marker; beyond all offsets while it is open
    aborted: bool


@dataclass(slots=True)
class ProducerModel:
    epoch: int = -1
    last_sequence: int = -1
    last_offset: int = -1
    timestamp: int = -1
    transaction_first_offset: int = -1


OPEN = 1 << 62


def make_batch(
    base_offset: int,
    epoch: int,
    rows: Iterable[tuple[int, bytes | None, bytes | None]],
    *,
    producer: Producer = NO_PRODUCER,
    transactional: bool = False,
) -> Batch:
    """A batch of records given as timestamps, keys and values."""
    records = tuple(Record(base_offset + index, *row) for index, row in enumerate(rows))
    data = build_batch(
        list(records), base_offset=base_offset, leader_epoch=epoch, producer=producer, transactional=transactional
    )
    largest = max(record.timestamp for record in records)
    return Batch(data, base_offset, records[-1].offset, epoch, records, producer, transactional, None, largest)


def make_marker(base_offset: int, epoch: int, producer: Producer, timestamp: int, *, aborts: bool) -> Batch:
    kind = ControlRecordType.ABORT if aborts else ControlRecordType.COMMIT
    data = build_end_transaction_marker(
        EndTransactionMarker(kind, 0),
        producer.producer_id,
        producer.producer_epoch,
        timestamp,
        base_offset=base_offset,
        leader_epoch=epoch,
    )
    record = Record(base_offset, timestamp, b"", b"")
    return Batch(data, base_offset, base_offset, epoch, (record,), producer, True, aborts, timestamp)


def as_sent(batches: Iterable[Batch]) -> bytearray:
    """What a producer sends, which knows nothing of offsets and epochs."""
    sent = bytearray()
    for batch in batches:
        one = bytearray(batch.data)
        pack_into(">q", one, 0, 0)
        pack_into(">i", one, 12, -1)
        sent += one
    return sent


@dataclass
class LogModel:
    """The batches that were written and not truncated; those before `start` may be gone from the files."""

    batches: list[Batch] = field(default_factory=list)
    written: list[Batch] = field(default_factory=list)  # the same before they were cleaned
    start: int = 0
    end: int = 0
    high_watermark: int = 0
    flushed: int = 0  # what is before this survives every crash
    epochs: list[tuple[int, int]] = field(default_factory=list)
    cleaned: int = 0  # nothing before this is truncated
    deleted: int = 0  # the furthest that it ever started
    epoch_max: int = 0  # the cluster's, which never goes back

    def append(self, batch: Batch) -> None:
        self.batches.append(batch)
        self.written.append(batch)
        self.end = batch.last_offset + 1
        self.start_epoch(batch.epoch, batch.base_offset)

    def start_epoch(self, epoch: int, offset: int) -> None:
        self.epoch_max = max(self.epoch_max, epoch)
        if not self.epochs or epoch > self.epochs[-1][0]:
            self.epochs = [entry for entry in self.epochs if entry[1] < offset] + [(epoch, offset)]

    def truncate_to(self, offset: int) -> None:
        if offset < self.end:
            cut = [batch.base_offset for batch in self.batches if batch.last_offset >= offset]
            self.end = min([offset, *cut])
            self.keep_before(self.end)
        self.epochs = [entry for entry in self.epochs if entry[1] < min(offset, self.end)]
        self.start, self.high_watermark, self.flushed = (
            min(value, self.end) for value in (self.start, self.high_watermark, self.flushed)
        )

    def keep_before(self, end: int) -> None:
        self.batches = [batch for batch in self.batches if batch.last_offset < end]
        self.written = [batch for batch in self.written if batch.last_offset < end]

    def start_anew(self, offset: int) -> None:
        self.batches, self.written, self.epochs = [], [], []
        self.start = self.end = self.high_watermark = self.flushed = offset

    def advance_start(self, offset: int) -> None:
        if offset > self.start:
            self.start = offset
            self.deleted = max(self.deleted, offset)
            self.epochs = epochs_from(self.epochs, offset)

    # -- what follows from the batches

    def from_offset(self, offset: int) -> list[Batch]:
        """The batches that end at or after an offset."""
        return [batch for batch in self.batches if batch.last_offset >= offset]

    @property
    def records(self) -> Iterator[Record]:
        for batch in self.batches:
            yield from (record for record in batch.records if record.offset >= self.start)

    def is_aborted(self, batch: Batch) -> bool:
        """Whether it holds records of a transaction that was aborted."""
        return batch.transactional and any(
            one.aborted
            and one.producer_id == batch.producer.producer_id
            and one.first_offset <= batch.base_offset < one.last_offset
            for one in self.transactions
        )

    def clean(self, cleaned: list[Batch], first_offset: int, end_offset: int) -> None:
        """Take what a cleaning made of the batches between offsets, if no record is missing that has to be there."""
        left = {record.offset: record for batch in cleaned for record in batch.records}
        latest: dict[bytes | None, int] = {}
        for batch in self.batches:
            if batch.aborts is None and not self.is_aborted(batch):
                latest.update((record.key, record.offset) for record in batch.records if record.offset < end_offset)
        for batch in self.from_offset(first_offset):
            for record in batch.records:
                if record.offset in left:
                    assert left.pop(record.offset) == record
                    continue
                # What was aborted goes with its segment, as in Kafka, also where the keys are not all known yet.
                assert self.is_aborted(batch) or record.offset < min(end_offset, latest[record.key]), record
        assert not left, "records that nobody wrote"
        self.batches = cleaned

    def first_since(self, timestamp: int) -> tuple[int, int] | None:
        return next(((r.offset, r.timestamp) for r in self.records if r.timestamp >= timestamp), None)

    @property
    def transactions(self) -> list[Transaction]:
        """Finished ones in the order of their markers, and then open ones."""
        finished: list[Transaction] = []
        first_offsets: dict[int, int] = {}
        for batch in self.written:
            producer_id = batch.producer.producer_id
            if batch.aborts is not None:
                first = first_offsets.pop(producer_id, None)
                if first is not None:
                    finished.append(Transaction(producer_id, first, batch.last_offset, batch.aborts))
            elif batch.transactional:
                first_offsets.setdefault(producer_id, batch.base_offset)
        return finished + [Transaction(key, first, OPEN, False) for key, first in first_offsets.items()]

    @property
    def last_stable_offset(self) -> int:
        return self._stable_before(self.high_watermark)

    @property
    def last_stable_offset_max(self) -> int:
        """What a restart may make of it: which markers were replicated is not kept."""
        return self._stable_before(OPEN)

    def _stable_before(self, marker_offset: int) -> int:
        unstable = [one.first_offset for one in self.transactions if one.last_offset >= marker_offset]
        return max(self.start, min([self.high_watermark, *unstable]))

    def aborted(self, offset: int, bound: int) -> list[tuple[int, int, int]]:
        return [one[:3] for one in self.transactions if one.aborted and one[1] < bound and one[2] >= offset]

    @property
    def producers(self) -> dict[int, ProducerModel]:
        found: dict[int, ProducerModel] = {}
        for batch in self.written:
            producer_id, epoch, base_sequence = batch.producer
            if producer_id < 0:
                continue
            one = found.setdefault(producer_id, ProducerModel())
            if epoch != one.epoch:
                one.last_sequence = one.last_offset = -1
            one.epoch, one.timestamp = epoch, batch.max_timestamp
            if batch.aborts is not None:
                one.transaction_first_offset = -1
                continue
            one.last_sequence = base_sequence + len(batch.records) - 1
            one.last_offset = batch.last_offset
            if batch.transactional and one.transaction_first_offset < 0:
                one.transaction_first_offset = batch.base_offset
        return found


def epochs_from(entries: list[tuple[int, int]], start: int) -> list[tuple[int, int]]:
    """Epochs that have an offset from the start on; the first one begins there."""
    before = [entry for entry in entries if entry[1] <= start]
    after = [entry for entry in entries if entry[1] > start]
    return [(before[-1][0], start), *after] if before else after
