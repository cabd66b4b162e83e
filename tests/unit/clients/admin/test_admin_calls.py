"""Calls reach the broker in charge, are repeated while that may help, and settle every item."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError, Disconnected, MoldauError, UnsupportedVersion
from moldau.clients.admin import NewTopic, OffsetSpec, Results
from moldau.clients.admin.results import outcome
from moldau.clients.errors import TimedOut
from moldau.clients.records import TopicPartition
from moldau.protocol.messages.create_topics import CreatableTopicResult, CreateTopicsResponse
from moldau.protocol.messages.delete_groups import DeletableGroupResult, DeleteGroupsResponse
from moldau.protocol.messages.describe_acls import DescribeAclsRequest
from moldau.protocol.messages.list_groups import ListedGroup, ListGroupsResponse
from moldau.protocol.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from moldau.protocol.messages.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from moldau.protocol.schema import Message
from tests.unit.clients.admin.scripted_cluster import NODES, Asked, ScriptedCluster


def created(codes: dict[str, ErrorCode]) -> CreateTopicsResponse:
    return CreateTopicsResponse(topics=[CreatableTopicResult(name=name, error_code=codes[name]) for name in codes])


def all_created(asked: Asked) -> Message:
    return created({topic.name: ErrorCode.NONE for topic in asked.request.topics})


def test_results_give_a_value_or_raise_the_error_of_an_item() -> None:
    refused = ApiError(ErrorCode.TOPIC_ALREADY_EXISTS)
    results: Results[str, int] = Results({"a": 1, "b": refused})
    assert (results["a"], results.succeeded, results.errors) == (1, {"a": 1}, {"b": refused})
    assert list(results) == ["a", "b"]
    with pytest.raises(ApiError, match="TOPIC_ALREADY_EXISTS"):
        results["b"]
    with pytest.raises(ApiError):
        results.raise_first()


def test_an_error_without_a_message_says_what_it_is_about() -> None:
    error = outcome(None, ErrorCode.GROUP_ID_NOT_FOUND, of="billing")
    assert str(error) == "GROUP_ID_NOT_FOUND: billing"


def test_a_call_raises_the_first_failure_after_doing_the_rest() -> None:
    cluster = ScriptedCluster(lambda _asked: created({"a": ErrorCode.NONE, "b": ErrorCode.INVALID_PARTITIONS}))
    with pytest.raises(ApiError, match="INVALID_PARTITIONS"):
        cluster.run(lambda admin: admin.create_topics(["a", "b"]))
    results = cluster.run(lambda admin: admin.create_topics(["a", "b"], raise_errors=False))
    assert set(results.succeeded) == {"a"}
    assert set(results.errors) == {"b"}


def test_the_controller_is_looked_for_again_when_it_has_moved() -> None:
    def answer(asked: Asked) -> Message:
        code = ErrorCode.NONE if asked.node_id == 2 else ErrorCode.NOT_CONTROLLER
        return created({topic.name: code for topic in asked.request.topics})

    cluster = ScriptedCluster(answer)
    cluster.controllers = [1, 2]
    cluster.run(lambda admin: admin.create_topics(["a"]))
    assert [asked.node_id for asked in cluster.asked] == [1, 2]


def test_only_the_items_that_failed_for_a_passing_reason_are_asked_again() -> None:
    def answer(asked: Asked) -> Message:
        throttled = ErrorCode.THROTTLING_QUOTA_EXCEEDED if len(cluster.asked) == 1 else ErrorCode.NONE
        codes = {"a": ErrorCode.NONE, "b": throttled, "c": ErrorCode.POLICY_VIOLATION}
        return created({topic.name: codes[topic.name] for topic in asked.request.topics})

    cluster = ScriptedCluster(answer)
    results = cluster.run(lambda admin: admin.create_topics(["a", "b", "c"], raise_errors=False))
    assert [[topic.name for topic in asked.request.topics] for asked in cluster.asked] == [["a", "b", "c"], ["b"]]
    assert list(results) == ["a", "b", "c"]
    assert set(results.errors) == {"c"}


@pytest.mark.parametrize("limits", [{"retries": 2}, {"default_api_timeout_ms": 20}])
def test_a_call_gives_up_with_the_last_failure(limits: dict[str, int]) -> None:
    def answer(_asked: Asked) -> Message:
        raise Disconnected("host-1:9092 disconnected")

    cluster = ScriptedCluster(answer, **limits)
    with pytest.raises(TimedOut, match=r"creating topics \(a\) did not succeed .*; last: host-1:9092 disconnected"):
        cluster.run(lambda admin: admin.create_topics(["a"]))
    if "retries" in limits:
        assert len(cluster.asked) == 3


def test_an_answer_that_never_comes_ends_with_the_time_of_the_call() -> None:
    cluster = ScriptedCluster(all_created)

    async def never(*_arguments: object, **_keywords: object) -> None:
        await asyncio.sleep(60)

    cluster.request = never  # type: ignore[method-assign]
    with pytest.raises(TimedOut, match="creating topics: no answer within 20 ms"):
        cluster.run(lambda admin: admin.create_topics(["a"], timeout_s=0.02))


def test_an_item_that_the_answer_leaves_out_is_a_failure() -> None:
    cluster = ScriptedCluster(lambda _asked: created({"a": ErrorCode.NONE}))
    with pytest.raises(ApiError, match="the broker's answer does not mention b"):
        cluster.run(lambda admin: admin.create_topics(["a", "b"]))


def test_groups_go_to_their_coordinators_in_one_request_each() -> None:
    def answer(asked: Asked) -> Message:
        lost = asked.node_id == 3
        code = ErrorCode.NOT_COORDINATOR if lost else ErrorCode.NONE
        results = [DeletableGroupResult(group_id=each, error_code=code) for each in asked.request.groups_names]
        return DeleteGroupsResponse(results=results)

    cluster = ScriptedCluster(answer)
    cluster.coordinators = {"a": [1], "b": [2], "c": [1], "d": [3, 2]}
    cluster.run(lambda admin: admin.delete_consumer_groups(["a", "b", "c", "d"]))
    asked = [(asked.node_id, asked.request.groups_names) for asked in cluster.asked]
    assert asked == [(1, ["a", "c"]), (2, ["b"]), (3, ["d"]), (2, ["d"])]


def test_what_a_broker_does_not_serve_is_refused_by_name() -> None:
    cluster = ScriptedCluster(all_created)
    cluster.versions[DescribeAclsRequest] = None
    with pytest.raises(
        UnsupportedVersion, match=r"describing ACLs: the broker does not support DescribeAcls\. It takes"
    ):
        cluster.run(lambda admin: admin.describe_acls())


class Leaders:
    """Answers Metadata and ListOffsets; the leader of t-0 moves from 1 to 2."""

    def __init__(self) -> None:
        self.leader = 1

    def __call__(self, asked: Asked) -> Message:
        if isinstance(asked.request, MetadataRequest):
            partitions = [MetadataResponsePartition(partition_index=n, leader_id=self.leader + n) for n in (0, 1)]
            brokers = [
                MetadataResponseBroker(node_id=each.id, host=each.host, port=each.port) for each in NODES.values()
            ]
            topics = asked.request.topics
            assert topics is None or not asked.request.allow_auto_topic_creation
            known = [MetadataResponseTopic(name="t", partitions=partitions), MetadataResponseTopic(name="other")]
            if topics is not None:
                known = [
                    next((one for one in known if one.name == each.name), None)
                    or MetadataResponseTopic(name=each.name, error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
                    for each in topics
                ]
            return MetadataResponse(brokers=brokers, topics=known)
        assert isinstance(asked.request, ListOffsetsRequest)
        (topic,) = asked.request.topics
        moved = asked.node_id == 1 and 0 in [each.partition_index for each in topic.partitions]
        self.leader = 2
        code = ErrorCode.NOT_LEADER_OR_FOLLOWER if moved else ErrorCode.NONE
        offsets = [
            ListOffsetsPartitionResponse(
                partition_index=each.partition_index, error_code=code, offset=asked.node_id or -1
            )
            for each in topic.partitions
        ]
        return ListOffsetsResponse(topics=[ListOffsetsTopicResponse(name=topic.name, partitions=offsets)])


@pytest.mark.parametrize("metadata_version", [13, 2])
def test_partitions_go_to_their_leaders_also_after_these_have_moved(metadata_version: int) -> None:
    cluster = ScriptedCluster(Leaders())
    cluster.versions[MetadataRequest] = metadata_version  # before 4 a question about one topic might create it
    wanted = {TopicPartition("t", 0): OffsetSpec.LATEST, TopicPartition("t", 1): 5}
    results = cluster.run(lambda admin: admin.list_offsets(wanted))
    assert {partition: found.offset for partition, found in results.items()} == {("t", 0): 2, ("t", 1): 2}


def test_an_unknown_topic_is_asked_for_a_few_times_and_then_does_not_exist() -> None:
    cluster = ScriptedCluster(Leaders())
    with pytest.raises(ApiError, match="UNKNOWN_TOPIC_OR_PARTITION: there is no missing-0"):
        cluster.run(lambda admin: admin.list_offsets({TopicPartition("missing", 0): OffsetSpec.LATEST}))
    assert len(cluster.asked) == 4


def test_old_brokers_are_not_asked_for_offsets_that_they_do_not_know() -> None:
    cluster = ScriptedCluster(Leaders())
    cluster.versions[ListOffsetsRequest] = 6
    with pytest.raises(UnsupportedVersion, match="the broker does not know offsets by MAX_TIMESTAMP"):
        cluster.run(lambda admin: admin.list_offsets({TopicPartition("t", 1): OffsetSpec.MAX_TIMESTAMP}))


def test_a_broker_that_is_not_there_is_named() -> None:
    cluster = ScriptedCluster(all_created, default_api_timeout_ms=20)
    with pytest.raises(MoldauError, match=r"there is no broker 9; known: \[1, 2, 3\]"):
        cluster.run(lambda admin: admin.describe_log_dirs([9]))


def test_an_empty_call_asks_nobody() -> None:
    cluster = ScriptedCluster(all_created)
    topics: list[NewTopic] = []
    assert dict(cluster.run(lambda admin: admin.create_topics(topics))) == {}
    assert cluster.asked == []


def test_a_broker_that_leaves_during_a_listing_is_left_out() -> None:
    def answer(asked: Asked) -> Message:
        if asked.node_id == 3:
            cluster.metadata = replace(cluster.metadata, nodes={number: NODES[number] for number in (1, 2)})
            raise Disconnected("host-3:9092 disconnected")
        return ListGroupsResponse(groups=[ListedGroup(group_id=f"of-{asked.node_id}")])

    cluster = ScriptedCluster(answer)
    listed = cluster.run(lambda admin: admin.list_groups())
    assert [group.group_id for group in listed] == ["of-1", "of-2"]


def test_a_broker_that_stays_and_cannot_be_asked_fails_a_listing() -> None:
    def answer(asked: Asked) -> Message:
        code = ErrorCode.CLUSTER_AUTHORIZATION_FAILED if asked.node_id == 2 else ErrorCode.NONE
        return ListGroupsResponse(error_code=code)

    with pytest.raises(ApiError, match="CLUSTER_AUTHORIZATION_FAILED"):
        ScriptedCluster(answer).run(lambda admin: admin.list_groups())


PASSING_CODES = st.sampled_from([ErrorCode.NOT_CONTROLLER, ErrorCode.THROTTLING_QUOTA_EXCEEDED])
FINAL_CODES = st.sampled_from([ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS, ErrorCode.REQUEST_TIMED_OUT])


@settings(max_examples=50, deadline=None)
@given(st.dictionaries(st.sampled_from("abcdef"), st.tuples(st.lists(PASSING_CODES, max_size=3), FINAL_CODES)))
def test_each_item_is_asked_until_its_failure_no_longer_passes(
    stories: dict[str, tuple[list[ErrorCode], ErrorCode]],
) -> None:
    told = {name: iter([*passing, final]) for name, (passing, final) in stories.items()}
    cluster = ScriptedCluster(
        lambda asked: created({topic.name: next(told[topic.name]) for topic in asked.request.topics})
    )
    results = cluster.run(lambda admin: admin.create_topics(stories, raise_errors=False))
    finals = {name: final for name, (_, final) in stories.items()}
    assert list(results) == list(stories)
    assert set(results.succeeded) == {name for name, final in finals.items() if final is ErrorCode.NONE}
    errors = {name: error.code for name, error in results.errors.items() if isinstance(error, ApiError)}
    assert errors == {name: final for name, final in finals.items() if final is not ErrorCode.NONE}
    assert all(next(each, None) is None for each in told.values())
    assert len(cluster.asked) == max((len(passing) + 1 for passing, _ in stories.values()), default=0)
