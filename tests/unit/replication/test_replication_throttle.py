"""Rates of throttled replicas, as Kafka measures them."""

from __future__ import annotations

import pytest

from moldau.base.clock import VirtualClock
from moldau.replication.replication_throttle import ReplicationThrottle, throttled_partitions


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def throttle(clock: VirtualClock) -> ReplicationThrottle:
    return ReplicationThrottle(clock, windows=11, window_ms=1000)


def test_a_rate_is_measured_over_one_window_at_least(throttle: ReplicationThrottle, clock: VirtualClock) -> None:
    throttle.record(500)
    assert throttle.rate() == 500
    clock.advance(2_000)
    assert throttle.rate() == 250


def test_bytes_are_forgotten_after_all_windows(throttle: ReplicationThrottle, clock: VirtualClock) -> None:
    throttle.record(1_000_000)
    clock.advance(11_000)
    assert throttle.rate() == 0


def test_nothing_is_exceeded_without_a_limit(throttle: ReplicationThrottle) -> None:
    throttle.record(10**12)
    assert not throttle.is_exceeded()
    throttle.rate_max = 10
    assert throttle.is_exceeded()


def test_which_replicas_are_throttled(throttle: ReplicationThrottle) -> None:
    throttle.throttle_topic("all", None)
    throttle.throttle_topic("some", frozenset([1, 2]))
    throttle.throttle_topic("none", frozenset())
    keys = [("all", 7), ("some", 1), ("some", 3), ("none", 0), ("other", 0)]
    assert [throttle.is_throttled(key) for key in keys] == [True, True, False, False, False]
    throttle.throttle_topic("all", frozenset())
    assert not throttle.is_throttled(("all", 7))


@pytest.mark.parametrize(
    ("replicas", "partitions"),
    [(("*",), None), ((), frozenset()), (("0:1", "1:2", "5:1"), frozenset([0, 5])), (("0:2",), frozenset())],
)
def test_pairs_of_partition_and_broker(replicas: tuple[str, ...], partitions: frozenset[int] | None) -> None:
    assert throttled_partitions(replicas, broker_id=1) == partitions
