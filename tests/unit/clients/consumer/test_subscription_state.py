"""What is read and from where: subscriptions, positions, policies."""

from __future__ import annotations

import re

import pytest

from moldau.base.errors import ConfigError
from moldau.clients.consumer.listener import RebalanceListener
from moldau.clients.consumer.offset_reset import EARLIEST, LATEST, NONE, ResetPolicy, reset_policy
from moldau.clients.consumer.positions import FetchPosition, FetchState, PartitionState
from moldau.clients.consumer.subscription import SubscriptionState
from moldau.clients.errors import IllegalState
from moldau.clients.network.metadata import ClusterMetadata, PartitionMetadata, Topic
from moldau.clients.records import TopicPartition

A, B = TopicPartition("a", 0), TopicPartition("b", 0)


@pytest.mark.parametrize(
    ("text", "policy"),
    [
        ("earliest", EARLIEST),
        ("LATEST", LATEST),
        ("none", NONE),
        ("by_duration:P1DT2H3M4.5S", ResetPolicy(duration_ms=93_784_500)),
        ("by_duration:PT0S", ResetPolicy(duration_ms=0)),
    ],
)
def test_reset_policies(text: str, policy: ResetPolicy) -> None:
    assert reset_policy(text) == policy


@pytest.mark.parametrize("text", ["", "smallest", "by_duration:", "by_duration:P", "by_duration:PT", "earliest:PT1S"])
def test_a_wrong_policy_is_named(text: str) -> None:
    with pytest.raises(ConfigError, match=r"auto\.offset\.reset"):
        reset_policy(text)


def test_a_duration_counts_back_from_now() -> None:
    assert reset_policy("by_duration:PT1S").timestamp_at(5_000) == 4_000
    assert EARLIEST.timestamp_at(5_000) == -2


def test_ways_to_subscribe_exclude_each_other_until_unsubscribed() -> None:
    state = SubscriptionState(LATEST)
    state.subscribe(["a"], RebalanceListener())
    state.subscribe(["b"], RebalanceListener())  # replaces
    assert state.topics == {"b"}
    with pytest.raises(IllegalState, match="mutually exclusive"):
        state.assign_by_hand([A])
    with pytest.raises(IllegalState, match="mutually exclusive"):
        state.subscribe_pattern(re.compile("a"), RebalanceListener())
    state.unsubscribe()
    state.assign_by_hand([A])
    assert list(state.partitions) == [A]


def test_a_pattern_matches_topics_that_exist_and_internal_ones_only_if_asked() -> None:
    partitions = (PartitionMetadata("", 0, 0, 0),)
    names = {"kafka-1": False, "other": False, "kafka-internal": True}
    topics = {name: Topic(name, is_internal=internal, partitions=partitions) for name, internal in names.items()}
    state = SubscriptionState(LATEST)
    state.subscribe_pattern(re.compile("kafka-.*"), RebalanceListener())
    assert state.match(ClusterMetadata(topics=topics), exclude_internal=True)
    assert state.topics == {"kafka-1"}
    assert not state.match(ClusterMetadata(topics=topics), exclude_internal=True)
    assert state.match(ClusterMetadata(topics=topics), exclude_internal=False)


def test_partitions_that_stay_keep_their_positions() -> None:
    state = SubscriptionState(LATEST)
    state.assign_by_hand([A])
    state.seek(A, FetchPosition(7))
    state.assign([A, B])
    assert state.state(A).position == FetchPosition(7)
    assert state.state(B).state is FetchState.INITIALIZING
    with pytest.raises(IllegalState, match="no current assignment for partition c-0"):
        state.state(TopicPartition("c", 0))


def test_a_new_leader_makes_a_position_wait_for_validation_if_epochs_are_known() -> None:
    partition = PartitionState()
    partition.seek(FetchPosition(7, 2, 2))
    version = partition.version
    partition.leader_is(2)
    assert partition.fetchable
    partition.leader_is(3)
    assert partition.state is FetchState.AWAIT_VALIDATION
    assert partition.version != version
    assert partition.position == FetchPosition(7, 2, 3)
    partition.validated()
    assert partition.fetchable
    unknown = PartitionState()
    unknown.seek(FetchPosition(7))
    unknown.leader_is(3)
    assert unknown.fetchable
    assert unknown.position == FetchPosition(7, -1, 3)


def test_paused_partitions_are_not_fetched() -> None:
    partition = PartitionState()
    partition.seek(FetchPosition(0))
    partition.paused = True
    assert not partition.fetchable
