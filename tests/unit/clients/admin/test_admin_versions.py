"""Old brokers: each call in the versions they know, and a refusal by name where these cannot say it."""

from __future__ import annotations

import pytest

from moldau.base.errors import UnsupportedVersion
from moldau.clients.admin import AlterConfigOp, ConfigResource, ConfigSource, ElectionType, MemberToRemove, NewTopic
from moldau.clients.records import OffsetAndMetadata, TopicPartition
from moldau.protocol.messages.alter_configs import AlterConfigsResourceResponse, AlterConfigsResponse
from moldau.protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from moldau.protocol.messages.create_topics import CreatableTopicResult, CreateTopicsRequest, CreateTopicsResponse
from moldau.protocol.messages.delete_topics import DeletableTopicResult, DeleteTopicsRequest, DeleteTopicsResponse
from moldau.protocol.messages.describe_cluster import DescribeClusterRequest
from moldau.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
)
from moldau.protocol.messages.describe_groups import DescribedGroup, DescribeGroupsRequest, DescribeGroupsResponse
from moldau.protocol.messages.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
)
from moldau.protocol.messages.elect_leaders import ElectLeadersRequest
from moldau.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from moldau.protocol.messages.leave_group import LeaveGroupRequest
from moldau.protocol.messages.list_config_resources import (
    ConfigResource as ListedResource,
)
from moldau.protocol.messages.list_config_resources import (
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
)
from moldau.protocol.messages.metadata import MetadataRequest, MetadataResponse, MetadataResponseBroker
from moldau.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchResponse,
    OffsetFetchResponsePartition,
    OffsetFetchResponseTopic,
)
from moldau.protocol.schema import Message
from tests.unit.clients.admin.scripted_cluster import Asked, ScriptedCluster

TOPIC = ConfigResource.topic("t")


def test_settings_are_never_replaced_where_they_should_be_changed() -> None:
    def answer(asked: Asked) -> Message:
        responses = [AlterConfigsResourceResponse(resource_type=2, resource_name="t")]
        return AlterConfigsResponse(responses=responses)

    cluster = ScriptedCluster(answer)
    cluster.versions[IncrementalAlterConfigsRequest] = None
    with pytest.raises(UnsupportedVersion, match="does not support IncrementalAlterConfigs"):
        cluster.run(lambda admin: admin.incremental_alter_configs({TOPIC: [AlterConfigOp("retention.ms", "1")]}))
    assert cluster.asked == []
    cluster.run(lambda admin: admin.alter_configs({TOPIC: {"retention.ms": "1"}}))


@pytest.mark.parametrize("version", range(5))
def test_the_source_of_a_setting_is_told_by_every_version(version: int) -> None:
    def answer(_asked: Asked) -> Message:
        source = {"config_source": 5} if version else {"is_default": True}
        configs = [DescribeConfigsResourceResult(name="a", value="1", **source)]
        return DescribeConfigsResponse(
            results=[DescribeConfigsResult(resource_type=2, resource_name="t", configs=configs)]
        )

    cluster = ScriptedCluster(answer)
    cluster.versions[DescribeConfigsRequest] = version
    found = cluster.run(lambda admin: admin.describe_configs([TOPIC]))[TOPIC]["a"]
    assert (found.value, found.source, found.is_default) == ("1", ConfigSource.DEFAULT_CONFIG, True)


def test_topics_need_numbers_where_brokers_have_no_defaults() -> None:
    cluster = ScriptedCluster(lambda _asked: CreateTopicsResponse(topics=[CreatableTopicResult(name="t")]))
    cluster.versions[CreateTopicsRequest] = 1
    with pytest.raises(UnsupportedVersion, match="give num_partitions and replication_factor of t"):
        cluster.run(lambda admin: admin.create_topics(["t"]))
    made = cluster.run(lambda admin: admin.create_topics([NewTopic("t", 1, 1)]))
    assert made["t"].num_partitions == -1
    cluster.run(lambda admin: admin.create_topics([NewTopic("t", replicas_assignments={0: [1]})]))


def test_old_brokers_delete_by_name_only() -> None:
    cluster = ScriptedCluster(lambda _asked: DeleteTopicsResponse(responses=[DeletableTopicResult(name="t")]))
    cluster.versions[DeleteTopicsRequest] = 5
    cluster.run(lambda admin: admin.delete_topics(["t"]))
    with pytest.raises(UnsupportedVersion, match="by name only"):
        cluster.run(lambda admin: admin.delete_topics(topic_ids=["AAAAAAAAAAAAAAAAAAAAAQ"]))


