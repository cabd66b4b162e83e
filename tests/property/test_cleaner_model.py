"""Random logs, cleaned again and again at random times, against a model that keeps every record ever written.

The model works on plain lists, with the whole history at hand: a record is gone if a later one of its key was below the
end of some cleaning, if its transaction was aborted, or if it is a tombstone whose batch is past its horizon.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from moldau.records.compression import CompressionType
from moldau.storage.cleaner.offset_map import ENTRY_BYTES
from moldau.storage.log_settings import LogSettings
from tests.unit.storage.compacted_log import CompactedLog, latest

RETENTION_MS = 1000
PRODUCERS = 3


@dataclass
class ModelBatch:
    base_offset: int
    count: int
    producer_id: int
    records: list[tuple[int, bytes, bytes | None]]
    is_marker: bool = False
    transaction: int = -1
    """The number of its transaction, -1 for none."""
    horizon_ms: int | None = None

    @property
    def next_offset(self) -> int:
        return self.base_offset + self.count


@dataclass
class Model:
    """What the log should hold."""

    batches: list[ModelBatch] = field(default_factory=list)
    aborted: set[int] = field(default_factory=set)
    history: list[tuple[int, bytes, bytes | None, int]] = field(default_factory=list)
    last_data_offset: dict[int, int] = field(default_factory=dict)

    def clean(self, end_offset: int, bound: int, swept: int, now_ms: int) -> None:
        """A cleaning that knows the keys below `end_offset`, rewrites segments below `swept`, and may go to `bound`."""
        newest = {
            key: offset
            for offset, key, _, transaction in self.history
            if offset < end_offset and transaction not in self.aborted
        }
        kept, had_records = [], set()
        for batch in self.batches:
            if batch.base_offset >= swept:
                kept.append(batch)
                continue
            if batch.is_marker:
                stays = self._clean_marker(batch, batch.transaction in had_records, now_ms)
            else:
                had_records.add(batch.transaction)
                self._clean_records(batch, newest, end_offset, now_ms)
                stays = bool(batch.records)
            is_last_of_producer = self.last_data_offset.get(batch.producer_id) == batch.next_offset - 1
            if stays or is_last_of_producer or batch.next_offset == bound:
                kept.append(batch)
        self.batches = kept

    def _clean_marker(self, batch: ModelBatch, had_records: bool, now_ms: int) -> bool:
        if had_records:
            return True
        if batch.horizon_ms is None:
            batch.horizon_ms = now_ms + RETENTION_MS
            return True
        return now_ms < batch.horizon_ms

    def _clean_records(self, batch: ModelBatch, newest: dict[bytes, int], end_offset: int, now_ms: int) -> None:
        expired = batch.horizon_ms is not None and batch.horizon_ms <= now_ms
        batch.records = [
            (offset, key, value)
            for offset, key, value in batch.records
            if batch.transaction not in self.aborted
            and (offset >= end_offset or (offset >= newest[key] and not (expired and value is None)))
        ]
        if batch.horizon_ms is None and any(value is None for _, _, value in batch.records):
            batch.horizon_ms = now_ms + RETENTION_MS


class Side:
    """The log and its model, written to together."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.log = CompactedLog(
            settings=LogSettings(
                compact=True,
                delete=False,
                segment_index_bytes=4096,
                segment_bytes=random.choice([600, 2000, 1 << 20]),
                index_interval_bytes=random.choice([1, 100, 4096]),
                delete_retention_ms=RETENTION_MS,
            )
        )
        self.model = Model()
        self.open_transactions: dict[int, int] = {}
        self.transactions = 0

    def append(self) -> None:
        random = self.random
        producer_id = random.choice([-1, *range(PRODUCERS)])
        is_open = producer_id in self.open_transactions
        transactional = producer_id >= 0 and (is_open or random.random() < 0.5)
        if transactional and not is_open:
            self.open_transactions[producer_id] = self.transactions
            self.transactions += 1
        records = [
            (b"k%d" % random.randrange(6), None if random.random() < 0.3 else b"%d" % random.randrange(1000))
            for _ in range(random.randint(1, 4))
        ]
        base = self.log.append(
            *records,
            codec=random.choice(list(CompressionType)),
            producer_id=producer_id,
            transactional=transactional,
        )
        numbered = [(base + index, key, value) for index, (key, value) in enumerate(records)]
        transaction = self.open_transactions[producer_id] if transactional else -1
        self.model.batches.append(ModelBatch(base, len(records), producer_id, numbered, False, transaction))
        self.model.history += [(*record, transaction) for record in numbered]
        self.model.last_data_offset[producer_id] = base + len(records) - 1
        self.model.last_data_offset.pop(-1, None)

    def end_transaction(self) -> None:
        if self.open_transactions:
            producer_id = self.random.choice(list(self.open_transactions))
            transaction = self.open_transactions.pop(producer_id)
            commit = self.random.random() < 0.5
            offset = self.log.end(producer_id, commit=commit)
            if not commit:
                self.model.aborted.add(transaction)
            self.model.batches.append(ModelBatch(offset, 1, producer_id, [], True, transaction))

    def clean(self) -> None:
        budget_bytes = ENTRY_BYTES * self.random.choice([2, 4, 1000])
        chosen = self.log.cleanable()
        statistics = self.log.clean(budget_bytes)
        assert chosen.first_dirty_offset <= statistics.end_offset <= chosen.first_uncleanable_offset
        swept = [segment.base_offset for segment in chosen.segments] + [self.log.log.log_end_offset]
        end = next(base for base in swept if base >= statistics.end_offset)
        self.model.clean(statistics.end_offset, chosen.first_uncleanable_offset, end, self.log.clock.now_ms())

    def step(self) -> None:
        actions = [self.append] * 6 + [self.end_transaction] * 3 + [self.log.roll] * 2 + [self.clean] * 2
        self.random.choice(actions)()
        self.log.clock.advance(self.random.choice([1, 100, 900]))

    def check(self) -> None:
        log, model = self.log, self.model
        log.check_files()
        assert [(stored.batch.base_offset, stored.batch.next_offset) for stored in log.stored()] == [
            (batch.base_offset, batch.next_offset) for batch in model.batches
        ]
        assert log.records() == [record for batch in model.batches for record in batch.records]
        stable = log.log.last_stable_offset
        committed = [
            (offset, key, value)
            for offset, key, value, transaction in model.history
            if offset < stable and transaction not in model.aborted
        ]
        assert latest(log.committed()) == latest(committed)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32), steps=st.integers(10, 80))
def test_a_log_is_what_the_model_says_after_any_number_of_cleanings(seed: int, steps: int) -> None:
    side = Side(Random(seed))
    for _ in range(steps):
        side.step()
    side.log.roll()
    side.clean()
    side.check()
    producers = {key: entry.last_sequence for key, entry in side.log.log.producer_state.producers.items()}
    end, stable = side.log.log.log_end_offset, side.log.log.last_stable_offset
    side.log.log.flush()
    side.log.reopen()
    side.check()
    assert (side.log.log.log_end_offset, side.log.log.last_stable_offset) == (end, stable)
    assert {key: e.last_sequence for key, e in side.log.log.producer_state.producers.items()} == producers
