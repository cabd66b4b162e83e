"""Positions that have to be looked up, reset or checked after a change of leader, without a broker."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from types import SimpleNamespace
from typing import Any, cast

import pytest

from moldau.base.clock import VirtualClock
from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError
from moldau.base.supervision import Supervisor
from moldau.clients.consumer.errors import LogTruncated, NoOffsetForPartition
from moldau.clients.consumer.offset_lookup import EpochEnd, OffsetAndTimestamp, OffsetLookup
from moldau.clients.consumer.offset_reset import EARLIEST, NONE, ResetPolicy
from moldau.clients.consumer.position_updates import PositionUpdates
from moldau.clients.consumer.positions import FetchPosition, FetchState
from moldau.clients.consumer.subscription import SubscriptionState
from moldau.clients.network.cluster import Cluster
from moldau.clients.network.metadata import ClusterMetadata
from moldau.clients.records import OffsetAndMetadata, TopicPartition

A, B = TopicPartition("a", 0), TopicPartition("b", 0)


class Leaders:
    """Answers in place of brokers; what is not in it is not answered."""

    def __init__(self) -> None:
        self.offsets: dict[TopicPartition, int] = {}
        self.epochs: dict[TopicPartition, EpochEnd] = {}
        self.asked: list[Mapping[TopicPartition, int]] = []

    async def try_by_time(self, timestamps: Mapping[TopicPartition, int]) -> dict[TopicPartition, Any]:
        self.asked.append(dict(timestamps))
        return {each: OffsetAndTimestamp(self.offsets[each], 0, 4) for each in timestamps if each in self.offsets}

    async def try_epoch_ends(self, epochs: Mapping[TopicPartition, int]) -> dict[TopicPartition, EpochEnd]:
        return {each: self.epochs[each] for each in epochs if each in self.epochs}


def _run(
    subscription: SubscriptionState,
    leaders: Leaders,
    committed: Mapping[TopicPartition, OffsetAndMetadata | ApiError] | None = None,
) -> None:
    """Ask once what is to be asked, and raise what comes of it."""

    async def fetch_committed(
        partitions: Collection[TopicPartition], _timeout_ms: float
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        found: dict[TopicPartition, OffsetAndMetadata | None] = {}
        for each in partitions:
            answer = (committed or {}).get(each)
            if isinstance(answer, ApiError):
                raise answer
            found[each] = answer
        return found

    async def run() -> None:
        cluster = SimpleNamespace(
            supervisor=Supervisor(lambda _name, _error: None),
            clock=VirtualClock(),
            client_id="c",
            request_timeout_ms=1_000,
            metadata=ClusterMetadata(),
            backoff=SimpleNamespace(delay_ms=lambda _attempts: 0),
        )
        lookup = cast(OffsetLookup, leaders)
        updates = PositionUpdates(cast(Cluster, cluster), subscription, lookup, fetch_committed, lambda: None)
        updates.start()
        await asyncio.gather(*asyncio.all_tasks() - {asyncio.current_task()})
        updates.raise_error()

    asyncio.run(run())


def _subscription(default_reset: ResetPolicy, *partitions: TopicPartition) -> SubscriptionState:
    subscription = SubscriptionState(default_reset)
    subscription.assign_by_hand(partitions)
    return subscription


def test_what_was_committed_is_where_reading_begins() -> None:
    subscription = _subscription(EARLIEST, A, B)
    _run(subscription, Leaders(), {A: OffsetAndMetadata(5)})
    assert subscription.state(A).position == FetchPosition(5)
    assert subscription.state(A).fetchable
    assert subscription.state(B).state is FetchState.AWAIT_RESET


def test_without_a_commit_and_without_a_policy_it_is_an_error() -> None:
    subscription = _subscription(NONE, A, B)
    with pytest.raises(NoOffsetForPartition, match="b-0"):
        _run(subscription, Leaders(), {A: OffsetAndMetadata(5)})
    assert subscription.state(A).fetchable


def test_a_passing_error_leaves_everything_to_the_next_time() -> None:
    subscription = _subscription(EARLIEST, A)
    _run(subscription, Leaders(), {A: ApiError(ErrorCode.UNSTABLE_OFFSET_COMMIT)})
    assert subscription.state(A).state is FetchState.INITIALIZING


def test_a_reset_is_looked_up_for_those_whose_leader_answers() -> None:
    subscription = _subscription(EARLIEST, A, B)
    leaders = Leaders()
    leaders.offsets = {A: 3}
    for each in (A, B):
        subscription.state(each).begin_reset(EARLIEST)
    _run(subscription, leaders)
    assert leaders.asked == [{A: -2, B: -2}]
    assert subscription.state(A).position == FetchPosition(3, 4)
    assert subscription.state(B).state is FetchState.AWAIT_RESET


@pytest.mark.parametrize(
    ("end", "position"),
    [
        (EpochEnd(2, 10), FetchPosition(10, 2, 3)),  # all that was read is there
        (EpochEnd(2, 7), FetchPosition(7, 2, 3)),  # the log was cut off: go on where it parts
        (EpochEnd(1, 4), FetchPosition(4, 1, 3)),
        (EpochEnd(-1, -1), None),  # nothing of it is known: as if there were no position
    ],
)
def test_after_a_change_of_leader_the_position_is_checked(end: EpochEnd, position: FetchPosition | None) -> None:
    subscription = _subscription(EARLIEST, A)
    subscription.seek(A, FetchPosition(10, 2, 2))
    subscription.state(A).leader_is(3)
    leaders = Leaders()
    leaders.epochs = {A: end}
    _run(subscription, leaders)
    state = subscription.state(A)
    assert state.position == position
    assert state.state is (FetchState.FETCHING if position else FetchState.AWAIT_RESET)


def test_a_truncation_without_a_policy_is_an_error_that_names_the_place() -> None:
    subscription = _subscription(NONE, A)
    subscription.seek(A, FetchPosition(10, 2, 2))
    subscription.state(A).leader_is(3)
    leaders = Leaders()
    leaders.epochs = {A: EpochEnd(1, 7)}
    with pytest.raises(LogTruncated, match="a-0 before 10") as raised:
        _run(subscription, leaders)
    assert raised.value.divergent == {A: OffsetAndMetadata(7, "", 1)}
