"""Which transactions ListTransactions lists."""

from __future__ import annotations

import pytest

from moldau.base.errors import ApiError
from moldau.coordinator.transaction.listing import TransactionFilter
from moldau.coordinator.transaction.states import TransactionState
from moldau.coordinator.transaction.transaction import NO_PARTITIONS, Transaction

NOW_MS = 100_000
TRANSACTIONS = [
    Transaction("app-1", 1, 0, 60_000, TransactionState.ONGOING, NO_PARTITIONS, started_ms=90_000, updated_ms=90_000),
    Transaction("app-2", 2, 0, 60_000, TransactionState.ONGOING, NO_PARTITIONS, started_ms=50_000, updated_ms=90_000),
    Transaction("web", 3, 0, 60_000, TransactionState.COMPLETE_ABORT, NO_PARTITIONS, started_ms=1, updated_ms=2),
]


def listed(
    states: tuple[str, ...] = (), producers: tuple[int, ...] = (), duration_ms: int = -1, pattern: str | None = None
) -> list[str]:
    wanted = TransactionFilter.of(states, producers, duration_ms, pattern)
    return [found.transactional_id for found in wanted.passing(TRANSACTIONS, NOW_MS)]


def test_without_filters_all_are_listed() -> None:
    assert listed() == ["app-1", "app-2", "web"]


def test_by_state() -> None:
    assert listed(states=("Ongoing",)) == ["app-1", "app-2"]
    assert listed(states=("CompleteAbort", "Empty")) == ["web"]


def test_nothing_is_in_a_state_that_does_not_exist() -> None:
    assert listed(states=("Running",)) == []
    assert listed(states=("Running", "CompleteAbort")) == ["web"]
    assert TransactionFilter.of(("Running", "Running", "Empty"), (), -1, None).unknown_states == ("Running",)


def test_by_producer_id() -> None:
    assert listed(producers=(2, 3)) == ["app-2", "web"]


def test_only_what_takes_longer_than_a_duration() -> None:
    assert listed(states=("Ongoing",), duration_ms=10_000) == ["app-2"]
    assert listed(states=("Ongoing",), duration_ms=9_999) == ["app-1", "app-2"]
    assert listed(states=("Ongoing",), duration_ms=0) == ["app-1", "app-2"]


def test_by_a_pattern_of_the_whole_id() -> None:
    assert listed(pattern="app-.*") == ["app-1", "app-2"]
    assert listed(pattern="app") == []
    assert listed(pattern="") == ["app-1", "app-2", "web"]


def test_a_pattern_that_is_none() -> None:
    with pytest.raises(ApiError, match="INVALID_REGULAR_EXPRESSION"):
        listed(pattern="app-(")
