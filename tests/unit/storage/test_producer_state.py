"""Producer state: which batch is written, which is a duplicate, which is refused, and what is remembered."""

from __future__ import annotations

import logging
import tracemalloc

import pytest

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError
from moldau.records.batch import Producer, RecordBatch
from moldau.records.builder import build_batch
from moldau.storage.producer_append import NOTHING_PREPARED, AppendOrigin
from moldau.storage.producer_entry import AppendedBatch, ProducerEntry
from moldau.storage.producer_state import ProducerState
from tests.unit.storage.producer_batches import NOW_MS, Partition, marker_batch, records_batch

DAY_MS = 86_400_000
SEQUENCE_MAX = (1 << 31) - 1


def test_a_gap_is_refused_and_a_repetition_answered_with_the_first_offset() -> None:
    partition = Partition()
    assert partition.send(7, 0, 0) is None
    assert partition.send(7, 0, 1) is None
    assert partition.refusal(7, 0, 3) == "OUT_OF_ORDER_SEQUENCE_NUMBER"
    assert partition.send(7, 0, 1) == AppendedBatch(last_sequence=1, last_offset=1, offset_delta=0, timestamp=NOW_MS)
    assert [batch.base_offset for batch in partition.written] == [0, 1]


def test_the_last_five_batches_are_recognised_and_older_ones_are_out_of_order() -> None:
    partition = Partition(end_offset=100)
    for sequence in range(0, 60, 10):
        assert partition.send(7, 0, sequence, count=10) is None
    originals = [partition.send(7, 0, sequence, count=10) for sequence in range(10, 60, 10)]
    assert [original and original.base_offset for original in originals] == [110, 120, 130, 140, 150]
    assert [original and original.last_offset for original in originals] == [119, 129, 139, 149, 159]
    with pytest.raises(ApiError) as raised:
        partition.send(7, 0, 0, count=10)
    assert raised.value.code is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert partition.end_offset == 160


def test_a_repetition_has_exactly_the_same_sequence_numbers() -> None:
    partition = Partition()
    partition.send(7, 0, 0, count=10)
    assert partition.refusal(7, 0, 0) == "OUT_OF_ORDER_SEQUENCE_NUMBER"
    assert partition.refusal(7, 0, 9) == "OUT_OF_ORDER_SEQUENCE_NUMBER"
    assert partition.send(7, 0, 0, count=10)


@pytest.mark.parametrize("count", [1, 5])
def test_after_the_largest_sequence_comes_zero(count: int) -> None:
    partition = Partition()
    assert partition.send(7, 0, SEQUENCE_MAX - count + 1, count=count) is None
    assert partition.refusal(7, 0, 1) == "OUT_OF_ORDER_SEQUENCE_NUMBER"
    assert partition.send(7, 0, 0) is None
    assert partition.send(7, 0, SEQUENCE_MAX - count + 1, count=count)


def test_a_batch_may_contain_the_wrap_and_is_recognised_again() -> None:
    partition = Partition()
    assert partition.send(7, 0, SEQUENCE_MAX - 2, count=10) is None
    assert partition.send(7, 0, SEQUENCE_MAX - 2, count=10)
    assert partition.state.producers[7].last_sequence == 6
    assert partition.send(7, 0, 7) is None


def test_a_producer_without_state_starts_with_any_sequence() -> None:
    partition = Partition()
    assert partition.refusal(7, 3, 42) == "NONE"
    assert partition.refusal(7, 3, 44) == "OUT_OF_ORDER_SEQUENCE_NUMBER"


def test_an_old_epoch_is_refused_and_a_new_one_starts_with_sequence_zero() -> None:
    partition = Partition()
    partition.send(7, 1, 0)
    assert partition.refusal(7, 0, 1) == "INVALID_PRODUCER_EPOCH"
    assert partition.refusal(7, 2, 1) == "OUT_OF_ORDER_SEQUENCE_NUMBER"
    assert partition.refusal(7, 2, 0) == "NONE"
    assert partition.refusal(7, 1, 0) == "INVALID_PRODUCER_EPOCH"  # not a duplicate any more
    assert partition.state.producers[7].batches == [AppendedBatch(0, 1, 0, NOW_MS)]


