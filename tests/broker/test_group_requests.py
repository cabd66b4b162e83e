"""The requests of consumer groups on the wire: every version that is served, and what each of them refuses."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import count

import pytest

from moldau.base.error_codes import ErrorCode
from moldau.protocol.messages.delete_groups import DeleteGroupsRequest
from moldau.protocol.messages.describe_groups import DescribeGroupsRequest
from moldau.protocol.messages.find_coordinator import FindCoordinatorRequest
from moldau.protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from moldau.protocol.messages.list_groups import ListGroupsRequest
from moldau.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from moldau.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from moldau.protocol.messages.sync_group import SyncGroupRequest
from moldau.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from moldau.testing.local_cluster import LocalCluster
from tests.broker.group_requests_to_broker import GroupMember, member, wait_for_coordinator
from tests.broker.requests_to_broker import Broker
from tests.unit.coordinator.transaction.transactional_requests import Transactional

numbers = count(1)


@pytest.fixture(scope="session")
def coordinator(moldau_cluster: LocalCluster) -> LocalCluster:
    wait_for_coordinator(moldau_cluster)
    return moldau_cluster


@pytest.fixture
def one(coordinator: LocalCluster) -> Iterator[GroupMember]:
    with member(coordinator, f"group-{next(numbers)}") as found:
        yield found


@pytest.fixture
def other(one: GroupMember, coordinator: LocalCluster) -> Iterator[GroupMember]:
    """Another member of the same group."""
    with member(coordinator, one.group_id) as found:
        yield found


# -- finding the coordinator


@pytest.mark.parametrize("version", range(7))
def test_the_coordinator_of_a_group_is_found_in_every_version(coordinator: LocalCluster, version: int) -> None:
    found = wait_for_coordinator(coordinator, "some-group", version=version)
    assert (found.error_code, found.node_id, f"{found.host}:{found.port}") == (0, 0, coordinator.bootstrap_servers)


def test_the_first_to_ask_brings_the_topic_into_being() -> None:
    with LocalCluster({"offsets.topic.num.partitions": "3"}) as cluster:
        first = cluster.request(FindCoordinatorRequest(key="g"), 2)
        assert (first.error_code, first.node_id) == (0, 0)
        topic = cluster.run_in_loop(lambda node: node.metadata.topics["__consumer_offsets"])
        assert (len(topic), topic[0].replicas) == (3, (0,))


@pytest.mark.slow
def test_what_is_set_for_the_topic_holds_even_if_it_cannot_be() -> None:
    settings = {"offsets.topic.num.partitions": "3", "offsets.topic.replication.factor": "2"}
    with LocalCluster(settings) as cluster:
        for _ in range(3):
            answer = cluster.request(FindCoordinatorRequest(key="g"), 2)
            assert answer.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
            time.sleep(0.05)


def test_several_groups_are_found_at_once(coordinator: LocalCluster) -> None:
    answer = coordinator.request(FindCoordinatorRequest(coordinator_keys=["a", "b"]), 4)
    assert [(one.key, one.node_id, one.error_code) for one in answer.coordinators] == [("a", 0, 0), ("b", 0, 0)]


@pytest.mark.parametrize(
    ("key_type", "version", "code"),
    [
        (2, 5, ErrorCode.INVALID_REQUEST),
        (2, 6, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (3, 4, ErrorCode.INVALID_REQUEST),
        (-1, 4, ErrorCode.INVALID_REQUEST),
    ],
)
def test_other_kinds_of_coordinators(coordinator: LocalCluster, key_type: int, version: int, code: ErrorCode) -> None:
    answer = coordinator.request(FindCoordinatorRequest(key_type=key_type, coordinator_keys=["g:t:0"]), version)
    assert answer.coordinators[0].error_code == code


# -- members


@pytest.mark.parametrize("version", range(10))
def test_joining_in_every_version(one: GroupMember, version: int) -> None:
    answer = one.join("t", version=version)
    assert (answer.error_code, answer.generation_id, answer.protocol_name) == (0, 1, "range")
    assert answer.leader == answer.member_id == one.member_id
    assert answer.protocol_type == ("consumer" if version >= 7 else None)
    assert [found.member_id for found in answer.members] == [one.member_id]


@pytest.mark.parametrize("version", range(6))
def test_syncing_in_every_version(one: GroupMember, version: int) -> None:
    one.join("t")
    answer = one.sync({one.member_id: b"everything"}, version)
    assert (answer.error_code, answer.assignment) == (0, b"everything")
    assert answer.protocol_name == ("range" if version >= 5 else None)


@pytest.mark.parametrize("version", range(5))
def test_heartbeats_in_every_version(one: GroupMember, version: int) -> None:
    one.become_stable("t")
    assert one.heartbeat(version) is ErrorCode.NONE
    one.generation_id += 1
    assert one.heartbeat(version) is ErrorCode.ILLEGAL_GENERATION
    one.member_id = "nobody"
    assert one.heartbeat(version) is ErrorCode.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize("version", range(6))
def test_leaving_in_every_version(one: GroupMember, version: int) -> None:
    one.become_stable("t")
    request = LeaveGroupRequest(group_id=one.group_id)
    if version >= 3:
        request.members = [MemberIdentity(member_id=one.member_id)]
    else:
        request.member_id = one.member_id
    codes = []
    for _ in range(2):
        answer = one.request(request, version)
        codes.append(answer.members[0].error_code if version >= 3 else answer.error_code)
        assert version < 3 or answer.error_code == 0
    assert codes == [ErrorCode.NONE, ErrorCode.UNKNOWN_MEMBER_ID]
    assert one.heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID


def test_two_members_wait_for_each_other(one: GroupMember, other: GroupMember) -> None:
    one.become_stable("t")
    other.member_id = other.request(other.join_request("t"), 9).member_id
    joining = other.begin(other.join_request("t"), 9)
    deadline = time.monotonic() + 5
    while one.heartbeat() is ErrorCode.NONE and time.monotonic() < deadline:
        time.sleep(0.01)
    assert one.heartbeat() is ErrorCode.REBALANCE_IN_PROGRESS
    assert not joining.done()
    assert one.join("t").generation_id == 2
    other.generation_id = joining.result(5).generation_id
    syncing = other.begin(SyncGroupRequest(group_id=other.group_id, generation_id=2, member_id=other.member_id), 4)
    assert one.sync({one.member_id: b"mine", other.member_id: b"theirs"}).assignment == b"mine"
    assert syncing.result(5).assignment == b"theirs"
    assert other.heartbeat() is ErrorCode.NONE


def test_what_a_join_may_not_be(one: GroupMember) -> None:
    assert one.join("t", session_timeout_ms=5_999).error_code == ErrorCode.INVALID_SESSION_TIMEOUT
    assert one.join("t", session_timeout_ms=1_800_001).error_code == ErrorCode.INVALID_SESSION_TIMEOUT
    assert one.join("t", protocols=()).error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    one.member_id = "nobody"
    assert one.join("t").error_code == ErrorCode.UNKNOWN_MEMBER_ID
    one.group_id = ""
    assert one.join("t").error_code == ErrorCode.INVALID_GROUP_ID
    assert one.heartbeat() is ErrorCode.INVALID_GROUP_ID
    assert one.sync().error_code == ErrorCode.INVALID_GROUP_ID
    assert one.request(LeaveGroupRequest(), 5).error_code == ErrorCode.INVALID_GROUP_ID


def test_a_sync_of_version_5_names_its_protocol(one: GroupMember) -> None:
    one.join("t")
    request = SyncGroupRequest(group_id=one.group_id, generation_id=1, member_id=one.member_id)
    assert one.request(request, 5).error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert one.request(request, 4).error_code == 0


# -- offsets


@pytest.mark.parametrize("version", range(10))
def test_offsets_in_every_version(one: GroupMember, moldau_topic: str, version: int) -> None:
    fetch_version = min(version, 9)
    assert one.committed(moldau_topic, fetch_version).committed_offset == -1
    if version > 0:
        one.become_stable(moldau_topic)
    assert one.commit(moldau_topic, 42, version, metadata="text") is ErrorCode.NONE
    found = one.committed(moldau_topic, fetch_version)
    assert (found.error_code, found.committed_offset) == (0, 42)
    assert found.metadata == ("text" if version > 0 else "")


def test_offsets_by_topic_id(one: GroupMember, broker: Broker, moldau_topic: str) -> None:
    topic_id = broker.topic_id(moldau_topic)
    assert one.commit("", 42, 10, topic_id=topic_id) is ErrorCode.NONE
    assert one.committed("", 10, topic_id=topic_id).committed_offset == 42
    assert one.commit("", 42, 10, topic_id=b"?" * 16) is ErrorCode.UNKNOWN_TOPIC_ID
    unknown = one.committed("", 10, topic_id=b"?" * 16)
    assert (unknown.error_code, unknown.committed_offset) == (ErrorCode.UNKNOWN_TOPIC_ID, -1)
    every = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=one.group_id, topics=None)])
    assert [topic.topic_id for topic in one.request(every, 10).groups[0].topics] == [topic_id]


def test_several_groups_and_all_their_topics(one: GroupMember, moldau_topic: str) -> None:
    one.commit(moldau_topic, 7)
    groups = [OffsetFetchRequestGroup(group_id=name, topics=None) for name in (one.group_id, "no-such-group")]
    answer = one.request(OffsetFetchRequest(groups=groups), 8)
    assert [(group.group_id, group.error_code) for group in answer.groups] == [(one.group_id, 0), ("no-such-group", 0)]
    assert [[topic.name for topic in group.topics] for group in answer.groups] == [[moldau_topic], []]
    assert one.request(OffsetFetchRequest(groups=[]), 8).groups == []
    answer = one.request(OffsetFetchRequest(group_id=one.group_id, topics=None), 7)
    assert [topic.name for topic in answer.topics] == [moldau_topic]


def test_partitions_that_do_not_exist_are_not_committed(one: GroupMember, moldau_topic: str) -> None:
    assert one.commit("no-such-topic", 1) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert one.commit(moldau_topic, 1, partition=7) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert one.committed(moldau_topic, partition=7).committed_offset == -1
    assert one.commit(moldau_topic, 1, metadata="x" * 4097) is ErrorCode.OFFSET_METADATA_TOO_LARGE


def test_offsets_go_with_their_topic(one: GroupMember, coordinator: LocalCluster) -> None:
    coordinator.create_topic("short-lived")
    one.commit("short-lived", 5)
    coordinator.delete_topic("short-lived")
    deadline = time.monotonic() + 5
    while one.committed("short-lived").committed_offset != -1 and time.monotonic() < deadline:
        time.sleep(0.02)
    assert one.committed("short-lived").committed_offset == -1


def test_deleting_offsets(one: GroupMember, moldau_topic: str) -> None:
    one.commit(moldau_topic, 5)
    partitions = [OffsetDeleteRequestPartition(partition_index=index) for index in (0, 9)]
    topics = [
        OffsetDeleteRequestTopic(name=moldau_topic, partitions=partitions),
        OffsetDeleteRequestTopic(name="no-such-topic", partitions=partitions[:1]),
    ]
    answer = one.request(OffsetDeleteRequest(group_id=one.group_id, topics=topics), 0)
    found = {
        (topic.name, part.partition_index): part.error_code for topic in answer.topics for part in topic.partitions
    }
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert found == {(moldau_topic, 0): 0, (moldau_topic, 9): unknown, ("no-such-topic", 0): unknown}
    assert one.committed(moldau_topic).committed_offset == -1
    answer = one.request(OffsetDeleteRequest(group_id="no-such-group"), 0)
    assert answer.error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert one.request(OffsetDeleteRequest(), 0).error_code == ErrorCode.INVALID_GROUP_ID


@pytest.mark.parametrize("version", range(5))
def test_offsets_of_a_transaction_are_not_seen(
    one: GroupMember, coordinator: LocalCluster, moldau_topic: str, version: int
) -> None:
    producer = Transactional(coordinator, f"tx-{next(numbers)}")
    producer.init()
    producer.add_offsets(one.group_id)
    partitions = [TxnOffsetCommitRequestPartition(partition_index=index, committed_offset=9) for index in (0, 5)]
    request = TxnOffsetCommitRequest(
        transactional_id=producer.transactional_id,
        group_id=one.group_id,
        producer_id=producer.producer_id,
        topics=[TxnOffsetCommitRequestTopic(name=moldau_topic, partitions=partitions)],
    )
    answer = one.request(request, version)
    found = {part.partition_index: part.error_code for part in answer.topics[0].partitions}
    assert found == {0: 0, 5: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    assert one.committed(moldau_topic).committed_offset == -1
    unstable = one.committed(moldau_topic, require_stable=True)
    assert (unstable.error_code, unstable.committed_offset) == (ErrorCode.UNSTABLE_OFFSET_COMMIT, -1)
    producer.init()
    producer.add_offsets(one.group_id)
    request.producer_epoch = producer.producer_epoch
    assert one.request(request, version).topics[0].partitions[0].error_code == 0
    request.producer_epoch = 0
    assert one.request(request, version).topics[0].partitions[0].error_code == ErrorCode.INVALID_PRODUCER_EPOCH


@pytest.mark.parametrize(("version", "code"), [(3, "INVALID_TXN_STATE"), (4, "TRANSACTION_ABORTABLE")])
def test_offsets_outside_of_an_open_transaction_are_refused(
    one: GroupMember, coordinator: LocalCluster, moldau_topic: str, version: int, code: str
) -> None:
    producer = Transactional(coordinator, f"tx-{next(numbers)}")
    producer.init()
    one_partition = TxnOffsetCommitRequestPartition(partition_index=0, committed_offset=9)
    request = TxnOffsetCommitRequest(
        transactional_id=producer.transactional_id,
        group_id=one.group_id,
        producer_id=producer.producer_id,
        topics=[TxnOffsetCommitRequestTopic(name=moldau_topic, partitions=[one_partition])],
    )
    assert one.request(request, version).topics[0].partitions[0].error_code == ErrorCode[code]
    assert one.committed(moldau_topic, require_stable=True).error_code == 0


# -- groups


@pytest.mark.parametrize("version", range(7))
def test_describing_in_every_version(one: GroupMember, version: int) -> None:
    one.become_stable("t")
    answer = one.request(DescribeGroupsRequest(groups=[one.group_id, "no-such-group"]), version)
    found, missing = answer.groups
    assert (found.group_state, found.protocol_type, found.protocol_data) == ("Stable", "consumer", "range")
    (described,) = found.members
    assert (described.member_id, described.client_host) == (one.member_id, "/127.0.0.1")
    assert described.member_assignment == b"all"
    assert missing.group_state == "Dead"
    assert missing.error_code == (ErrorCode.GROUP_ID_NOT_FOUND if version >= 6 else 0)


def test_what_one_may_do_with_a_group(one: GroupMember) -> None:
    one.become_stable("t")
    request = DescribeGroupsRequest(groups=[one.group_id], include_authorized_operations=True)
    assert one.request(request, 3).groups[0].authorized_operations == 0b1_0100_1000
    assert one.request(DescribeGroupsRequest(groups=[]), 3).groups == []


@pytest.mark.parametrize("version", range(6))
def test_listing_in_every_version(one: GroupMember, version: int) -> None:
    one.become_stable("t")
    listed = {group.group_id: group for group in one.request(ListGroupsRequest(), version).groups}
    mine = listed[one.group_id]
    assert mine.protocol_type == "consumer"
    assert mine.group_state == ("Stable" if version >= 4 else "")
    assert mine.group_type == ("classic" if version >= 5 else "")


def test_listing_some_groups(one: GroupMember) -> None:
    one.become_stable("t")

    def listed(**filters: list[str]) -> bool:
        answer = one.request(ListGroupsRequest(**filters), 5)
        return one.group_id in {group.group_id for group in answer.groups}

    assert listed(states_filter=["stable", "Empty"])
    assert not listed(states_filter=["Empty"])
    assert not listed(states_filter=["no such state"])
    assert listed(types_filter=["Classic"])
    assert not listed(types_filter=["consumer"])


@pytest.mark.parametrize("version", range(3))
def test_deleting_in_every_version(one: GroupMember, other: GroupMember, moldau_topic: str, version: int) -> None:
    one.commit(moldau_topic, 3)
    one.join("t")
    request = DeleteGroupsRequest(groups_names=[one.group_id, "no-such-group", one.group_id])
    answer = other.request(request, version)
    found = [(result.group_id, result.error_code) for result in answer.results]
    assert found == [(one.group_id, ErrorCode.NON_EMPTY_GROUP), ("no-such-group", ErrorCode.GROUP_ID_NOT_FOUND)]
    one.request(LeaveGroupRequest(group_id=one.group_id, members=[MemberIdentity(member_id=one.member_id)]), 5)
    assert [result.error_code for result in other.request(request, version).results] == [
        0,
        ErrorCode.GROUP_ID_NOT_FOUND,
    ]
    assert one.committed(moldau_topic).committed_offset == -1


# -- restarts


@pytest.mark.parametrize("codec", ["0", "4"])
def test_a_member_does_not_notice_a_restart_of_the_broker(codec: str) -> None:
    settings = {"offsets.topic.num.partitions": "5", "offsets.topic.compression.codec": codec}
    with LocalCluster(settings) as cluster:
        cluster.create_topic("t")
        wait_for_coordinator(cluster)
        with member(cluster, "g") as one:
            one.become_stable("t")
            one.commit("t", 42)
            cluster.restart()
            wait_for_coordinator(cluster)
            with member(cluster, "g") as again:
                again.member_id, again.generation_id = one.member_id, one.generation_id
                deadline = time.monotonic() + 5
                while again.committed("t").error_code and time.monotonic() < deadline:
                    time.sleep(0.02)
                assert again.committed("t").committed_offset == 42
                assert again.heartbeat() is ErrorCode.NONE
                assert again.commit("t", 43) is ErrorCode.NONE
                assert again.sync().assignment == b"all"
