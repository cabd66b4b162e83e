"""Examples of Kafka's documentation, and the bytes that members exchange."""

from __future__ import annotations

from moldau.clients.consumer.assignors import (
    CooperativeStickyAssignor,
    GroupMember,
    RangeAssignor,
    RoundRobinAssignor,
    StickyAssignor,
)
from moldau.clients.consumer.assignors.assignor import Assignment
from moldau.clients.records import TopicPartition

NO_RACKS: frozenset[str] = frozenset()


def _named(assignment: Assignment) -> dict[str, list[str]]:
    return {member_id: [f"{topic}p{number}" for topic, number in its] for member_id, its in assignment.items()}


def test_range_gives_the_first_members_one_more() -> None:
    members = {"C0": GroupMember(["t0", "t1"]), "C1": GroupMember(["t0", "t1"])}
    partitions = {"t0": [NO_RACKS] * 3, "t1": [NO_RACKS] * 3}
    expected = {"C0": ["t0p0", "t0p1", "t1p0", "t1p1"], "C1": ["t0p2", "t1p2"]}
    assert _named(RangeAssignor().assign(partitions, members)) == expected


def test_round_robin_deals_in_turn() -> None:
    members = {"C0": GroupMember(["t0", "t1"]), "C1": GroupMember(["t0", "t1"])}
    partitions = {"t0": [NO_RACKS] * 3, "t1": [NO_RACKS] * 3}
    expected = {"C0": ["t0p0", "t0p2", "t1p1"], "C1": ["t0p1", "t1p0", "t1p2"]}
    assert _named(RoundRobinAssignor().assign(partitions, members)) == expected


def test_a_third_member_of_six_partitions_leaves_two_for_each() -> None:
    members = {name: GroupMember(["t"]) for name in ("A", "B", "C")}
    for assignor in (RangeAssignor(), RoundRobinAssignor(), StickyAssignor()):
        sizes = [len(its) for its in assignor.assign({"t": [NO_RACKS] * 6}, members).values()]
        assert sizes == [2, 2, 2]


def test_static_members_go_by_their_instance_ids() -> None:
    members = {"a": GroupMember(["t"], group_instance_id="2"), "b": GroupMember(["t"], group_instance_id="1")}
    assert _named(RangeAssignor().assign({"t": [NO_RACKS] * 3}, members)) == {"a": ["tp2"], "b": ["tp0", "tp1"]}


def test_sticky_user_data_is_a_list_of_topics_and_a_generation() -> None:
    sticky = StickyAssignor()
    assert sticky.user_data() is None
    sticky.on_assignment([TopicPartition("t", 1), TopicPartition("t", 3)], 7)
    data = sticky.user_data()
    assert data == bytes.fromhex("00000001 0001 74 00000002 00000001 00000003 00000007")
    assert sticky.claim_of(GroupMember(["t"], user_data=data)) == ([("t", 1), ("t", 3)], 7)
    assert sticky.claim_of(GroupMember(["t"], user_data=data[:-4])) == ([("t", 1), ("t", 3)], None)
    assert sticky.claim_of(GroupMember(["t"], user_data=b"\0")) == ([], -1)


def test_cooperative_sticky_user_data_is_the_generation() -> None:
    cooperative = CooperativeStickyAssignor()
    assert cooperative.user_data() == b"\xff\xff\xff\xff"
    cooperative.on_assignment([], 3)
    assert cooperative.user_data() == b"\0\0\0\x03"
    owned = [TopicPartition("t", 0)]
    member = GroupMember(["t"], user_data=b"\0\0\0\x03", owned_partitions=owned)
    assert cooperative.claim_of(member) == (owned, 3)
