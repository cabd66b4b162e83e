"""What every assignment has to be: valid always; balanced and sticky where the assignor promises it."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moldau.clients.consumer.assignors import ASSIGNORS, CooperativeStickyAssignor, GroupMember, StickyAssignor
from moldau.clients.consumer.assignors.assignor import Assignment
from moldau.clients.records import TopicPartition

TOPICS = ("a", "b", "c", "d")
partition_counts = st.dictionaries(st.sampled_from(TOPICS), st.integers(1, 9), min_size=1)
subscriptions = st.lists(st.sets(st.sampled_from(TOPICS), min_size=1), min_size=1, max_size=6)


def _members(topics: list[set[str]]) -> dict[str, GroupMember]:
    return {f"m{number}": GroupMember(topics=sorted(each)) for number, each in enumerate(topics)}


def _racks(counts: dict[str, int], members: dict[str, GroupMember]) -> dict[str, list[frozenset[str]]]:
    subscribed = {topic for member in members.values() for topic in member.topics}
    return {topic: [frozenset()] * count for topic, count in counts.items() if topic in subscribed}


def _check_valid(counts: dict[str, int], members: dict[str, GroupMember], assignment: Assignment) -> None:
    assert assignment.keys() == members.keys()
    owners = Counter(partition for its in assignment.values() for partition in its)
    assert set(owners.values()) <= {1}
    subscribed = {topic for member in members.values() for topic in member.topics}
    assert set(owners) == {
        TopicPartition(topic, number) for topic in subscribed & counts.keys() for number in range(counts[topic])
    }
    for member_id, its in assignment.items():
        assert {partition.topic for partition in its} <= set(members[member_id].topics)


@pytest.mark.parametrize("name", ASSIGNORS)
@given(counts=partition_counts, topics=subscriptions)
@settings(max_examples=60)
def test_each_partition_goes_to_one_of_its_subscribers(
    name: str, counts: dict[str, int], topics: list[set[str]]
) -> None:
    members = _members(topics)
    _check_valid(counts, members, ASSIGNORS[name]().assign(_racks(counts, members), members))


@given(counts=partition_counts, before=st.integers(1, 6), after=st.integers(1, 6))
@settings(max_examples=100)
def test_sticky_members_differ_by_one_and_keep_what_they_can(counts: dict[str, int], before: int, after: int) -> None:
    members = _members([set(counts)] * before)
    first = StickyAssignor().assign(_racks(counts, members), members)
    again = _with_claims(_members([set(counts)] * after), first)
    second = StickyAssignor().assign(_racks(counts, again), again)
    _check_valid(counts, again, second)
    sizes = [len(its) for its in second.values()]
    assert max(sizes) - min(sizes) <= 1
    for member_id, its in second.items():
        kept = len(set(its) & set(first.get(member_id, ())))
        assert kept >= min(len(first.get(member_id, ())), min(sizes))


def _with_claims(members: dict[str, GroupMember], owned: Assignment) -> dict[str, GroupMember]:
    claiming = {}
    for member_id, member in members.items():
        sticky = StickyAssignor()
        sticky.on_assignment(owned.get(member_id, []), 1)
        claiming[member_id] = GroupMember(topics=member.topics, user_data=sticky.user_data(), generation_id=1)
    return claiming


@given(counts=partition_counts, topics=subscriptions, second_topics=subscriptions)
@settings(max_examples=100)
def test_a_cooperative_rebalance_gives_nothing_that_another_has_and_settles_in_the_next_one(
    counts: dict[str, int], topics: list[set[str]], second_topics: list[set[str]]
) -> None:
    owned: Assignment = {}
    members: dict[str, GroupMember] = {}
    for generation, round_topics in enumerate([topics, second_topics, second_topics, second_topics]):
        members = {
            member_id: GroupMember(
                topics=member.topics, owned_partitions=owned.get(member_id, []), generation_id=generation
            )
            for member_id, member in _members(round_topics).items()
        }
        assignment = CooperativeStickyAssignor().assign(_racks(counts, members), members)
        for member_id, its in assignment.items():
            others = {each for other in members if other != member_id for each in owned.get(other, [])}
            assert not others & set(its)
        owned = assignment
    _check_valid(counts, members, owned)