def test_the_pages_of_a_description_become_one() -> None:
    def page(asked: Asked) -> Message:
        start = asked.request.cursor.partition_index if asked.request.cursor else 0
        partition = DescribeTopicPartitionsResponsePartition(partition_index=start, leader_id=-1)
        topic = DescribeTopicPartitionsResponseTopic(name="t", partitions=[partition])
        following = Cursor(topic_name="t", partition_index=start + 1) if start < 2 else None
        return DescribeTopicPartitionsResponse(topics=[topic], next_cursor=following)

    cluster = ScriptedCluster(page)
    described = cluster.run(lambda admin: admin.describe_topics(["t"], partition_size_limit_per_response=1))["t"]
    assert [(each.partition, each.leader) for each in described.partitions] == [(0, None), (1, None), (2, None)]
    assert isinstance(cluster.asked[0].request, DescribeTopicPartitionsRequest)


def test_before_there_were_pages_metadata_describes() -> None:
    cluster = ScriptedCluster(lambda _asked: MetadataResponse(topics=[]))
    cluster.versions |= {DescribeTopicPartitionsRequest: None, MetadataRequest: 8}
    results = cluster.run(lambda admin: admin.describe_topics(["t"], raise_errors=False))
    assert str(results.errors["t"]) == "UNKNOWN_TOPIC_OR_PARTITION: there is no topic t"


@pytest.mark.parametrize("version", [8, 2])
def test_the_cluster_was_described_by_metadata_before(version: int) -> None:
    brokers = [MetadataResponseBroker(node_id=7, host="h", port=1, rack="r")]
    cluster = ScriptedCluster(lambda _asked: MetadataResponse(cluster_id="c", controller_id=7, brokers=brokers))
    cluster.versions |= {DescribeClusterRequest: None, MetadataRequest: version}
    described = cluster.run(lambda admin: admin.describe_cluster())
    assert described.controller == described.nodes[0] == (7, "h", 1, "r")
    assert described.authorized_operations is None


@pytest.mark.parametrize("version", [6, 5, 0])
def test_a_dead_group_does_not_exist(version: int) -> None:
    group = DescribedGroup(group_id="g", group_state="Dead", error_code=69 if version == 6 else 0)
    cluster = ScriptedCluster(lambda _asked: DescribeGroupsResponse(groups=[group]))
    cluster.versions[ConsumerGroupDescribeRequest] = None
    cluster.versions[DescribeGroupsRequest] = version
    results = cluster.run(lambda admin: admin.describe_consumer_groups(["g"], raise_errors=False))
    assert str(results.errors["g"]) == "GROUP_ID_NOT_FOUND: g"


def test_offsets_are_fetched_group_by_group_from_old_brokers() -> None:
    def answer(asked: Asked) -> Message:
        partitions = [
            OffsetFetchResponsePartition(partition_index=0, committed_offset=5, metadata="m"),
            OffsetFetchResponsePartition(partition_index=1, committed_offset=-1, metadata=""),
        ]
        return OffsetFetchResponse(topics=[OffsetFetchResponseTopic(name="t", partitions=partitions)])

    cluster = ScriptedCluster(answer)
    cluster.versions[OffsetFetchRequest] = 2
    results = cluster.run(lambda admin: admin.list_consumer_group_offsets(["g", "h"]))
    expected = {TopicPartition("t", 0): OffsetAndMetadata(5, "m"), TopicPartition("t", 1): None}
    assert dict(results) == {"g": expected, "h": expected}
    assert [asked.request.group_id for asked in cluster.asked] == ["g", "h"]
    with pytest.raises(UnsupportedVersion, match="stable offsets"):
        cluster.run(lambda admin: admin.list_consumer_group_offsets(["g"], require_stable=True))


def test_what_old_brokers_cannot_do_to_members_and_leaders_is_refused() -> None:
    cluster = ScriptedCluster(lambda _asked: pytest.fail("nothing is to be asked"))
    cluster.versions |= {LeaveGroupRequest: 2, ElectLeadersRequest: 0}
    with pytest.raises(UnsupportedVersion, match="removes only the member that asks"):
        cluster.run(lambda admin: admin.remove_members_from_consumer_group("g", [MemberToRemove("m")]))
    with pytest.raises(UnsupportedVersion, match="elects preferred leaders only"):
        cluster.run(lambda admin: admin.elect_leaders(ElectionType.UNCLEAN, [("t", 0)]))


def test_client_metrics_are_listed_by_the_first_version_too() -> None:
    listed = [ListedResource(resource_name="metrics")]
    cluster = ScriptedCluster(lambda _asked: ListConfigResourcesResponse(config_resources=listed))
    cluster.versions[ListConfigResourcesRequest] = 0
    assert cluster.run(lambda admin: admin.list_client_metrics_resources()) == ["metrics"]
    with pytest.raises(UnsupportedVersion):
        cluster.run(lambda admin: admin.list_config_resources([TOPIC.type]))