def test_a_producer_of_which_only_a_marker_is_known_starts_with_sequence_zero() -> None:
    partition = Partition()
    assert partition.end(7, 0) == []
    assert partition.refusal(7, 0, 5) == "OUT_OF_ORDER_SEQUENCE_NUMBER"
    assert partition.refusal(7, 0, 0) == "NONE"


def test_producers_do_not_touch_each_other() -> None:
    partition = Partition()
    for sequence in range(3):
        for producer_id in (7, 8, 9):
            assert partition.send(producer_id, producer_id, sequence) is None
    assert [entry.last_data_offset for entry in partition.state.producers.values()] == [6, 7, 8]


def test_batches_of_several_producers_in_one_append() -> None:
    partition = Partition()
    prepared = partition.append(
        records_batch(7, 0, 0, 3), records_batch(8, 0, 0), records_batch(-1, -1, -1), records_batch(7, 0, 3)
    )
    assert prepared.entries == partition.state.producers
    assert [batch.base_offset for batch in partition.state.producers[7].batches] == [0, 5]
    assert partition.state.map_end_offset == 6


@pytest.mark.parametrize("sequence", [0, 2])
def test_batches_of_one_append_are_checked_against_each_other(sequence: int) -> None:
    partition = Partition()
    with pytest.raises(ApiError) as raised:
        partition.append(records_batch(7, 0, 0), records_batch(7, 0, sequence))
    assert raised.value.code is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert partition.state.producers == {}


def test_an_append_that_is_not_written_changes_nothing() -> None:
    partition = Partition()
    partition.send(7, 0, 0, transactional=True)
    before = dict(partition.state.producers)
    batch = records_batch(7, 0, 1, base_offset=1, transactional=True)
    marker = marker_batch(7, 0, base_offset=2)
    other = records_batch(8, 0, 0, base_offset=3, transactional=True)
    partition.state.prepare([batch, marker, other], AppendOrigin.REPLICATION)
    assert partition.state.producers == before
    assert partition.state.first_unstable_offset == 0
    assert partition.state.map_end_offset == 1


def test_batches_without_a_producer_leave_no_trace() -> None:
    partition = Partition()
    assert partition.append(records_batch(-1, -1, -1, 4)) is NOTHING_PREPARED
    assert partition.state.producers == {}
    assert partition.state.map_end_offset == 4
    assert NOTHING_PREPARED.entries == {}


def test_offset_commits_of_a_transaction_have_no_sequence() -> None:
    partition = Partition()
    for _ in range(3):
        batch = records_batch(7, 2, -1, 2, transactional=True)
        assert partition.append(batch, origin=AppendOrigin.COORDINATOR).duplicate is None
    assert partition.state.producers[7].last_sequence == -1
    assert partition.end_offset == 6
    with pytest.raises(ApiError) as raised:
        partition.append(records_batch(7, 1, -1, transactional=True), origin=AppendOrigin.COORDINATOR)
    assert raised.value.code is ErrorCode.INVALID_PRODUCER_EPOCH


def test_replicated_batches_are_not_checked(caplog: pytest.LogCaptureFixture) -> None:
    partition = Partition()
    partition.send(7, 5, 0)
    with caplog.at_level(logging.WARNING):
        for batch in (records_batch(7, 5, 40), records_batch(7, 5, 0), records_batch(7, 4, 3)):
            partition.append(batch, origin=AppendOrigin.REPLICATION)
    assert partition.end_offset == 4
    assert partition.state.producers[7] == ProducerEntry(
        producer_epoch=4, last_timestamp=NOW_MS, packed_batches=partition.state.producers[7].packed_batches
    )
    assert partition.state.producers[7].batches == [AppendedBatch(3, 3, 0, NOW_MS)]
    assert "t-0: the batch at offset 3 is of epoch 4 of producer 7, which had 5 before" in caplog.text


def test_records_outside_of_an_open_transaction_are_refused() -> None:
    partition = Partition()
    assert partition.refusal(7, 0, 0, transactional=True) == "NONE"
    assert partition.refusal(7, 0, 1) == "INVALID_TXN_STATE"
    partition.end(7, 0)
    assert partition.refusal(7, 0, 1) == "NONE"


