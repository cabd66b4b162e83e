"""Statements about groups as the protocol shows them.

Book 1, 38 and 45; book 2, 26 to 30 and 32; corrections 1, `004` 1 and 2. Others are with real clients
(`tests/compat/test_groups_statements.py`: book 1, 37 to 44, 46 and 47; book 2, 33). Book 1, 36 and book 2, 13, 14 and
16 to 19 need several brokers; book 1, 48 to 52 and book 2, 31 are about consumers.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import count
from random import Random

import pytest
from confluent_kafka import Consumer

from moldau.base.error_codes import ErrorCode
from moldau.protocol.messages.create_topics import CreatableTopic
from moldau.protocol.messages.describe_groups import DescribeGroupsRequest
from moldau.protocol.messages.join_group import JoinGroupResponse
from moldau.protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from moldau.testing.local_cluster import LocalCluster
from moldau.testing.simulation import SimulatedNetwork, simulate
from tests.broker.group_requests_to_broker import GroupMember, member, wait_for_coordinator
from tests.sim.groups.simulated_broker import SimulatedBroker
from tests.sim.groups.simulated_member import GROUP, PARTITIONS, TOPIC, History, SimulatedMember

NONE = ErrorCode.NONE
FIRST_DELAY_MS = 300
SESSION_MS = 1_000
RETENTION = {"offsets.retention.minutes": "20", "offsets.retention.check.interval.ms": "60000"}
SLACK_S = 5.0  # of a busy machine
PATIENCE_S = 60.0
_numbers = count()


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    settings = {
        "offsets.topic.num.partitions": "3",
        "group.initial.rebalance.delay.ms": str(FIRST_DELAY_MS),
        "group.min.session.timeout.ms": "100",
    }
    with LocalCluster(settings) as cluster:
        wait_for_coordinator(cluster)
        cluster.create_topic("t", 4)
        yield cluster


@pytest.fixture
def group_id() -> str:
    return f"group-{next(_numbers)}"


def state_of(cluster: LocalCluster, group_id: str) -> str:
    return str(cluster.request(DescribeGroupsRequest(groups=[group_id]), 5).groups[0].group_state)


def prepared(stack: ExitStack, cluster: LocalCluster, group_id: str, size: int) -> list[GroupMember]:
    """Members that have their ids, and have not joined with them."""
    members = [stack.enter_context(member(cluster, group_id)) for _ in range(size)]
    for one in members:
        given = one.request(one.join_request("t"), 9)
        assert given.error_code == ErrorCode.MEMBER_ID_REQUIRED
        one.member_id = given.member_id
    return members


def all_join(members: list[GroupMember], session_timeout_ms: int = 10_000) -> list[JoinGroupResponse]:
    """All join at once, the first of them first; their answers."""
    waiting = [one.begin(one.join_request("t", session_timeout_ms=session_timeout_ms), 9) for one in members]
    answers: list[JoinGroupResponse] = [each.result(PATIENCE_S) for each in waiting]
    for one, answer in zip(members, answers, strict=True):
        assert not answer.error_code
        one.generation_id = answer.generation_id
    return answers


def stable(
    stack: ExitStack, cluster: LocalCluster, group_id: str, size: int, session_timeout_ms: int = 10_000
) -> list[GroupMember]:
    """Members of a generation; each was assigned its own number."""
    members = prepared(stack, cluster, group_id, size)
    all_join(members, session_timeout_ms)
    assert members[0].sync({one.member_id: str(at).encode() for at, one in enumerate(members)}).error_code == NONE
    for at, one in enumerate(members):
        assert one.sync().assignment == str(at).encode()
    return members


def heartbeats_until_rebalance(*members: GroupMember) -> float:
    """How many seconds went by until the first of them heard of a rebalance; the others live as well."""
    started = time.monotonic()
    while time.monotonic() - started < PATIENCE_S:
        heard = {one.heartbeat() for one in members}
        if ErrorCode.REBALANCE_IN_PROGRESS in heard:
            break
        assert heard == {NONE}
        time.sleep(0.02)
    return time.monotonic() - started


def test_book_2_26_the_first_member_takes_a_group_from_empty_to_stable(cluster: LocalCluster, group_id: str) -> None:
    with ExitStack() as stack:
        (one,) = prepared(stack, cluster, group_id, 1)
        states = [state_of(cluster, group_id)]
        joining = one.begin(one.join_request("t"), 9)
        while (state := state_of(cluster, group_id)) == "Empty":
            pass  # the two connections are read in any order
        states.append(state)
        one.generation_id = joining.result(PATIENCE_S).generation_id
        states.append(state_of(cluster, group_id))
        assert one.sync({one.member_id: b"all"}).error_code == NONE
        states.append(state_of(cluster, group_id))
    assert states == ["Empty", "PreparingRebalance", "CompletingRebalance", "Stable"]


def test_book_2_27_book_1_45_and_corrections_1_004_2_the_leader_knows_all_and_each_hears_its_part(
    cluster: LocalCluster, group_id: str
) -> None:
    with ExitStack() as stack:
        members = prepared(stack, cluster, group_id, 3)
        first = members[0].begin(members[0].join_request("t"), 9)
        while state_of(cluster, group_id) == "Empty":
            pass
        others = [one.begin(one.join_request("t"), 9) for one in members[1:]]
        answers = [each.result(PATIENCE_S) for each in (first, *others)]
        ids = [one.member_id for one in members]
        assert {answer.leader for answer in answers} == {ids[0]}
        assert sorted(one.member_id for one in answers[0].members) == sorted(ids)
        assert [answer.members for answer in answers[1:]] == [[], []]
        for one, answer in zip(members, answers, strict=True):
            one.generation_id = answer.generation_id
        parts = {member_id: f"part of {member_id}".encode() for member_id in ids}
        # What who does not lead sends as an assignment is not looked at.
        assert members[0].sync(parts).assignment == parts[ids[0]]
        for one in members[1:]:
            assert one.sync({one.member_id: b"everything"}).assignment == parts[one.member_id]


def test_book_2_28_nobody_commits_before_the_assignment_is_known(cluster: LocalCluster, group_id: str) -> None:
    with ExitStack() as stack:
        (one,) = prepared(stack, cluster, group_id, 1)
        all_join([one])
        assert state_of(cluster, group_id) == "CompletingRebalance"
        assert one.commit("t", 5) is ErrorCode.REBALANCE_IN_PROGRESS
        assert one.committed("t").committed_offset == -1
        assert one.sync({one.member_id: b"all"}).error_code == NONE
        assert one.commit("t", 5) is NONE


@pytest.mark.slow
def test_book_2_29_the_killed_are_missed_within_the_session_and_the_leaving_at_once(
    cluster: LocalCluster, group_id: str
) -> None:
    with ExitStack() as stack:
        stays, leaves, dies = stable(stack, cluster, group_id, 3, session_timeout_ms=SESSION_MS)
        leaving = [MemberIdentity(member_id=leaves.member_id)]
        assert not leaves.request(LeaveGroupRequest(group_id=group_id, members=leaving), 5).error_code
        assert stays.heartbeat() is ErrorCode.REBALANCE_IN_PROGRESS
        all_join([stays, dies], session_timeout_ms=SESSION_MS)
        stays.sync({stays.member_id: b"all"})
        dies.sync()
        cluster.run_in_loop(lambda _node: dies._channel.close())
        waited_s = heartbeats_until_rebalance(stays)
        assert waited_s < SESSION_MS / 1000 + SLACK_S


def test_book_2_30_who_knows_no_strategy_of_the_others_is_refused(cluster: LocalCluster, group_id: str) -> None:
    with ExitStack() as stack:
        (one,) = stable(stack, cluster, group_id, 1)
        other = stack.enter_context(member(cluster, group_id))
        refused = other.request(other.join_request("t", protocols=("sticky",)), 9)
        assert refused.error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        assert one.heartbeat() is NONE
        welcome = other.request(other.join_request("t", protocols=("sticky", "range")), 9)
        assert welcome.error_code == ErrorCode.MEMBER_ID_REQUIRED


def test_book_2_32_the_offsets_of_a_group_that_stays_empty_vanish_and_it_is_dead() -> None:
    """In virtual time; with a retention of twenty minutes, looked at every minute."""

    async def main(network: SimulatedNetwork) -> None:
        broker = SimulatedBroker(network, Random(0), RETENTION)
        await broker.start()
        topics = [CreatableTopic(name=TOPIC, num_partitions=PARTITIONS, replication_factor=1)]
        await broker.node.topics.create(topics)
        history = History()
        one = SimulatedMember("member", history, Random(0))
        living = asyncio.ensure_future(one.run())
        await asyncio.sleep(10)
        assert history.violations == []
        assert history.commits
        one.is_leaving = True
        await living
        (shard,) = broker.node.groups.runtime.active.values()
        assert shard.groups[GROUP].state.value == "Empty"
        await asyncio.sleep(19 * 60)
        assert len(shard.offsets.committed[GROUP]) == PARTITIONS
        await asyncio.sleep(3 * 60)
        assert shard.offsets.committed == {}
        assert shard.reads.describe(GROUP, 5).group_state == "Dead"
        broker.kill()

    simulate(main, 0)


@pytest.mark.slow
def test_corrections_1_004_1_a_static_member_that_comes_back_in_time_changes_nothing(
    cluster: LocalCluster, group_id: str
) -> None:
    with ExitStack() as stack:
        leader, static = (stack.enter_context(member(cluster, group_id)) for _ in range(2))
        static.instance = "instance"
        given = leader.request(leader.join_request("t"), 9)
        leader.member_id = given.member_id
        answers = all_join([leader, static], session_timeout_ms=2 * SESSION_MS)
        static.member_id = answers[1].member_id
        assert answers[0].leader == leader.member_id
        leader.sync({leader.member_id: b"a", static.member_id: b"b"})
        assert static.sync().assignment == b"b"
        generation_id = leader.generation_id

        again = stack.enter_context(member(cluster, group_id))
        again.instance = "instance"
        assert leader.heartbeat() is NONE
        assert again.join("t", session_timeout_ms=2 * SESSION_MS).generation_id == generation_id
        assert again.sync().assignment == b"b"
        assert leader.heartbeat() is NONE
        assert static.heartbeat() is ErrorCode.FENCED_INSTANCE_ID

        (new,) = prepared(stack, cluster, group_id, 1)
        joining = new.begin(new.join_request("t"), 9)
        heartbeats_until_rebalance(leader, again)
        all_join([leader, again], session_timeout_ms=2 * SESSION_MS)
        assert joining.result(PATIENCE_S).generation_id == leader.generation_id == generation_id + 1
        new.generation_id = leader.generation_id
        leader.sync({leader.member_id: b"a", again.member_id: b"b", new.member_id: b"c"})
        assert (again.sync().assignment, new.sync().assignment) == (b"b", b"c")

        waited_s = heartbeats_until_rebalance(leader, new)  # the static one says no more
        assert waited_s < 2 * SESSION_MS / 1000 + SLACK_S


@pytest.mark.slow
@pytest.mark.parametrize(("instances", "partitions", "each"), [(2, 4, 2), (4, 4, 1), (20, 100, 5)])
def test_book_1_38_partitions_are_shared_evenly(
    cluster: LocalCluster, group_id: str, instances: int, partitions: int, each: int
) -> None:
    cluster.create_topic(group_id, partitions)
    settings = {"bootstrap.servers": cluster.bootstrap_servers, "group.id": group_id}
    consumers = [Consumer({**settings, "heartbeat.interval.ms": 300}) for _ in range(instances)]
    for one in consumers:
        one.subscribe([group_id])
    deadline = time.monotonic() + PATIENCE_S
    while [len(one.assignment()) for one in consumers] != [each] * instances:
        assert time.monotonic() < deadline, [len(one.assignment()) for one in consumers]
        for one in consumers:
            one.poll(0.01)
    owned = [partition.partition for one in consumers for partition in one.assignment()]
    assert sorted(owned) == list(range(partitions))
    for one in consumers:
        one.close()
