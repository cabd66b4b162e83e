"""Which transactions there are, for tools (KIP-664): filters by state, producer, duration and pattern of the id."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Self

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError
from moldau.base.linear_pattern import compile_pattern
from moldau.base.pattern_machine import PatternMachine
from moldau.coordinator.transaction.states import BY_TITLE, TransactionState
from moldau.coordinator.transaction.transaction import Transaction

ANY_DURATION = -1


@dataclass(frozen=True, slots=True)
class TransactionFilter:
    """What a transaction has to be; an empty collection, a negative duration and no pattern let all pass."""

    states: frozenset[TransactionState]
    unknown_states: tuple[str, ...]
    producer_ids: frozenset[int]
    duration_ms: int
    pattern: PatternMachine | None

    @classmethod
    def of(
        cls, state_titles: Iterable[str], producer_ids: Collection[int], duration_ms: int, pattern: str | None
    ) -> Self:
        titles = list(dict.fromkeys(state_titles))
        try:
            compiled = compile_pattern(pattern) if pattern else None
        except ValueError as error:
            message = f"{pattern!r} is no pattern of transactional ids: {error}"
            raise ApiError(ErrorCode.INVALID_REGULAR_EXPRESSION, message) from None
        return cls(
            frozenset(BY_TITLE[title] for title in titles if title in BY_TITLE),
            tuple(title for title in titles if title not in BY_TITLE),
            frozenset(producer_ids),
            duration_ms,
            compiled,
        )

    def passing(self, transactions: Iterable[Transaction], now_ms: int) -> Iterator[Transaction]:
        for transaction in transactions:
            if self._passes(transaction, now_ms):
                yield transaction

    def _passes(self, transaction: Transaction, now_ms: int) -> bool:
        if self.producer_ids and transaction.producer_id not in self.producer_ids:
            return False
        if (self.states or self.unknown_states) and transaction.state not in self.states:
            return False
        if self.duration_ms > ANY_DURATION and now_ms - transaction.started_ms <= self.duration_ms:
            return False
        return self.pattern is None or self.pattern.matches(transaction.transactional_id)
