"""The table of states, and the steps from one to another."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from moldau.base.errors import ApiError
from moldau.coordinator.transaction.states import BY_TITLE, PREVIOUS_STATES, TransactionState
from moldau.coordinator.transaction.transaction import EPOCH_MAX, NO_PARTITIONS, ProducerIdAndEpoch, Transaction

TITLES = {
    0: "Empty",
    1: "Ongoing",
    2: "PrepareCommit",
    3: "PrepareAbort",
    4: "CompleteCommit",
    5: "CompleteAbort",
    6: "Dead",
    7: "PrepareEpochFence",
}
PARTITIONS = frozenset((("t", 0),))
NOW_MS = 1_000


def transaction(state: TransactionState, epoch: int = 0, **more: int) -> Transaction:
    partitions = NO_PARTITIONS if state is TransactionState.EMPTY else PARTITIONS
    return Transaction("tx", 7, epoch, 60_000, state, partitions, started_ms=500, updated_ms=600, **more)


def test_numbers_and_titles_are_kafkas() -> None:
    assert {int(state): state.title for state in TransactionState} == TITLES
    assert {title: int(state) for title, state in BY_TITLE.items()} == {title: n for n, title in TITLES.items()}


@pytest.mark.parametrize("state", TransactionState)
def test_a_step_that_the_table_does_not_have_is_a_broken_invariant(state: TransactionState) -> None:
    steps: dict[TransactionState, Callable[[], Transaction]] = {
        TransactionState.EMPTY: lambda: transaction(state).with_next_epoch(1, None, NOW_MS),
        TransactionState.ONGOING: lambda: transaction(state).with_partitions(PARTITIONS, NOW_MS),
        TransactionState.PREPARE_COMMIT: lambda: transaction(state).prepared(True, NOW_MS),
        TransactionState.PREPARE_ABORT: lambda: transaction(state).prepared(False, NOW_MS),
        TransactionState.PREPARE_EPOCH_FENCE: lambda: transaction(state).fenced(NOW_MS),
    }
    for target, step in steps.items():
        if state in PREVIOUS_STATES[target]:
            step()
        else:
            with pytest.raises(AssertionError):
                step()


def test_the_first_partition_starts_the_clock_and_later_ones_do_not() -> None:
    begun = transaction(TransactionState.COMPLETE_ABORT).with_partitions(PARTITIONS, 1_000)
    assert (begun.started_ms, begun.updated_ms) == (1_000, 1_000)
    grown = begun.with_partitions(frozenset((("t", 1),)), 2_000)
    assert (grown.started_ms, grown.updated_ms) == (1_000, 2_000)


def test_the_last_but_one_epoch_is_the_last_that_a_producer_gets() -> None:
    before = transaction(TransactionState.EMPTY, EPOCH_MAX - 2)
    assert not before.needs_new_producer_id(None)
    last = before.with_next_epoch(60_000, None, NOW_MS)
    assert last.producer_epoch == 32766
    assert last.needs_new_producer_id(None)
    rotated = last.with_new_producer_id(8, 60_000, None, NOW_MS)
    assert (rotated.producer_id, rotated.producer_epoch, rotated.last_producer_epoch) == (8, 0, -1)


def test_it_can_still_be_fenced_and_then_needs_another_producer_id() -> None:
    fenced = transaction(TransactionState.ONGOING, EPOCH_MAX - 1).fenced(NOW_MS)
    assert fenced.producer_epoch == EPOCH_MAX
    assert fenced.completed(NOW_MS).needs_new_producer_id(None)


def test_the_retry_of_a_resuming_producer_whose_id_was_replaced_is_recognized() -> None:
    exhausted = ProducerIdAndEpoch(7, EPOCH_MAX - 1)
    last = transaction(TransactionState.EMPTY, EPOCH_MAX - 1)
    rotated = last.with_new_producer_id(8, 60_000, exhausted, NOW_MS)
    rotated.check_resuming(exhausted)
    assert not rotated.needs_new_producer_id(exhausted)
    again = rotated.with_next_epoch(60_000, exhausted, NOW_MS)
    assert (again.producer_id, again.producer_epoch) == (8, 0)
    with pytest.raises(ApiError, match="PRODUCER_FENCED"):
        rotated.check_resuming(ProducerIdAndEpoch(7, 5))
