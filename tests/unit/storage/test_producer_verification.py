"""Verification of transactions: the first batch needs a guard, and a marker takes it away."""

from __future__ import annotations

import pytest

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError
from moldau.records.batch import RecordBatch
from moldau.storage.producer_append import AppendOrigin
from moldau.storage.producer_verification import VerificationGuard
from tests.unit.storage.producer_batches import NOW_MS, Partition, marker_batch, records_batch

DAY_MS = 86_400_000


def start(
    partition: Partition, epoch: int = 0, sequence: int = 0, *, supports_epoch_bump: bool = False
) -> VerificationGuard | None:
    return partition.state.start_verification(7, epoch, sequence, NOW_MS, supports_epoch_bump=supports_epoch_bump)


def send(partition: Partition, sequence: int, guard: VerificationGuard | None, epoch: int = 0) -> ErrorCode:
    return append(partition, records_batch(7, epoch, sequence, transactional=True), guard)


def append(
    partition: Partition,
    batch: RecordBatch,
    guard: VerificationGuard | None,
    origin: AppendOrigin = AppendOrigin.CLIENT,
) -> ErrorCode:
    try:
        partition.append(batch, origin=origin, guard=guard, verification_required=True)
    except ApiError as error:
        return error.code
    return ErrorCode.NONE


@pytest.mark.parametrize("origin", [AppendOrigin.CLIENT, AppendOrigin.COORDINATOR])
def test_the_first_batch_of_a_transaction_needs_the_guard(origin: AppendOrigin) -> None:
    partition = Partition()
    sequence = 0 if origin is AppendOrigin.CLIENT else -1
    batch = records_batch(7, 0, sequence, transactional=True)
    assert append(partition, batch, None, origin) is ErrorCode.INVALID_TXN_STATE
    assert append(partition, batch, VerificationGuard(), origin) is ErrorCode.INVALID_TXN_STATE
    guard = start(partition, sequence=sequence)
    assert append(partition, batch, None, origin) is ErrorCode.INVALID_TXN_STATE
    assert append(partition, batch, guard, origin) is ErrorCode.NONE


def test_later_batches_of_the_transaction_need_none() -> None:
    partition = Partition()
    assert send(partition, 0, start(partition)) is ErrorCode.NONE
    assert start(partition, sequence=1) is None
    assert send(partition, 1, None) is ErrorCode.NONE


def test_a_guard_is_shared_until_it_is_used() -> None:
    partition = Partition()
    guard = start(partition)
    assert guard is not None
    assert start(partition, sequence=1) is guard
    send(partition, 0, guard)
    partition.end(7, 0)
    assert start(partition, sequence=1) not in (None, guard)


def test_a_marker_makes_the_answer_of_the_coordinator_stale() -> None:
    partition = Partition()
    guard = start(partition)
    partition.append(marker_batch(7, 0, commit=False), origin=AppendOrigin.COORDINATOR)
    assert send(partition, 0, guard) is ErrorCode.INVALID_TXN_STATE
    assert partition.state.first_undecided_offset is None
    assert start(partition) is not guard


def test_a_marker_needs_no_guard_and_replication_neither() -> None:
    partition = Partition()
    assert append(partition, marker_batch(7, 0), None, AppendOrigin.COORDINATOR) is ErrorCode.NONE
    batch = records_batch(7, 0, 0, transactional=True)
    assert append(partition, batch, None, AppendOrigin.REPLICATION) is ErrorCode.NONE


def test_records_outside_of_a_transaction_need_no_guard_and_do_not_take_it_away() -> None:
    partition = Partition()
    guard = start(partition, sequence=1)
    assert append(partition, records_batch(7, 0, 0), None) is ErrorCode.NONE
    assert send(partition, 1, guard) is ErrorCode.NONE


def test_a_refused_batch_does_not_take_the_guard_away() -> None:
    partition = Partition()
    guard = start(partition, sequence=0)
    assert send(partition, 5, guard) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert send(partition, 0, guard) is ErrorCode.NONE


def test_later_batches_wait_for_the_retry_of_the_first() -> None:
    partition = Partition()
    guard = start(partition, sequence=3)
    start(partition, sequence=2)
    start(partition, sequence=4)
    assert send(partition, 3, guard) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert send(partition, 2, guard) is ErrorCode.NONE
    assert send(partition, 3, None) is ErrorCode.NONE


def test_a_new_epoch_forgets_the_lowest_sequence_of_the_old_one() -> None:
    partition = Partition()
    start(partition, epoch=0, sequence=1)
    guard = start(partition, epoch=1, sequence=5)
    start(partition, epoch=0, sequence=0)
    assert send(partition, 5, guard, epoch=1) is ErrorCode.NONE


def test_an_open_transaction_of_an_older_epoch_proves_nothing() -> None:
    partition = Partition()
    send(partition, 0, start(partition))
    guard = start(partition, epoch=1)
    assert guard is not None
    assert send(partition, 0, None, epoch=1) is ErrorCode.INVALID_TXN_STATE
    assert send(partition, 0, guard, epoch=1) is ErrorCode.NONE


def test_an_old_epoch_is_refused_before_the_coordinator_is_asked() -> None:
    partition = Partition()
    partition.send(7, 2, 0)
    with pytest.raises(ApiError) as raised:
        start(partition, epoch=1)
    assert raised.value.code is ErrorCode.INVALID_PRODUCER_EPOCH
    assert send(partition, 0, None, epoch=1) is ErrorCode.INVALID_PRODUCER_EPOCH


def test_in_transactions_of_version_2_a_producer_without_state_starts_with_sequence_zero() -> None:
    partition = Partition()
    guard = start(partition, sequence=5, supports_epoch_bump=True)
    assert send(partition, 5, guard) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert start(partition, sequence=0, supports_epoch_bump=True) is guard
    assert send(partition, 0, guard) is ErrorCode.NONE


def test_before_version_2_a_producer_without_state_starts_with_any_sequence() -> None:
    partition = Partition()
    assert send(partition, 5, start(partition, sequence=5)) is ErrorCode.NONE


def test_questions_that_nobody_settles_expire() -> None:
    partition = Partition()
    guard = start(partition)
    partition.state.remove_expired(NOW_MS + DAY_MS - 1, DAY_MS)
    assert start(partition) is guard
    partition.state.remove_expired(NOW_MS + DAY_MS, DAY_MS)
    assert send(partition, 0, guard) is ErrorCode.INVALID_TXN_STATE


def test_without_verification_no_guard_is_needed() -> None:
    assert Partition().refusal(7, 0, 0, transactional=True) == "NONE"
