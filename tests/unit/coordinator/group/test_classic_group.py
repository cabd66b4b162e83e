"""A group by itself: its states, its votes, and what it counts."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError
from moldau.coordinator.group.group import ClassicGroup
from moldau.coordinator.group.member import Member
from moldau.coordinator.group.states import FOLLOWING, GroupState
from moldau.protocol.messages.join_group import JoinGroupResponse
from moldau.protocol.messages.sync_group import SyncGroupResponse
from moldau.protocol.stored import encode_versioned
from moldau.protocol.stored.consumer_protocol import ConsumerProtocolSubscription

NAMES = ("range", "roundrobin", "sticky", "cooperative-sticky")
protocol_lists = st.lists(st.sampled_from(NAMES), min_size=1, unique=True).map(tuple)


def member(member_id: str, protocols: tuple[str, ...] = ("range",), instance: str | None = None) -> Member:
    return Member(member_id, instance, "client", "/127.0.0.1", 60_000, 10_000, tuple((name, b"") for name in protocols))


@pytest.mark.parametrize(("state", "next_state"), [*product(GroupState, GroupState)])
def test_a_group_moves_as_the_table_says_and_in_no_other_way(state: GroupState, next_state: GroupState) -> None:
    group = ClassicGroup("g", state)
    if next_state in FOLLOWING[state]:
        group.move_to(next_state, 7)
        assert (group.state, group.previous_state, group.state_since_ms) == (next_state, state, 7)
    else:
        with pytest.raises(AssertionError):
            group.move_to(next_state, 7)


def test_from_every_state_a_group_can_die_and_nothing_follows() -> None:
    assert all(GroupState.DEAD in following for following in FOLLOWING.values())
    assert FOLLOWING[GroupState.DEAD] == {GroupState.DEAD}


@settings(deadline=None)
@given(st.lists(protocol_lists, min_size=1, max_size=8))
def test_the_vote_is_for_what_all_support_and_most_prefer(lists: list[tuple[str, ...]]) -> None:
    group = ClassicGroup("g", GroupState.PREPARING_REBALANCE)
    group.protocol_type = "consumer"
    joined: list[tuple[str, ...]] = []
    for number, names in enumerate(lists):
        common = set(NAMES).intersection(*joined, names)
        assert group.supports("consumer", names) == (bool(common) or not joined)
        if group.supports("consumer", names):
            group.add(member(f"m-{number}", names), "consumer")
            joined.append(names)
    common = set(NAMES).intersection(*joined)
    votes = [next(name for name in names if name in common) for names in joined]
    assert group.vote() in common
    assert votes.count(group.vote()) == max(map(votes.count, votes))


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from(["add", "remove", "update", "wait"]), protocol_lists))
)
def test_what_a_group_counts_is_what_its_members_are(steps: list[tuple[str, str, tuple[str, ...]]]) -> None:
    group = ClassicGroup("g", GroupState.PREPARING_REBALANCE)
    group.protocol_type = "consumer"
    for name, step, protocols in steps:
        known = group.members.get(name)
        if step == "add" and known is None:
            group.add(member(name, protocols), "consumer")
        elif step == "remove":
            group.remove(name)
        elif step == "update" and known is not None:
            group.update(known, tuple((one, b"") for one in protocols), 5, 6)
        elif step == "wait" and known is not None:
            group.wait_for_join(known)
        assert group.joining == sum(one.join_reply is not None for one in group.members.values())
        assert (group.leader_id in group.members) or (group.leader_id is None and not group.members)
        for protocol in NAMES:
            everybody = all(protocol in dict(one.protocols) for one in group.members.values())
            assert group.supports("consumer", [protocol]) == everybody


def test_the_first_to_join_leads_and_then_the_next() -> None:
    group = ClassicGroup("g")
    for name in "abc":
        group.add(member(name), "consumer")
    assert group.leader_id == "a"
    group.remove("a")
    assert group.leader_id == "b"
    group.wait_for_join(group.members["c"])
    assert group.elect_joined_leader()
    assert group.leader_id == "c"


def test_an_older_join_or_sync_of_the_same_member_is_answered() -> None:
    group = ClassicGroup("g")
    one = member("a")
    group.add(one, "consumer")
    answers: list[JoinGroupResponse] = []
    group.wait_for_join(one).then(answers.append)
    group.wait_for_join(one)
    assert [answer.error_code for answer in answers] == [ErrorCode.REBALANCE_IN_PROGRESS]
    assert group.joining == 1
    assert not group.answer_sync(one, SyncGroupResponse())


def test_a_static_member_is_renamed_with_everything_that_it_is() -> None:
    group = ClassicGroup("g")
    one = member("i-1", instance="i")
    group.add(one, "consumer")
    group.unsynced_members.add("i-1")
    group.rename(one, "i-2")
    assert group.leader_id == "i-2"
    assert (group.static_members, group.unsynced_members, [*group.members]) == ({"i": "i-2"}, {"i-2"}, ["i-2"])
    assert group.check_member("i-2", "i") is one
    for member_id, instance, code in [
        ("i-1", "i", ErrorCode.FENCED_INSTANCE_ID),
        ("i-2", "j", ErrorCode.UNKNOWN_MEMBER_ID),
        ("i-1", None, ErrorCode.UNKNOWN_MEMBER_ID),
    ]:
        with pytest.raises(ApiError) as refused:
            group.check_member(member_id, instance)
        assert refused.value.code is code


def subscribed(*blobs: bytes) -> ClassicGroup:
    group = ClassicGroup("g")
    for number, blob in enumerate(blobs):
        one = member(str(number))
        one.protocols = (("range", blob),)
        group.add(one, "consumer")
    group.protocol_name = "range"
    group.find_subscribed_topics()
    return group


def test_subscriptions_are_read_in_every_version() -> None:
    blobs = [encode_versioned(ConsumerProtocolSubscription(topics=[f"t{version}"]), version) for version in range(4)]
    group = subscribed(*blobs)
    assert group.subscribed_topics == frozenset(("t0", "t1", "t2", "t3"))
    assert group.is_subscribed_to("t3")
    assert not group.is_subscribed_to("t4")


@pytest.mark.parametrize("blob", [b"", b"\0", b"\0\0", b"\0\0\xff\xff\xff\x7f", b"\0\0\0\0\0\x01\0\x05abc"])
def test_who_cannot_be_understood_may_be_subscribed_to_anything(blob: bytes) -> None:
    group = subscribed(blob)
    assert group.subscribed_topics is None
    assert group.is_subscribed_to("whatever")
