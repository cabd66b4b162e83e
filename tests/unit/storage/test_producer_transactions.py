"""Transactions of a partition: markers and their fencing, the last stable offset, the index of aborted ones."""

from __future__ import annotations

import pytest

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError
from moldau.records.batch import Producer, RecordBatch
from moldau.records.builder import build_batch
from moldau.records.control import ControlRecordType, build_control_batch
from moldau.storage.producer_append import AppendOrigin, CompletedTransaction
from tests.unit.storage.producer_batches import NOW_MS, Partition, marker_batch, records_batch


def end_error(partition: Partition, producer_epoch: int, coordinator_epoch: int = 0, version: int = 0) -> ErrorCode:
    try:
        partition.end(7, producer_epoch, coordinator_epoch=coordinator_epoch, transaction_version=version)
    except ApiError as error:
        return error.code
    return ErrorCode.NONE


def undecided(partition: Partition) -> int | None:
    return partition.state.first_undecided_offset


def unstable(partition: Partition) -> int | None:
    return partition.state.first_unstable_offset


def test_a_marker_ends_the_transaction() -> None:
    partition = Partition(end_offset=12)
    partition.send(1, 0, 0, transactional=True)
    partition.send(1, 0, 1, count=2, transactional=True)
    assert undecided(partition) == 12
    completed = partition.end(1, 0, commit=False)
    assert completed == [CompletedTransaction(1, 12, 15, aborted=True, last_stable_offset=16)]
    assert undecided(partition) is None
    partition.send(1, 0, 3, count=4, transactional=True)
    assert partition.end(1, 0) == [CompletedTransaction(1, 16, 20, aborted=False, last_stable_offset=21)]


def test_a_marker_without_a_transaction_completes_nothing() -> None:
    partition = Partition()
    assert partition.end(7, 3, coordinator_epoch=2) == []
    entry = partition.state.producers[7]
    assert (entry.producer_epoch, entry.coordinator_epoch, entry.batches) == (3, 2, [])


def test_the_last_stable_offset_waits_for_the_first_transaction_and_for_replication() -> None:
    partition = Partition()
    partition.send(1, 0, 0, transactional=True)  # 0
    partition.send(2, 0, 0, transactional=True)  # 1
    partition.send(3, 0, 0)  # 2
    state = partition.state
    assert state.last_stable_offset(3) == 0
    completed = partition.end(2, 0, commit=False)  # 3: decided, but behind the transaction of producer 1
    assert completed == [CompletedTransaction(2, 1, 3, aborted=True, last_stable_offset=0)]
    assert partition.end(1, 0) == [CompletedTransaction(1, 0, 4, aborted=False, last_stable_offset=5)]
    assert undecided(partition) is None
    assert unstable(partition) == 0
    state.on_high_watermark(4)  # the marker of producer 2 is replicated, that of producer 1 not
    assert state.last_stable_offset(4) == 0
    state.on_high_watermark(5)
    assert unstable(partition) is None
    assert state.last_stable_offset(5) == 5


def test_a_transaction_that_began_later_holds_the_last_stable_offset_back() -> None:
    partition = Partition()
    partition.send(1, 0, 0, transactional=True)
    partition.send(2, 0, 0, transactional=True)
    assert partition.end(1, 0, commit=False) == [CompletedTransaction(1, 0, 2, aborted=True, last_stable_offset=1)]
    partition.state.on_high_watermark(3)
    assert partition.state.last_stable_offset(3) == 1


def test_the_last_stable_offset_is_never_above_the_high_watermark() -> None:
    partition = Partition()
    partition.send(3, 0, 0, count=9)
    partition.send(1, 0, 0, transactional=True)
    assert partition.state.last_stable_offset(4) == 4
    assert partition.state.last_stable_offset(10) == 9


def test_transactions_that_wait_for_replicas_go_in_the_order_of_their_markers() -> None:
    partition = Partition()
    for producer_id in (1, 2, 3):
        partition.send(producer_id, 0, 0, transactional=True)  # 0, 1, 2
    for producer_id in (3, 1, 2):
        partition.end(producer_id, 0)  # 3, 4, 5
    stable = []
    for high_watermark in (3, 4, 5, 6):
        partition.state.on_high_watermark(high_watermark)
        stable.append(partition.state.last_stable_offset(high_watermark))
    assert stable == [0, 0, 1, 6]


def test_one_append_may_end_and_begin_transactions() -> None:
    partition = Partition()
    partition.send(1, 0, 0, transactional=True)  # 0
    prepared = partition.append(
        records_batch(2, 0, 0, transactional=True),  # 1
        marker_batch(1, 0, commit=False),  # 2
        records_batch(1, 0, 1, transactional=True),  # 3
        marker_batch(2, 0, commit=False),  # 4
        records_batch(3, 0, 0, transactional=True),  # 5
        marker_batch(3, 0, commit=False),  # 6
        origin=AppendOrigin.REPLICATION,
    )
    assert prepared.completed == [
        CompletedTransaction(1, 0, 2, aborted=True, last_stable_offset=1),
        CompletedTransaction(2, 1, 4, aborted=True, last_stable_offset=3),
        CompletedTransaction(3, 5, 6, aborted=True, last_stable_offset=3),
    ]
    assert undecided(partition) == 3
    assert [entry.in_transaction for entry in partition.state.producers.values()] == [True, False, False]


