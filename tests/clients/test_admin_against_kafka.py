"""The admin client with Apache Kafka 3.9.1 on ZooKeeper and 4.3.0 on KRaft, which serve what our broker refuses."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest

from bench.kafka_server import KafkaServer, Quorum
from moldau import Admin, Consumer, Producer, TopicPartition
from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError, UnsupportedVersion
from moldau.clients.admin import (
    AccessControlEntry,
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    ConfigResource,
    ConfigResourceType,
    ConfigSource,
    FeatureUpdate,
    NewTopic,
    OffsetSpec,
    PatternType,
    QuotaEntity,
    QuotaFilter,
    ResourcePattern,
    ResourceType,
    ScramMechanism,
    TopicPartitionReplica,
    UpgradeType,
    UserScramCredentialDeletion,
    UserScramCredentialUpsertion,
)
from tests.compat.jvm_kafka import jvm_kafka
from tests.java_tools import require_java

pytestmark = [pytest.mark.java, pytest.mark.slow]

ACCESS = {"allow.everyone.if.no.acl.found": "true", "super.users": "User:ANONYMOUS"}


class Kafka(NamedTuple):
    version: str
    bootstrap_servers: str


@pytest.fixture(scope="module", params=["3.9.1", "4.3.0"])
def kafka(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kafka]:
    require_java()
    if request.param == "3.9.1":
        settings = {**ACCESS, "authorizer.class.name": "kafka.security.authorizer.AclAuthorizer"}
        keywords: dict[str, Any] = {name.replace(".", "_"): value for name, value in settings.items()}
        with jvm_kafka(tmp_path_factory.mktemp("kafka"), **keywords) as old:
            yield Kafka(request.param, old.bootstrap)
        return
    settings = {**ACCESS, "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer"}
    with KafkaServer(quorum=Quorum(1, {**settings, "group.initial.rebalance.delay.ms": 0})) as new:
        yield Kafka(request.param, new.bootstrap)


@pytest.fixture
def admin(kafka: Kafka) -> Iterator[Admin]:
    with Admin(bootstrap_servers=kafka.bootstrap_servers) as admin:
        yield admin


def wait_until(condition: Callable[[], bool]) -> None:
    """KRaft answers when the controller knows; its brokers know a moment later."""
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.05)


def test_access_control_lists(admin: Admin) -> None:
    reading = AclBinding(
        ResourcePattern(ResourceType.TOPIC, "acl-", PatternType.PREFIXED),
        AccessControlEntry("User:alice", AclOperation.READ),
    )
    denied = AclBinding(
        ResourcePattern(ResourceType.GROUP, "acl-group"),
        AccessControlEntry("User:bob", AclOperation.ALL, AclPermissionType.DENY, "10.0.0.1"),
    )
    admin.create_acls([reading, denied])
    wait_until(lambda: set(admin.describe_acls()) == {reading, denied})
    assert admin.describe_acls(AclBindingFilter(principal="User:alice")) == [reading]
    of_topics = AclBindingFilter(ResourceType.TOPIC)
    assert admin.delete_acls([of_topics])[of_topics] == [reading]
    admin.delete_acls([AclBindingFilter()])
    wait_until(lambda: admin.describe_acls() == [])
    broken = AclBinding(reading.pattern, AccessControlEntry("alice", AclOperation.READ))
    assert set(admin.create_acls([broken], raise_errors=False).errors) == {broken}


def test_quotas(admin: Admin) -> None:
    alice, everyone = QuotaEntity.of(user="alice"), QuotaEntity.of(user=None, client_id=None)
    admin.alter_client_quotas({alice: {"producer_byte_rate": 1000.0}, everyone: {"consumer_byte_rate": 5.0}})
    expected = {alice: {"producer_byte_rate": 1000.0}, everyone: {"consumer_byte_rate": 5.0}}
    wait_until(lambda: admin.describe_client_quotas() == expected)
    assert set(admin.describe_client_quotas([QuotaFilter("user", "alice")])) == {alice}
    assert set(admin.describe_client_quotas([QuotaFilter("user", any_name=True)], strict=True)) == {alice}
    assert set(admin.describe_client_quotas([QuotaFilter("user")])) == {everyone}
    with pytest.raises(ApiError, match="INVALID_REQUEST"):
        admin.alter_client_quotas({alice: {"no_such_quota": 1.0}})
    admin.alter_client_quotas({alice: {"producer_byte_rate": None}, everyone: {"consumer_byte_rate": None}})
    wait_until(lambda: admin.describe_client_quotas() == {})


def test_scram_credentials(admin: Admin) -> None:
    both = [
        UserScramCredentialUpsertion("carol", "secret"),
        UserScramCredentialUpsertion("carol", "secret", ScramMechanism.SCRAM_SHA_256, 8192),
    ]
    for one in both:  # KRaft takes a user once in a request
        admin.alter_user_scram_credentials([one])

    def found() -> dict[ScramMechanism, int]:
        described = admin.describe_user_scram_credentials().get("carol", ())
        return {each.mechanism: each.iterations for each in described}

    wait_until(lambda: found() == {ScramMechanism.SCRAM_SHA_512: 4096, ScramMechanism.SCRAM_SHA_256: 8192})
    results = admin.describe_user_scram_credentials(["nobody"], raise_errors=False)
    assert "RESOURCE_NOT_FOUND" in str(results.errors["nobody"])
    for one in both:
        admin.alter_user_scram_credentials([UserScramCredentialDeletion("carol", one.mechanism)])
    wait_until(lambda: found() == {})


def test_tokens_are_refused_by_an_open_connection(admin: Admin) -> None:
    with pytest.raises(ApiError) as raised:
        admin.create_delegation_token()
    refusals = (ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED, ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED)
    assert raised.value.code in refusals


def test_topics_records_and_settings(kafka: Kafka, admin: Admin) -> None:
    created = admin.create_topics([NewTopic("orders", 2, 1, configs={"retention.ms": "60000"}), "defaults"])
    assert created["orders"].num_partitions == 2
    wait_until(lambda: {"orders", "defaults"} <= set(admin.list_topics()))
    admin.create_partitions({"orders": 3})
    wait_until(lambda: len(admin.describe_topics(["orders"])["orders"].partitions) == 3)
    described = admin.describe_topics(
        ["orders"], partition_size_limit_per_response=1, include_authorized_operations=True
    )
    assert AclOperation.WRITE in (described["orders"].authorized_operations or ())
    by_id = admin.describe_topics(topic_ids=[created["orders"].topic_id])
    assert by_id[created["orders"].topic_id].name == "orders"
    here = TopicPartition("orders", 0)
    with Producer(bootstrap_servers=kafka.bootstrap_servers) as producer:
        for number in range(4):
            producer.send("orders", b"%d" % number, partition=0, timestamp=1_000 + number)
    ends = {spec: admin.list_offsets({here: spec})[here].offset for spec in (OffsetSpec.LATEST, 1_002)}
    assert ends == {OffsetSpec.LATEST: 4, 1_002: 2}
    assert admin.list_offsets({here: OffsetSpec.MAX_TIMESTAMP})[here].timestamp == 1_003
    assert admin.delete_records({here: 2})[here].low_watermark == 2
    resource = ConfigResource.topic("orders")
    admin.incremental_alter_configs({resource: {"segment.ms": "5000"}})
    wait_until(lambda: admin.describe_configs([resource])[resource]["segment.ms"].value == "5000")
    entries = admin.describe_configs([resource], include_synonyms=True, include_documentation=True)[resource]
    assert entries["retention.ms"].source is ConfigSource.DYNAMIC_TOPIC_CONFIG
    assert entries["retention.ms"].documentation
    replica = TopicPartitionReplica("orders", 0, admin.list_nodes()[0].id)
    assert admin.describe_replica_log_dirs([replica])[replica].current_replica_log_dir
    assert admin.elect_leaders(partitions=[here])[here] is False
    assert admin.list_partition_reassignments() == {}
    admin.delete_topics(["defaults"])
    admin.delete_topics(topic_ids=[created["orders"].topic_id])
    wait_until(lambda: not {"orders", "defaults"} & set(admin.list_topics()))


def test_groups_of_both_protocols(kafka: Kafka, admin: Admin) -> None:
    admin.create_topics([NewTopic("grouped", 2, 1)])
    settings = {"bootstrap.servers": kafka.bootstrap_servers, "auto.offset.reset": "earliest"}
    both = frozenset({TopicPartition("grouped", 0), TopicPartition("grouped", 1)})
    with Consumer(settings, group_id="classic-group", client_id="reader") as consumer:
        consumer.subscribe(["grouped"])
        wait_until(lambda: bool(consumer.poll(0.1)) or consumer.assignment() == both)
        described = admin.describe_consumer_groups(["classic-group"])["classic-group"]
        assert (described.type, described.state, described.members[0].assignment) == ("classic", "Stable", both)
        consumer.commit(dict.fromkeys(both, 0))
        assert [each.group_id for each in admin.list_groups(states=["Stable"])] == ["classic-group"]
    wait_until(lambda: admin.describe_consumer_groups(["classic-group"])["classic-group"].state == "Empty")
    assert admin.list_consumer_group_offsets(["classic-group"])["classic-group"][TopicPartition("grouped", 0)]
    admin.delete_consumer_group_offsets("classic-group", [("grouped", 0)])
    if kafka.version == "4.3.0":
        describe_new_group(admin, settings, both)
    else:
        admin.delete_consumer_groups(["classic-group"])
        assert "GROUP_ID_NOT_FOUND" in str(admin.delete_consumer_groups(["x"], raise_errors=False).errors["x"])


def describe_new_group(admin: Admin, settings: dict[str, str], both: frozenset[TopicPartition]) -> None:
    """KIP-848, spoken by librdkafka."""
    import confluent_kafka

    consumer = confluent_kafka.Consumer({**settings, "group.id": "new-group", "group.protocol": "consumer"})
    try:
        consumer.subscribe(["grouped"])
        wait_until(lambda: consumer.poll(0.1) is None and len(consumer.assignment()) == 2)
        wait_until(lambda: admin.describe_consumer_groups(["new-group"])["new-group"].state == "Stable")
        described = admin.describe_consumer_groups(["new-group"])["new-group"]
        (member,) = described.members
        assert (described.type, member.assignment, member.subscribed_topics) == ("consumer", both, ("grouped",))
        assert [each.group_id for each in admin.list_groups(types=["consumer"])] == ["new-group"]
    finally:
        consumer.close()


def test_transactions(kafka: Kafka, admin: Admin) -> None:
    admin.create_topics([NewTopic("paid", 1, 1)])
    here = TopicPartition("paid", 0)
    with Producer(bootstrap_servers=kafka.bootstrap_servers, transactional_id="pay") as producer:
        producer.init_transactions()
        producer.begin_transaction()
        producer.send("paid", b"x").result(20)
        assert [each.transactional_id for each in admin.list_transactions(states=["Ongoing"])] == ["pay"]
        described = admin.describe_transactions(["pay"])["pay"]
        assert described.topic_partitions == frozenset({here})
        (state,) = admin.describe_producers([here])[here]
        assert state.current_transaction_start_offset == 0
        admin.force_terminate_transaction("pay")
    assert admin.describe_transactions(["pay"])["pay"].state in ("CompleteAbort", "Empty")


def test_the_cluster_its_features_and_its_quorum(kafka: Kafka, admin: Admin) -> None:
    cluster = admin.describe_cluster(include_authorized_operations=True)
    assert cluster.controller == cluster.nodes[0]
    assert AclOperation.CREATE in (cluster.authorized_operations or ())
    assert admin.describe_api_versions()[cluster.nodes[0].id]["Metadata"].high >= 12
    if kafka.version == "3.9.1":
        with pytest.raises(UnsupportedVersion, match="does not support DescribeQuorum"):
            admin.describe_metadata_quorum()
        return
    quorum = admin.describe_metadata_quorum()
    assert (quorum.leader_id, [voter.replica_id for voter in quorum.voters]) == (1, [1])
    features = admin.describe_features()
    level = features.finalized_features["metadata.version"].max_version_level
    downgrade = FeatureUpdate(level - 1, UpgradeType.SAFE_DOWNGRADE)
    results = admin.update_features({"metadata.version": downgrade}, validate_only=True, raise_errors=False)
    assert list(results) == ["metadata.version"]
    metrics = ConfigResource(ConfigResourceType.CLIENT_METRICS, "all-producers")
    admin.incremental_alter_configs({metrics: {"metrics": "org.apache.kafka.producer.", "interval.ms": "60000"}})
    wait_until(lambda: admin.list_client_metrics_resources() == ["all-producers"])
    assert admin.describe_configs([metrics])[metrics]["interval.ms"].value == "60000"
