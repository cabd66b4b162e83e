"""The admin client on one broker: what it changes is there afterwards, and refusals say why."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from moldau import Admin, Consumer, OffsetAndMetadata, Producer, TopicPartition, aio
from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError, UnsupportedVersion
from moldau.clients.admin import (
    HIGH_WATERMARK,
    AclOperation,
    AlterConfigOp,
    ConfigResource,
    ConfigResourceType,
    ConfigSource,
    ConfigType,
    IsolationLevel,
    MemberToRemove,
    NewPartitions,
    NewTopic,
    OffsetSpec,
    OpType,
    TopicPartitionReplica,
)
from moldau.clients.errors import ClientClosed, TimedOut
from moldau.testing.local_cluster import LocalCluster
from tests.clients.records_to_consume import new_group, produce, take


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCluster]:
    folder = tmp_path_factory.mktemp("logs")
    with LocalCluster({"log.dirs": f"{folder / 'a'},{folder / 'b'}"}) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def admin(cluster: LocalCluster) -> Iterator[Admin]:
    with Admin(bootstrap_servers=cluster.bootstrap_servers) as admin:
        yield admin


@pytest.fixture
def topic(cluster: LocalCluster, request: pytest.FixtureRequest) -> str:
    name = request.node.name[:200]
    cluster.create_topic(name, 2)
    return str(name)


def test_topics_live_from_creation_to_deletion_by_id(admin: Admin) -> None:
    wanted = NewTopic("by-hand", replicas_assignments={0: [0], 1: [0]}, configs={"retention.ms": "5000"})
    assert admin.create_topics([wanted], validate_only=True)["by-hand"].num_partitions == 2
    assert "by-hand" not in admin.list_topics()
    created = admin.create_topics([wanted])["by-hand"]
    assert created.configs is not None
    assert (created.num_partitions, created.replication_factor, created.configs["retention.ms"]) == (2, 1, "5000")
    assert admin.list_topics()["by-hand"].topic_id == created.topic_id
    by_id = admin.describe_topics(topic_ids=[created.topic_id], include_authorized_operations=True)
    assert by_id[created.topic_id].name == "by-hand"
    assert AclOperation.ALTER_CONFIGS in (by_id[created.topic_id].authorized_operations or ())
    admin.create_partitions({"by-hand": NewPartitions(3, [[0]])})
    assert len(admin.describe_topics(["by-hand"])["by-hand"].partitions) == 3
    admin.delete_topics(topic_ids=[created.topic_id])
    with pytest.raises(ApiError, match="UNKNOWN_TOPIC_OR_PARTITION"):
        admin.describe_topics(["by-hand"])


def test_a_question_does_not_create_a_topic(admin: Admin) -> None:
    results = admin.describe_topics(["never-made"], raise_errors=False)
    assert set(results.errors) == {"never-made"}
    assert "never-made" not in admin.list_topics(list_internal=True)


def test_settings_are_described_with_their_sources_and_changed(admin: Admin, topic: str) -> None:
    resource = ConfigResource.topic(topic)
    admin.incremental_alter_configs(
        {resource: [AlterConfigOp("cleanup.policy", "compact", OpType.APPEND), AlterConfigOp("retention.ms", "77")]}
    )
    entries = admin.describe_configs([resource], include_synonyms=True, include_documentation=True)[resource]
    assert entries["cleanup.policy"].value == "delete,compact"
    retention = entries["retention.ms"]
    assert (retention.value, retention.source, retention.type) == (
        "77",
        ConfigSource.DYNAMIC_TOPIC_CONFIG,
        ConfigType.LONG,
    )
    assert retention.documentation
    assert retention.synonyms[0].value == "77"
    admin.incremental_alter_configs({resource: {"retention.ms": None}})
    (only,) = admin.describe_configs([resource], keys=["retention.ms"])[resource].values()
    assert only.is_default
    admin.alter_configs({resource: {"segment.ms": "1000"}})
    assert admin.describe_configs([resource])[resource]["cleanup.policy"].value == "delete"
    results = admin.incremental_alter_configs({resource: {"retention.ms": "x"}}, raise_errors=False)
    assert "INVALID_CONFIG" in str(results.errors[resource])


def test_brokers_and_loggers_have_settings_too(admin: Admin) -> None:
    broker, everyone = ConfigResource.broker(0), ConfigResource.broker()
    logger = ConfigResource(ConfigResourceType.BROKER_LOGGER, "0")
    admin.incremental_alter_configs({broker: {"log.cleaner.threads": "2"}})
    described = admin.describe_configs([broker, everyone, logger])
    assert described[broker]["log.cleaner.threads"].source is ConfigSource.DYNAMIC_BROKER_CONFIG
    assert described[broker]["broker.id"].is_read_only
    assert described[logger]
    assert broker in admin.list_config_resources([ConfigResourceType.BROKER])
    admin.incremental_alter_configs({broker: {"log.cleaner.threads": None}})


def test_groups_are_listed_described_and_emptied(cluster: LocalCluster, admin: Admin, topic: str) -> None:
    produce(cluster, topic, [b"a", b"b"])
    group = new_group()
    settings = {"bootstrap.servers": cluster.bootstrap_servers, "auto.offset.reset": "earliest"}
    with Consumer(settings, group_id=group, client_id="reader", group_instance_id="static") as consumer:
        consumer.subscribe([topic])
        take(consumer, 2)
        consumer.commit({TopicPartition(topic, 0): OffsetAndMetadata(2, "note")})
        listed = {each.group_id: each for each in admin.list_consumer_groups(states=["Stable"], types=["classic"])}
        assert (listed[group].protocol, listed[group].state, listed[group].type) == ("consumer", "Stable", "classic")
        described = admin.describe_consumer_groups([group])[group]
        (member,) = described.members
        assert (described.state, described.partition_assignor, described.coordinator.id) == ("Stable", "range", 0)
        assert (member.client_id, member.group_instance_id) == ("reader", "static")
        assert member.assignment == {TopicPartition(topic, 0), TopicPartition(topic, 1)}
        with pytest.raises(ApiError, match="NON_EMPTY_GROUP"):
            admin.delete_consumer_groups([group])
        with pytest.raises(ApiError, match="GROUP_SUBSCRIBED_TO_TOPIC"):
            admin.delete_consumer_group_offsets(group, [(topic, 0)])
        with pytest.raises(ApiError, match="UNKNOWN_MEMBER_ID"):
            admin.alter_consumer_group_offsets(group, {TopicPartition(topic, 0): 0})
        admin.remove_members_from_consumer_group(group, [MemberToRemove(group_instance_id="static")])
        assert admin.describe_consumer_groups([group])[group].state == "Empty"
    assert dict(admin.remove_members_from_consumer_group(group)) == {}
    offsets = admin.list_consumer_group_offsets([group], require_stable=True)[group]
    assert offsets[TopicPartition(topic, 0)] == OffsetAndMetadata(2, "note")
    admin.delete_consumer_groups([group])
    results = admin.describe_consumer_groups([group], raise_errors=False)
    assert "GROUP_ID_NOT_FOUND" in str(results.errors[group])


def test_offsets_by_time_and_deleted_records(cluster: LocalCluster, admin: Admin, topic: str) -> None:
    produce(cluster, topic, [b"a", b"b", b"c", b"d"], timestamp=1_000)
    here = TopicPartition(topic, 0)

    def offset(spec: OffsetSpec | int) -> int:
        return admin.list_offsets({here: spec}, isolation_level=IsolationLevel.READ_COMMITTED)[here].offset

    assert [offset(spec) for spec in (OffsetSpec.EARLIEST, OffsetSpec.LATEST, 1_002, 9_999)] == [0, 4, 2, -1]
    assert admin.list_offsets({here: OffsetSpec.MAX_TIMESTAMP})[here].timestamp == 1_003
    assert admin.delete_records({here: 3})[here].low_watermark == 3
    assert offset(OffsetSpec.EARLIEST) == 3
    assert admin.delete_records({here: HIGH_WATERMARK})[here].low_watermark == 4
    with pytest.raises(ApiError, match="OFFSET_OUT_OF_RANGE"):
        admin.delete_records({here: 99})


def test_a_replica_moves_between_directories(admin: Admin, topic: str) -> None:
    replica = TopicPartitionReplica(topic, 0, 0)
    before = admin.describe_replica_log_dirs([replica])[replica]
    described = admin.describe_log_dirs([0])[0]
    other = next(path for path in described if path != before.current_replica_log_dir)
    assert before.future_replica_log_dir is None
    assert described[str(before.current_replica_log_dir)].replica_infos[TopicPartition(topic, 0)].size == 0
    assert (described[other].total_bytes or 0) > (described[other].usable_bytes or 0) > 0
    admin.alter_replica_log_dirs({replica: other})
    deadline = time.monotonic() + 10
    while admin.describe_replica_log_dirs([replica])[replica].current_replica_log_dir != other:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert (Path(other) / f"{topic}-0").is_dir()
    with pytest.raises(ApiError, match="LOG_DIR_NOT_FOUND"):
        admin.alter_replica_log_dirs({replica: "/no/such/directory"})


def test_transactions_are_seen_and_ended(cluster: LocalCluster, admin: Admin, topic: str) -> None:
    here = TopicPartition(topic, 0)
    with Producer(bootstrap_servers=cluster.bootstrap_servers, transactional_id="pay") as producer:
        producer.init_transactions()
        producer.begin_transaction()
        producer.send(topic, b"x", partition=0).result(10)
        (listed,) = [each for each in admin.list_transactions(states=["Ongoing"]) if each.transactional_id == "pay"]
        described = admin.describe_transactions(["pay"])["pay"]
        assert (described.state, described.producer_id, described.topic_partitions) == (
            "Ongoing",
            listed.producer_id,
            frozenset({here}),
        )
        assert described.transaction_start_time_ms is not None
        (state,) = admin.describe_producers([here], broker_id=0)[here]
        assert (state.producer_id, state.current_transaction_start_offset) == (listed.producer_id, 0)
        admin.force_terminate_transaction("pay")
        with pytest.raises(ApiError):
            producer.commit_transaction()
    assert admin.describe_transactions(["pay"])["pay"].state in ("CompleteAbort", "Empty")
    fenced = admin.fence_producers(["pay"])["pay"]
    assert fenced.producer_id == listed.producer_id
    missing = admin.describe_transactions(["nobody"], raise_errors=False)
    assert "TRANSACTIONAL_ID_NOT_FOUND" in str(missing.errors["nobody"])


def test_the_cluster_tells_what_it_is_and_serves(cluster: LocalCluster, admin: Admin) -> None:
    described = admin.describe_cluster(include_authorized_operations=True)
    assert described.controller == described.nodes[0] == admin.list_nodes()[0]
    assert f"{described.nodes[0].host}:{described.nodes[0].port}" == cluster.bootstrap_servers
    assert AclOperation.CREATE in (described.authorized_operations or ())
    served = admin.describe_api_versions()[0]
    assert served["Produce"].low == 0
    assert "DescribeAcls" not in served
    assert admin.describe_features(broker_id=0).finalized_features_epoch is None


def test_refusals_say_what_to_do(admin: Admin) -> None:
    for refused in (admin.describe_acls, admin.describe_client_quotas, admin.describe_user_scram_credentials):
        with pytest.raises(UnsupportedVersion, match=r"does not support .*describe_api_versions\(\) tells"):
            refused()
    with pytest.raises(ApiError, match="This cluster has no KRaft quorum") as raised:
        admin.describe_metadata_quorum()
    assert raised.value.code is ErrorCode.UNSUPPORTED_VERSION


def test_the_asyncio_face_is_the_same(cluster: LocalCluster) -> None:
    async def scenario() -> None:
        async with aio.Admin(bootstrap_servers=cluster.bootstrap_servers) as admin:
            await admin.create_topics(["from-asyncio"])
            described, listed = await asyncio.gather(admin.describe_topics(["from-asyncio"]), admin.list_topics())
            assert described["from-asyncio"].topic_id == listed["from-asyncio"].topic_id

    asyncio.run(scenario())


def test_no_broker_and_a_closed_client_are_said_in_time() -> None:
    admin = Admin(bootstrap_servers="127.0.0.1:1")
    with pytest.raises(TimedOut, match="within"):
        admin.list_topics(timeout_s=0.3)
    with pytest.raises(TimedOut, match="within"):
        admin.create_topics(["t"], timeout_s=0.3)
    admin.close()
    admin.close()
    with pytest.raises(ClientClosed):
        admin.list_topics()
