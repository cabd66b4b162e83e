"""Kafka's exponential backoff."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from moldau.net.backoff import Backoff


@given(
    attempts=st.integers(0, 10_000),
    initial_ms=st.integers(1, 10_000),
    max_ms=st.integers(1, 100_000),
    seed=st.integers(),
)
def test_the_delay_doubles_within_a_fifth_and_never_passes_the_maximum(
    attempts: int, initial_ms: int, max_ms: int, seed: int
) -> None:
    delay_ms = Backoff(initial_ms, max_ms, drawn_from=random.Random(seed)).delay_ms(attempts)
    exact_ms = min(initial_ms * 2 ** min(attempts, 64), max_ms)
    assert delay_ms <= max_ms
    assert 0.8 * exact_ms * (1 - 1e-9) <= delay_ms <= 1.2 * exact_ms * (1 + 1e-9)


def test_the_defaults_are_those_of_reconnecting() -> None:
    backoff = Backoff(drawn_from=random.Random(7))
    draws = [[backoff.delay_ms(attempt) for _ in range(2000)] for attempt in (0, 1, 4, 5, 50)]
    for drawn, expected_ms in zip(draws, (50, 100, 800, 1000, 1000), strict=True):
        assert 0.8 * expected_ms <= min(drawn) < 0.81 * expected_ms
        assert min(1.19 * expected_ms, 999) < max(drawn) <= min(1.2 * expected_ms, 1000)


def test_a_maximum_below_the_initial_value_is_a_constant() -> None:
    assert {Backoff(500, 100).delay_ms(attempt) for attempt in range(20)} == {100}
    assert {Backoff(100, 100).delay_ms(attempt) for attempt in range(20)} == {100}


def test_no_backoff_is_no_wait() -> None:
    assert {Backoff(0, 1000).delay_ms(attempt) for attempt in range(20)} == {0}


def test_the_same_seed_gives_the_same_delays() -> None:
    first, second = (Backoff(drawn_from=random.Random(3)) for _ in range(2))
    assert [first.delay_ms(n) for n in range(20)] == [second.delay_ms(n) for n in range(20)]
