"""What clients and brokers of a cluster of three see when they come to the wrong broker, or when something moves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from moldau.base.error_codes import ErrorCode
from moldau.broker.node import Node
from moldau.protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from moldau.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from moldau.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from moldau.protocol.messages.elect_leaders import ElectLeadersRequest
from moldau.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from moldau.protocol.messages.find_coordinator import FindCoordinatorRequest
from moldau.protocol.messages.metadata import MetadataRequest
from moldau.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from moldau.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from moldau.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from moldau.protocol.messages.stop_replica import StopReplicaPartitionState, StopReplicaRequest, StopReplicaTopicState
from moldau.protocol.messages.update_metadata import UpdateMetadataRequest
from moldau.records.builder import build_batch
from moldau.records.record import Record
from moldau.testing.local_cluster import LocalCluster
from tests.cluster.replicated_topic import ReplicatedTopic, eventually

GROUP = "g"
OFFSET = 42
SETTINGS = {
    "offsets.topic.num.partitions": "3",
    "min.insync.replicas": "2",
    "transaction.state.log.num.partitions": "3",
}


@pytest.fixture
def cluster(tmp_path: Any) -> Iterator[LocalCluster]:
    directories = {
        broker_id: {"log.dirs": f"{tmp_path}/{broker_id}-a,{tmp_path}/{broker_id}-b"} for broker_id in range(3)
    }
    with LocalCluster(SETTINGS, brokers=3, broker_config=directories) as cluster:
        yield cluster


@pytest.fixture
def topic(cluster: LocalCluster) -> ReplicatedTopic:
    cluster.create_topic("orders", replication_factor=3)
    return ReplicatedTopic(cluster, "orders")


def topic_id(cluster: LocalCluster, name: str) -> bytes:
    return cluster.run_in_loop(lambda node: node.metadata.topic_ids[name], cluster.running[0])


# -- the wrong broker


def test_who_produces_to_a_follower_is_told_who_leads(cluster: LocalCluster, topic: ReplicatedTopic) -> None:
    batch = bytes(build_batch([Record(0, 1_700_000_000_000, None, b"x")]))
    data = TopicProduceData(name="orders", partition_data=[PartitionProduceData(index=0, records=batch)])
    request = ProduceRequest(acks=-1, timeout_ms=1_000, topic_data=[data])
    answer = cluster.request(request, 10, broker_id=topic.followers[0])
    (refused,) = answer.responses[0].partition_responses
    assert refused.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert refused.current_leader.leader_id == topic.leader
    assert [f"{each.host}:{each.port}" for each in answer.node_endpoints] == [address(cluster, topic.leader)]


def test_who_fetches_with_an_old_epoch_is_told_who_leads(cluster: LocalCluster, topic: ReplicatedTopic) -> None:
    before = topic.leader
    cluster.stop_broker(before)
    wanted = FetchPartition(partition=0, current_leader_epoch=0, fetch_offset=0, partition_max_bytes=1000)
    asked = FetchTopic(topic_id=topic_id(cluster, "orders"), partitions=[wanted])
    leader = topic.leader
    answer = cluster.request(FetchRequest(max_wait_ms=0, topics=[asked]), 16, broker_id=leader)
    (refused,) = answer.responses[0].partitions
    assert refused.error_code == ErrorCode.FENCED_LEADER_EPOCH
    assert (refused.current_leader.leader_id, refused.current_leader.leader_epoch) == (leader, 1)
    assert [f"{each.host}:{each.port}" for each in answer.node_endpoints] == [address(cluster, leader)]


def address(cluster: LocalCluster, broker_id: int) -> str:
    return cluster.bootstrap_servers.split(",")[broker_id]


def test_only_the_controller_changes_topics(cluster: LocalCluster, topic: ReplicatedTopic) -> None:
    other = next(each for each in cluster.running if each != cluster.controller_id)
    create = CreateTopicsRequest(topics=[CreatableTopic(name="new", num_partitions=1, replication_factor=1)])
    assert cluster.request(create, broker_id=other).topics[0].error_code == ErrorCode.NOT_CONTROLLER
    delete = DeleteTopicsRequest(topics=[DeleteTopicState(name="orders")], timeout_ms=1_000)
    assert cluster.request(delete, broker_id=other).responses[0].error_code == ErrorCode.NOT_CONTROLLER
    grow = CreatePartitionsRequest(
        topics=[CreatePartitionsTopic(name="orders", count=2, assignments=None)], timeout_ms=1_000
    )
    assert cluster.request(grow, broker_id=other).results[0].error_code == ErrorCode.NOT_CONTROLLER
    elected = cluster.request(ElectLeadersRequest(topic_partitions=None), broker_id=other).replica_election_results
    assert elected[0].partition_result[0].error_code == ErrorCode.NOT_CONTROLLER


def test_what_was_said_to_a_former_life_or_by_a_former_controller_is_refused(
    cluster: LocalCluster, topic: ReplicatedTopic
) -> None:
    follower = topic.followers[0]
    epoch = cluster.run_in_loop(lambda node: node.broker_epoch, follower)
    cluster.stop_broker(follower)
    cluster.start_broker(follower)
    controller_epoch = cluster.run_in_loop(lambda node: node.controller.epoch, cluster.controller_id)
    stop = StopReplicaPartitionState(partition_index=0, leader_epoch=-2, delete_partition=True)
    states = [StopReplicaTopicState(topic_name="orders", partition_states=[stop])]
    late = StopReplicaRequest(
        controller_id=0, controller_epoch=controller_epoch, broker_epoch=epoch, topic_states=states
    )
    assert cluster.request(late, broker_id=follower).error_code == ErrorCode.STALE_BROKER_EPOCH
    former = UpdateMetadataRequest(controller_id=7, controller_epoch=controller_epoch - 1, broker_epoch=-1)
    assert cluster.request(former, broker_id=follower).error_code == ErrorCode.STALE_CONTROLLER_EPOCH
    assert topic.produce(b"x") is ErrorCode.NONE


# -- what moves


def test_a_group_follows_its_partition_to_another_coordinator(cluster: LocalCluster) -> None:
    cluster.create_topic("orders", replication_factor=3)
    before = coordinator(cluster)
    internal = cluster.run_in_loop(lambda node: node.metadata.topics["__consumer_offsets"])
    assert all(sorted(each.replicas) == [0, 1, 2] for each in internal.values())
    partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=OFFSET)
    commit = OffsetCommitRequest(
        group_id=GROUP,
        generation_id_or_member_epoch=-1,
        topics=[OffsetCommitRequestTopic(name="orders", partitions=[partition])],
    )
    assert committed_by(cluster, commit, before) == ErrorCode.NONE
    stays = next(each for each in cluster.running if each != before)
    assert committed_by(cluster, commit, stays) == ErrorCode.NOT_COORDINATOR
    cluster.kill_broker(before)
    eventually(lambda: coordinator(cluster) != before)
    after = coordinator(cluster)
    eventually(lambda: fetched_from(cluster, after) == (ErrorCode.NONE, OFFSET))


def coordinator(cluster: LocalCluster) -> int:
    """Who it is in the eyes of everybody that runs; waits until there is one."""
    found: set[tuple[int, int]] = set()

    def is_known() -> bool:
        request = FindCoordinatorRequest(key_type=0, coordinator_keys=[GROUP])
        answers = [cluster.request(request, broker_id=each).coordinators[0] for each in cluster.running]
        found.clear()
        found.update((each.error_code, each.node_id) for each in answers)
        return len(found) == 1 and next(iter(found))[0] == ErrorCode.NONE

    eventually(is_known)
    return next(iter(found))[1]


def committed_by(cluster: LocalCluster, commit: OffsetCommitRequest, broker_id: int) -> int:
    codes: list[int] = []

    def is_loaded() -> bool:
        codes[:] = [cluster.request(commit, 8, broker_id=broker_id).topics[0].partitions[0].error_code]
        return codes[0] != ErrorCode.COORDINATOR_LOAD_IN_PROGRESS

    eventually(is_loaded)
    return codes[0]


def fetched_from(cluster: LocalCluster, broker_id: int) -> tuple[int, int]:
    topics = [OffsetFetchRequestTopics(name="orders", partition_indexes=[0])]
    request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=GROUP, topics=topics)])
    (group,) = cluster.request(request, 8, broker_id=broker_id).groups
    if group.error_code:
        return group.error_code, -1
    (found,) = group.topics[0].partitions
    return found.error_code, found.committed_offset


def test_new_partitions_have_replicas_on_all_brokers(cluster: LocalCluster, topic: ReplicatedTopic) -> None:
    request = CreatePartitionsRequest(
        topics=[CreatePartitionsTopic(name="orders", count=3, assignments=None)], timeout_ms=10_000
    )
    assert cluster.request(request, broker_id=cluster.controller_id).results[0].error_code == ErrorCode.NONE
    eventually(lambda: all(known(cluster, each) == 3 for each in cluster.running))
    found = cluster.run_in_loop(lambda node: node.metadata.topics["orders"])
    assert sorted(each.leader for each in found.values()) == [0, 1, 2]
    assert all(sorted(each.isr) == [0, 1, 2] for each in found.values())


def known(cluster: LocalCluster, broker_id: int) -> int:
    return cluster.run_in_loop(lambda node: len(node.metadata.topics["orders"]), broker_id)


def test_a_broker_with_a_failed_directory_leads_what_is_elsewhere_and_nothing_that_was_there(
    cluster: LocalCluster, topic: ReplicatedTopic
) -> None:
    cluster.create_topic("payments", 2, replication_factor=3)  # one log of the leader is in the other directory
    before = topic.leader
    held = topic.log(before, lambda log: log.place.directory.parent)

    def fail(node: Node) -> None:
        directory = next(each for each in node.directories.directories if each.path == held)
        node.directories.fail(directory, OSError(5, "injected"))

    cluster.run_in_loop(fail, before)
    eventually(lambda: topic.leader != before)
    eventually(lambda: all(offline(cluster, each) == (before,) for each in cluster.running))
    assert topic.produce(b"x") is ErrorCode.NONE
    assert cluster.request(MetadataRequest(topics=None), broker_id=before).brokers
    assert len(cluster.run_in_loop(lambda node: list(node.directories.online), before)) == 1


def offline(cluster: LocalCluster, broker_id: int) -> tuple[int, ...]:
    return cluster.run_in_loop(lambda node: node.metadata.topics["orders"][0].offline_replicas, broker_id)