def test_replay_gives_what_each_batch_ended() -> None:
    partition = Partition()
    assert partition.state.replay(records_batch(1, 0, 0, transactional=True)) == []
    completed = partition.state.replay(marker_batch(1, 0, commit=False, base_offset=1))
    assert completed == [CompletedTransaction(1, 0, 1, aborted=True, last_stable_offset=2)]
    assert partition.state.map_end_offset == 2


def test_a_marker_of_an_old_producer_epoch_is_refused() -> None:
    partition = Partition()
    partition.send(7, 3, 0, transactional=True)
    assert end_error(partition, 2) is ErrorCode.INVALID_PRODUCER_EPOCH
    assert undecided(partition) == 0
    assert end_error(partition, 3) is ErrorCode.NONE


def test_a_marker_may_raise_the_epoch_which_forgets_the_batches() -> None:
    partition = Partition()
    partition.send(7, 3, 0, transactional=True)
    assert partition.end(7, 4) == [CompletedTransaction(7, 0, 1, aborted=False, last_stable_offset=2)]
    assert partition.state.producers[7].batches == []
    assert partition.refusal(7, 3, 1, transactional=True) == "INVALID_PRODUCER_EPOCH"
    assert partition.refusal(7, 4, 1, transactional=True) == "OUT_OF_ORDER_SEQUENCE_NUMBER"
    assert partition.refusal(7, 4, 0, transactional=True) == "NONE"


def test_a_replaced_coordinator_is_refused() -> None:
    partition = Partition()
    partition.send(7, 0, 0, transactional=True)
    assert end_error(partition, 0, coordinator_epoch=5) is ErrorCode.NONE
    partition.send(7, 0, 1, transactional=True)
    assert end_error(partition, 0, coordinator_epoch=4) is ErrorCode.TRANSACTION_COORDINATOR_FENCED
    assert undecided(partition) == 2
    assert end_error(partition, 0, coordinator_epoch=5) is ErrorCode.NONE


@pytest.mark.parametrize(
    ("version", "producer_epoch", "expected"),
    [
        (1, 3, ErrorCode.NONE),
        (2, 2, ErrorCode.INVALID_PRODUCER_EPOCH),
        (2, 3, ErrorCode.INVALID_PRODUCER_EPOCH),  # the late marker of the transaction before
        (2, 4, ErrorCode.NONE),
    ],
)
def test_in_transactions_of_version_2_a_marker_has_a_new_epoch(
    version: int, producer_epoch: int, expected: ErrorCode
) -> None:
    partition = Partition()
    partition.send(7, 3, 0, transactional=True)
    assert end_error(partition, producer_epoch, version=version) is expected


def test_the_retry_of_a_marker_of_version_2_is_written_again() -> None:
    partition = Partition()
    partition.send(7, 3, 0, transactional=True)
    assert len(partition.end(7, 4, transaction_version=2)) == 1
    assert partition.end(7, 4, transaction_version=2) == []
    assert partition.end_offset == 3


def test_markers_that_are_replicated_are_not_checked() -> None:
    partition = Partition()
    partition.send(7, 3, 0, transactional=True)
    partition.end(7, 3, coordinator_epoch=9)
    partition.send(7, 3, 1, transactional=True)
    marker = marker_batch(7, 2, coordinator_epoch=1, commit=False)
    completed = partition.append(marker, origin=AppendOrigin.REPLICATION).completed
    assert completed == [CompletedTransaction(7, 2, 3, aborted=True, last_stable_offset=4)]
    assert partition.state.producers[7][:2] == (2, 1)


def test_control_batches_that_end_no_transaction_are_passed_over() -> None:
    partition = Partition()
    partition.send(7, 0, 0, transactional=True)
    emptied = build_batch([], base_offset=1, last_offset=1, producer=Producer(7, 0), transactional=True, control=True)
    other = build_control_batch(
        ControlRecordType.LEADER_CHANGE, b"", NOW_MS, producer=Producer(7, 0), transactional=False, base_offset=2
    )
    for data in (emptied, other):
        assert partition.state.replay(RecordBatch(data)) == []
    assert undecided(partition) == 0
    assert partition.state.map_end_offset == 3


def test_a_late_transaction_is_reported() -> None:
    partition = Partition()
    timeout_max_ms, buffer_ms = 900_000, 300_000
    assert not partition.state.has_late_transaction(NOW_MS, timeout_max_ms)
    partition.send(7, 0, 0, transactional=True)
    late_ms = NOW_MS + timeout_max_ms + buffer_ms
    assert not partition.state.has_late_transaction(late_ms, timeout_max_ms)
    assert partition.state.has_late_transaction(late_ms + 1, timeout_max_ms)
    partition.end(7, 0)
    assert not partition.state.has_late_transaction(late_ms + 1, timeout_max_ms)


def test_deleted_records_free_what_waits_for_replicas() -> None:
    partition = Partition()
    partition.send(7, 0, 0, transactional=True)
    partition.end(7, 0)
    partition.state.on_log_start_offset(1)
    assert unstable(partition) == 0
    partition.state.on_log_start_offset(2)
    assert unstable(partition) is None
