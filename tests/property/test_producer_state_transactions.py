"""Producer state over random histories of transactions: the last stable offset, and state derived from the log.

A history is made by a leader: producers write inside and outside of transactions, coordinators end them, the high
watermark follows. The model is the list of transactions with their first offsets and markers.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st

from moldau.records.batch import RecordBatch
from moldau.storage.producer_append import AppendOrigin, CompletedTransaction
from moldau.storage.producer_entry import ProducerEntry
from moldau.storage.producer_snapshot import decode_snapshot, encode_snapshot
from moldau.storage.producer_state import ProducerState
from tests.unit.storage.producer_batches import NOW_MS, Partition, marker_batch, records_batch

NEVER_MS = 1 << 60


@dataclass
class Transaction:
    producer_id: int
    first_offset: int
    marker_offset: int | None = None


@dataclass
class History:
    """A leader's partition and the model of its transactions."""

    partition: Partition = field(default_factory=Partition)
    transactions: list[Transaction] = field(default_factory=list)
    completed: list[CompletedTransaction] = field(default_factory=list)
    high_watermark: int = 0

    def open_of(self, producer_id: int) -> Transaction | None:
        found = [each for each in self.transactions if each.producer_id == producer_id and each.marker_offset is None]
        return found[0] if found else None

    def write(self, producer_id: int, count: int, transactional: bool) -> None:
        open_transaction = self.open_of(producer_id)
        transactional = transactional or open_transaction is not None
        offset = self.partition.end_offset
        entry = self.partition.state.producers.get(producer_id, ProducerEntry(producer_epoch=0))
        batch = records_batch(
            producer_id,
            entry.producer_epoch,
            entry.next_sequence,
            count,
            transactional=transactional,
            timestamp_ms=NOW_MS + offset,
        )
        assert self.partition.append(batch).duplicate is None
        if transactional and open_transaction is None:
            self.transactions.append(Transaction(producer_id, offset))

    def end(self, producer_id: int, raise_epoch: int, commit: bool) -> None:
        offset = self.partition.end_offset
        entry = self.partition.state.producers.get(producer_id, ProducerEntry(producer_epoch=0))
        marker = marker_batch(
            producer_id, entry.producer_epoch + raise_epoch, commit=commit, timestamp_ms=NOW_MS + offset
        )
        self.completed += self.partition.append(marker, origin=AppendOrigin.COORDINATOR).completed
        open_transaction = self.open_of(producer_id)
        if open_transaction:
            open_transaction.marker_offset = offset

    def replicate(self, offsets: int) -> None:
        self.high_watermark = min(self.high_watermark + offsets, self.partition.end_offset)
        self.partition.state.on_high_watermark(self.high_watermark)

    def check_last_stable_offset(self) -> None:
        unstable = [
            each.first_offset
            for each in self.transactions
            if each.marker_offset is None or each.marker_offset >= self.high_watermark
        ]
        state = self.partition.state
        assert state.first_unstable_offset == min(unstable, default=None)
        assert state.last_stable_offset(self.high_watermark) == min([*unstable, self.high_watermark])
        undecided = [each.first_offset for each in self.transactions if each.marker_offset is None]
        assert state.first_undecided_offset == min(undecided, default=None)


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("write"), st.integers(1, 4), st.integers(1, 3), st.booleans()),
        st.tuples(st.just("write"), st.integers(1, 4), st.integers(1, 3), st.just(True)),
        st.tuples(st.just("end"), st.integers(1, 4), st.integers(0, 1), st.booleans()),
        st.tuples(st.just("replicate"), st.just(0), st.integers(0, 8), st.just(True)),
    ),
    max_size=40,
)


def history_of(steps: list[tuple[str, int, int, bool]]) -> History:
    history = History()
    for action, producer_id, number, flag in steps:
        if action == "write":
            history.write(producer_id, number, flag)
        elif action == "end":
            history.end(producer_id, number, flag)
        else:
            history.replicate(number)
        history.check_last_stable_offset()
    return history


def replayed(batches: list[RecordBatch], state: ProducerState) -> list[CompletedTransaction]:
    return [completed for batch in batches for completed in state.replay(batch)]


@settings(max_examples=150, deadline=None)
@given(STEPS)
def test_no_unstable_offset_is_below_the_last_stable_offset(steps: list[tuple[str, int, int, bool]]) -> None:
    history = history_of(steps)
    ended = [each for each in history.transactions if each.marker_offset is not None]
    assert sorted(each[:3] for each in history.completed) == sorted(
        (each.producer_id, each.first_offset, each.marker_offset) for each in ended
    )
    for index, earlier in enumerate(history.completed):
        assert earlier.last_stable_offset <= earlier.last_offset + 1
        # A search of the transaction index stops at an entry whose last stable offset is far enough.
        assert all(later.first_offset >= earlier.last_stable_offset for later in history.completed[index + 1 :])


@settings(max_examples=150, deadline=None)
@given(STEPS)
def test_a_follower_derives_the_leaders_state_however_it_fetches(steps: list[tuple[str, int, int, bool]]) -> None:
    history = history_of(steps)
    written = history.partition.written
    one_by_one = ProducerState("t-0")
    assert replayed(written, one_by_one) == history.completed
    at_once = ProducerState("t-0")
    prepared = at_once.prepare(written, AppendOrigin.REPLICATION)
    assert prepared.completed == history.completed
    at_once.commit(prepared, history.partition.end_offset)
    for state in (one_by_one, at_once):
        state.on_high_watermark(history.high_watermark)
        assert state.producers == history.partition.state.producers
        assert state.first_unstable_offset == history.partition.state.first_unstable_offset
        assert state.first_undecided_offset == history.partition.state.first_undecided_offset
        assert state.map_end_offset == history.partition.end_offset


@settings(max_examples=150, deadline=None)
@given(STEPS, st.integers(0, 40))
def test_a_snapshot_and_the_batches_after_it_give_the_state_of_all_batches(
    steps: list[tuple[str, int, int, bool]], taken_after: int
) -> None:
    history = history_of(steps)
    written, expected = history.partition.written, history.partition.state
    before, after = written[:taken_after], written[taken_after:]
    state = ProducerState("t-0")
    replayed(before, state)
    snapshot = encode_snapshot(state.producers)
    restored = ProducerState("t-0")
    restored.load(decode_snapshot(snapshot), state.map_end_offset, NOW_MS, NEVER_MS)
    assert encode_snapshot(restored.producers) == snapshot
    completed = replayed(after, restored)
    assert completed == history.completed[len(history.completed) - len(completed) :]
    for each in (expected, restored):
        each.on_high_watermark(history.partition.end_offset)
    assert restored.first_unstable_offset == expected.first_unstable_offset
    assert restored.map_end_offset == expected.map_end_offset
    assert restored.producers.keys() == expected.producers.keys()
    for producer_id, entry in restored.producers.items():
        original = expected.producers[producer_id]
        assert entry[:4] == original[:4]
        # The last batch before the snapshot may have the time of the marker after it.
        assert [each[:3] for each in entry.batches] == [each[:3] for each in original.batches]