def test_a_duplicate_is_recognised_while_the_transaction_is_open_and_after_its_end() -> None:
    partition = Partition()
    partition.send(7, 0, 0, transactional=True)
    assert partition.refusal(7, 0, 0, transactional=True) == "DUPLICATE"
    partition.end(7, 0)
    assert partition.refusal(7, 0, 0, transactional=True) == "DUPLICATE"
    assert partition.state.first_undecided_offset is None


def test_idle_producers_expire_but_not_with_an_open_transaction() -> None:
    partition = Partition()
    partition.append(records_batch(7, 0, 0, timestamp_ms=NOW_MS))
    partition.append(records_batch(8, 0, 0, timestamp_ms=NOW_MS + 1))
    partition.append(records_batch(9, 0, 0, timestamp_ms=NOW_MS, transactional=True))
    partition.state.remove_expired(NOW_MS + DAY_MS, DAY_MS)
    assert list(partition.state.producers) == [8, 9]
    assert partition.refusal(7, 0, 17) == "NONE"


def test_a_marker_counts_as_a_sign_of_life() -> None:
    partition = Partition()
    partition.append(records_batch(7, 0, 0, timestamp_ms=NOW_MS, transactional=True))
    partition.append(marker_batch(7, 0, timestamp_ms=NOW_MS + 500), origin=AppendOrigin.COORDINATOR)
    partition.state.remove_expired(NOW_MS + DAY_MS, DAY_MS)
    assert partition.state.producers[7].last_timestamp == NOW_MS + 500
    assert partition.state.producers[7].batches == [AppendedBatch(0, 0, 0, NOW_MS)]


def test_full_truncation_forgets_everything() -> None:
    partition = Partition()
    partition.send(7, 0, 0, transactional=True)
    partition.state.truncate_fully_and_start_at(50)
    assert partition.state.producers == {}
    assert partition.state.first_unstable_offset is None
    assert partition.state.map_end_offset == 50


def test_a_loaded_snapshot_leaves_out_who_has_expired() -> None:
    state = ProducerState("t-0")
    entries = {
        1: ProducerEntry(0, last_timestamp=NOW_MS - DAY_MS),
        2: ProducerEntry(0, last_timestamp=NOW_MS - DAY_MS + 1, transaction_first_offset=30),
        3: ProducerEntry(0, last_timestamp=NOW_MS - DAY_MS, transaction_first_offset=20),
    }
    state.load(entries, 40, NOW_MS, DAY_MS)
    assert state.producers == {2: entries[2], 3: entries[3]}
    assert state.first_undecided_offset == state.first_unstable_offset == 20
    assert state.map_end_offset == 40


def test_deleted_records_move_the_end_of_an_empty_log() -> None:
    partition = Partition()
    partition.send(7, 0, 0, count=5)
    partition.state.on_log_start_offset(3)
    assert partition.state.map_end_offset == 5
    partition.state.on_log_start_offset(9)
    assert partition.state.map_end_offset == 9
    assert 7 in partition.state.producers


def test_an_emptied_batch_of_a_compacted_log_still_says_where_its_producer_is() -> None:
    emptied = build_batch([], base_offset=10, last_offset=14, producer=Producer(7, 1, 20))
    state = ProducerState("t-0")
    state.replay(RecordBatch(emptied))
    assert state.producers[7].batches == [AppendedBatch(24, 14, 4, -1)]
    assert state.map_end_offset == 15


@pytest.mark.parametrize("count", [10_000, pytest.param(200_000, marks=pytest.mark.slow)])
def test_idle_producers_are_small(count: int) -> None:
    tracemalloc.start()
    state = ProducerState("t-0")
    batch = records_batch(1 << 33, 0, 1000, base_offset=1 << 33)
    for _ in range(count):
        batch.producer_id += 1
        batch.base_offset += 1
        batch.max_timestamp += 1
        state.replay(batch)
    size_bytes, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(state.producers) == count
    assert size_bytes / count < 330
    state.remove_expired(NOW_MS + DAY_MS + count // 2, DAY_MS)
    assert len(state.producers) == count // 2
