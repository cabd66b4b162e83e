"""A log on a disk that forgets, against a model that is a list: any sequence of operations, crashes included.

`MOLDAU_MODEL_EXAMPLES` says how many sequences are tried, each of up to 50 operations.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test

from moldau.records.batch import Producer
from moldau.records.reader import read_batch
from moldau.storage.cleaner.cleaning import Cleaning
from moldau.storage.cleaner.offset_map import OffsetMap
from moldau.storage.cleaner.pace import Pace
from moldau.storage.cleaner.schedule import cleanable, observe
from moldau.storage.log import Log
from moldau.storage.log_loading import Checkpointed
from moldau.storage.log_truncation import truncate_fully_and_start_at, truncate_to
from moldau.storage.producer_append import AppendOrigin
from moldau.storage.retention import enforce_retention
from moldau.storage.scan import whole_batches
from moldau.testing.disk import SimulatedDisk
from tests.property.log_agreement import check_all, check_epochs, check_read
from tests.property.log_model import Batch, LogModel, ProducerModel, as_sent, make_batch, make_marker
from tests.unit.storage.log_workbench import START_MS, Workbench

EXAMPLES = int(os.environ.get("MOLDAU_MODEL_EXAMPLES", "150"))

ROWS = st.lists(
    st.tuples(
        st.integers(START_MS - 50, START_MS + 1000),
        st.sampled_from([b"one key", b"another"]),
        st.integers(0, 90).map(lambda size: b"v" * size),
    ),
    min_size=1,
    max_size=4,
)
FRACTION = st.floats(0, 1)


def _no_sleep(_seconds: float) -> None:
    """Time stands still here."""


def _at_once(function: Callable[[], bool]) -> bool:
    return function()


class LogMachine(RuleBasedStateMachine):
    @initialize(
        segment_bytes=st.sampled_from([1500, 4000]),
        interval=st.sampled_from([0, 300, 700]),
        preallocate=st.booleans(),
        compact=st.booleans(),
    )
    def begin(self, segment_bytes: int, interval: int, preallocate: bool, compact: bool) -> None:
        self.compact = compact
        self.disk = SimulatedDisk()
        self.bench = Workbench(
            Path("/logs"),
            self.disk,
            segment_bytes=segment_bytes,
            index_interval_bytes=interval,
            segment_index_bytes=240,
            preallocate=preallocate,
            retention_ms=-1,
            compact=compact,
        )
        self.disk.sync_directory(Path("/"))
        self.log: Log = self.bench.open()
        self.log.flush()
        self.disk.sync_directory(Path("/logs"))
        self.model = LogModel()
        self.checkpoint()

    # -- appends

    @rule(rows=st.lists(ROWS, min_size=1, max_size=2))
    def append_as_leader(self, rows: list[list[tuple[int, bytes | None, bytes | None]]]) -> None:
        made: list[Batch] = []
        for one in rows:
            made.append(make_batch(made[-1].last_offset + 1 if made else self.model.end, self.epoch, one))
        self._lead(made)

    @rule(rows=st.lists(ROWS, min_size=1, max_size=3), bump=st.booleans(), cut=FRACTION)
    def append_as_follower(
        self, rows: list[list[tuple[int, bytes | None, bytes | None]]], bump: bool, cut: float
    ) -> None:
        offset, epoch = self.model.end, self.epoch + bump
        made: list[Batch] = []
        for one in rows:
            made.append(make_batch(offset, epoch, one))
            offset = made[-1].last_offset + 1
        data = b"".join(batch.data for batch in made)
        last = made[-1].data
        data += last[: int(cut * (len(last) - 1))]
        self.log.append_as_follower(data)
        for batch in made:
            self.model.append(batch)

    @rule(producer_id=st.integers(1, 2), bump=st.sampled_from([0, 0, 0, 1]), rows=ROWS)
    def append_idempotent(
        self, producer_id: int, bump: int, rows: list[tuple[int, bytes | None, bytes | None]]
    ) -> None:
        producer = self._next_sequence(producer_id, bump)
        self._lead([make_batch(self.model.end, self.epoch, rows, producer=producer)])

    @rule(producer_id=st.integers(11, 12), rows=ROWS)
    def append_in_transaction(self, producer_id: int, rows: list[tuple[int, bytes | None, bytes | None]]) -> None:
        producer = self._next_sequence(producer_id, 0)
        self._lead([make_batch(self.model.end, self.epoch, rows, producer=producer, transactional=True)])

    @rule(producer_id=st.integers(11, 12), aborts=st.booleans(), bump=st.booleans())
    def end_transaction(self, producer_id: int, aborts: bool, bump: bool) -> None:
        known = self.model.producers.get(producer_id, ProducerModel(epoch=0))
        producer = Producer(producer_id, known.epoch + bump)
        marker = make_marker(self.model.end, self.epoch, producer, START_MS, aborts=aborts)
        self.log.append_as_leader(bytearray(as_sent([marker])), self.epoch, AppendOrigin.COORDINATOR)
        self.model.append(marker)

    @rule(producer_id=st.integers(1, 2))
    def append_again(self, producer_id: int) -> None:
        """A producer that did not get its answer."""
        known = self.model.producers.get(producer_id)
        if known is not None and known.last_offset >= 0:
            (original,) = (batch for batch in self.model.written if batch.last_offset == known.last_offset)
            result = self.log.append_as_leader(as_sent([original]), self.epoch)
            assert result.duplicate
            assert result[:2] == (original.base_offset, original.last_offset)

    def _lead(self, made: list[Batch]) -> None:
        result = self.log.append_as_leader(as_sent(made), self.epoch)
        assert result[:2] == (made[0].base_offset, made[-1].last_offset)
        for batch in made:
            self.model.append(batch)

    def _next_sequence(self, producer_id: int, bump: int) -> Producer:
        known = self.model.producers.get(producer_id)
        if known is None:
            return Producer(producer_id, 0, 0)
        return Producer(producer_id, known.epoch + bump, 0 if bump else known.last_sequence + 1)

    @property
    def epoch(self) -> int:
        return self.model.epoch_max

    # -- what leaders, followers and tasks do to a log

    @rule()
    def become_leader(self) -> None:
        epoch = self.epoch + 1
        self.log.start_epoch(epoch, self.model.end)
        self.model.start_epoch(epoch, self.model.end)

    @rule(fraction=FRACTION)
    def replicate(self, fraction: float) -> None:
        offset = self._between(self.model.high_watermark, self.model.end, fraction)
        self.log.advance_high_watermark(offset)
        self.model.high_watermark = offset

    @rule(fraction=FRACTION, retention=st.booleans())
    def delete_records(self, fraction: float, retention: bool) -> None:
        offset = self._between(self.model.start, self.model.high_watermark, fraction)
        self.log.advance_log_start_offset(offset)
        self.model.advance_start(offset)
        if retention:
            enforce_retention(self.log, self.bench.clock.now_ms())

    @rule()
    def roll(self) -> None:
        self.log.roll()

    @rule(budget_bytes=st.sampled_from([1, 1 << 20]), all_replicated=st.booleans())
    @precondition(lambda self: self.compact)
    def clean(self, budget_bytes: int, all_replicated: bool) -> None:
        """The cleaner, over all that may be cleaned now; a small budget ends it in the middle."""
        log, clock = self.log, self.bench.clock
        if all_replicated:
            self.replicate(1.0)
            log.roll()
        chosen = cleanable(observe(log, None), clock.now_ms())
        producers = dict(log.producer_state.producers)
        cleaning = Cleaning(chosen, producers, OffsetMap(budget_bytes), Pace(clock, sleep=_no_sleep), _at_once)
        end_offset = cleaning.run().end_offset
        by_offset = {batch.base_offset: batch for batch in self.model.batches}
        cleaned = []
        for segment in log.segments:
            for _, _, batch in whole_batches(segment.file.read, 0, segment.size_bytes):
                was = by_offset[batch.base_offset]
                kept = {record.offset for record in read_batch(batch)}
                records = tuple(record for record in was.records if record.offset in kept)
                assert len(records) == len(kept)
                cleaned.append(was._replace(data=bytes(batch.data), records=records))
        self.model.clean(cleaned, log.segments.first.base_offset, end_offset)
        self.model.cleaned = max(self.model.cleaned, chosen.first_uncleanable_offset)

    @rule()
    def flush(self) -> None:
        self.log.flush()
        self.model.flushed = self.model.end

    @rule()
    def checkpoint(self) -> None:
        log = self.log
        self.checkpointed = Checkpointed(log.recovery_point, log.log_start_offset, log.high_watermark)

    @rule(fraction=FRACTION)
    def truncate(self, fraction: float) -> None:
        low = max(0, self.model.start - 5, self.model.cleaned)  # what is clean was replicated to everybody
        offset = self._between(low, max(low, self.model.end), fraction)
        first_base = self.log.segments.first.base_offset
        truncate_to(self.log, offset)
        if offset < first_base:
            self.model.start_anew(offset)
        else:
            self.model.truncate_to(offset)
        self.checkpoint()

    @rule(ahead=st.integers(0, 50))
    @precondition(lambda self: self.model.end < 2000)
    def start_anew(self, ahead: int) -> None:
        offset = self.model.end + ahead
        truncate_fully_and_start_at(self.log, offset)
        self.model.start_anew(offset)
        self.checkpoint()

    def _between(self, low: int, high: int, fraction: float) -> int:
        return low + round((high - low) * fraction)

    # -- questions

    @rule(at=FRACTION, until=FRACTION, bytes_max=st.sampled_from([1, 100, 1000, 100_000]))
    def read(self, at: float, until: float, bytes_max: int) -> None:
        offset = self._between(self.model.start, self.model.end, at)
        check_read(self.log, self.model, offset, self._between(offset, self.model.end, until), bytes_max)

    @rule()
    def examine(self) -> None:
        check_all(self.log, self.model)

    # -- the end, in three ways

    @rule()
    def stop_and_start(self) -> None:
        self.log.close()
        self.model.flushed = self.model.end
        self.checkpoint()
        self.log = self.bench.open(clean=True, **self.checkpointed._asdict())
        if not self.model.epochs:  # then they are looked for in all batches, also in those before the log's start
            self.model.epochs = list(self.log.leader_epochs.entries)
        check_all(self.log, self.model)

    @rule()
    def kill(self) -> None:
        """The process dies; nothing that was appended is lost."""
        self.disk.kill()
        self._reopen()
        self._follow(self.model.end)

    @rule(seed=st.integers(0, 1 << 32))
    def crash(self, seed: int) -> None:
        """The power goes; what was flushed is there, and nothing is there that was not written."""
        self.disk.crash(Random(seed))
        self._reopen()
        self._follow(self.model.flushed)

    def _reopen(self) -> None:
        self.log = self.bench.open(clean=False, **self.checkpointed._asdict())

    def _follow(self, least_end: int) -> None:
        """What only memory held is what the checkpoints say; the batches are what they were, or the first of them."""
        model, log = self.model, self.log
        assert least_end <= log.log_end_offset <= model.end
        model.keep_before(log.log_end_offset)
        model.end = log.log_end_offset
        model.flushed = min(model.flushed, model.end)
        model.start = max(self.checkpointed.log_start_offset, log.segments.first.base_offset)
        if model.flushed < model.start == model.end and not log.producer_state.producers:
            model.batches, model.written = [], []  # the crash took all that there was from the start on
        model.high_watermark = max(model.start, min(self.checkpointed.high_watermark, model.end))
        check_epochs(log, model)
        model.epochs = list(log.leader_epochs.entries)
        check_all(log, model)
        self.checkpoint()


def try_out(examples: int, steps: int) -> None:
    run_state_machine_as_test(
        LogMachine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            database=None,
        ),
    )


def test_a_log_is_what_its_model_says_for_a_while() -> None:
    try_out(examples=8, steps=15)


@pytest.mark.slow
def test_a_log_is_what_its_model_says() -> None:
    try_out(EXAMPLES, steps=50)
