"""librdkafka, through confluent-kafka, takes the broker for Kafka."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from confluent_kafka import (
    Consumer,
    ElectionType,
    IsolationLevel,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
    OffsetSpec,
    ResourceType,
)

from moldau.broker.handlers import all_registrations
from moldau.protocol.api import ApiKey
from tests.broker_process import BrokerProcess
from tests.compat.stored_batches import codecs_of, is_idempotent
from tests.compat.test_clients_and_records import CODECS, Row, confluent_consume, some_rows

PATIENCE_S = 30.0
# librdkafka uses lz4 only with brokers that have FindCoordinator, which comes with the coordinators.
STORED_AS = {} if ApiKey.FIND_COORDINATOR in all_registrations() else {"lz4": "none"}


def produce(address: str, topic: str, rows: list[Row], **settings: object) -> list[Message]:
    """Their delivery reports, which are all good."""
    reports: list[Message] = []
    named = {name.replace("_", "."): value for name, value in settings.items()}
    producer = Producer({"bootstrap.servers": address, "linger.ms": 5, **named})
    for timestamp, key, value, headers in rows:
        producer.produce(
            topic, value, key, 0, timestamp=timestamp, headers=list(headers), on_delivery=lambda _, m: reports.append(m)
        )
    assert producer.flush(PATIENCE_S) == 0
    assert [report.error() for report in reports if report.error()] == []
    return reports


def consumer_at(address: str, **settings: object) -> Consumer:
    """A consumer without a group: librdkafka wants the name of one, and does not use it."""
    named = {name.replace("_", "."): value for name, value in settings.items()}
    return Consumer({"bootstrap.servers": address, "group.id": "none", "enable.auto.commit": False, **named})


def result_of(futures: Mapping[Any, Any]) -> Any:
    """What the one future gives, or raises."""
    (future,) = futures.values()
    return future.result(PATIENCE_S)


@pytest.fixture
def admin(address: str) -> AdminClient:
    return AdminClient({"bootstrap.servers": address})


@pytest.fixture
def created(admin: AdminClient, topic: str) -> str:
    result_of(admin.create_topics([NewTopic(topic, 1)]))
    return topic


@pytest.mark.parametrize("codec", CODECS)
def test_records_of_every_codec_come_back(broker: BrokerProcess, created: str, codec: str) -> None:
    rows = some_rows()
    produce(broker.bootstrap_servers, created, rows, compression_type=codec)
    assert confluent_consume(broker.bootstrap_servers, created, len(rows)) == rows
    assert STORED_AS.get(codec, codec) in codecs_of(broker, created)


@pytest.mark.parametrize("acks", ["0", "1", "all"])
def test_records_with_every_kind_of_acks_come_back(address: str, created: str, acks: str) -> None:
    rows = some_rows()[:50]
    reports = produce(address, created, rows, acks=acks)
    if acks != "0":
        assert [report.offset() for report in reports] == list(range(len(rows)))
    assert confluent_consume(address, created, len(rows)) == rows


def test_an_idempotent_producer_writes_each_record_once(broker: BrokerProcess, created: str) -> None:
    rows = some_rows()
    reports = produce(broker.bootstrap_servers, created, rows, enable_idempotence=True, batch_size=2000)
    assert [report.offset() for report in reports] == list(range(len(rows)))
    assert is_idempotent(broker, created)


def test_topics_are_created_described_and_deleted(admin: AdminClient, topic: str) -> None:
    result_of(admin.create_topics([NewTopic(topic, 3, 1, config={"retention.ms": "86400000"})]))
    described = result_of(admin.describe_topics(TopicCollection([topic]), include_authorized_operations=True))
    assert (described.name, described.is_internal, len(described.partitions)) == (topic, False, 3)
    assert [(one.id, one.leader.id, [node.id for node in one.isr]) for one in described.partitions] == [
        (number, 0, [0]) for number in range(3)
    ]
    assert len(described.authorized_operations) == 8
    assert topic in admin.list_topics(timeout=PATIENCE_S).topics
    result_of(admin.create_partitions([NewPartitions(topic, 5)]))
    assert len(admin.list_topics(topic, timeout=PATIENCE_S).topics[topic].partitions) == 5
    result_of(admin.delete_topics([topic]))
    assert topic not in admin.list_topics(timeout=PATIENCE_S).topics


def test_validating_creates_nothing(admin: AdminClient, topic: str) -> None:
    result_of(admin.create_topics([NewTopic(topic, 3)], validate_only=True))
    assert topic not in admin.list_topics(timeout=PATIENCE_S).topics


def test_topics_are_reconfigured(admin: AdminClient, created: str) -> None:
    resource = ConfigResource(ResourceType.TOPIC, created)
    before = result_of(admin.describe_configs([resource]))
    assert (before["segment.bytes"].value, before["segment.bytes"].is_default) == ("1073741824", True)
    changes = [
        ConfigEntry("segment.bytes", "2000000", incremental_operation=AlterConfigOpType.SET),
        ConfigEntry("cleanup.policy", "compact", incremental_operation=AlterConfigOpType.APPEND),
    ]
    changed = ConfigResource(ResourceType.TOPIC, created, incremental_configs=changes)
    result_of(admin.incremental_alter_configs([changed]))
    after = result_of(admin.describe_configs([resource]))
    assert (after["segment.bytes"].value, after["segment.bytes"].is_default) == ("2000000", False)
    assert after["cleanup.policy"].value == "delete,compact"
    assert [synonym.name for synonym in after["segment.bytes"].synonyms.values()][-1] == "log.segment.bytes"


def test_configs_are_replaced_as_old_clients_do(admin: AdminClient, created: str) -> None:
    """AlterConfigs sets what it names and resets everything else."""
    for config in ({"retention.ms": "90000000"}, {"segment.ms": "80000000"}):
        with pytest.warns(DeprecationWarning, match="alter_configs"):
            result_of(admin.alter_configs([ConfigResource(ResourceType.TOPIC, created, config)]))
    after = result_of(admin.describe_configs([ConfigResource(ResourceType.TOPIC, created)]))
    assert after["segment.ms"].value == "80000000"
    assert after["retention.ms"].value == "-1"


def test_the_cluster_describes_itself(admin: AdminClient, broker: BrokerProcess) -> None:
    cluster = admin.describe_cluster().result(PATIENCE_S)
    assert cluster.controller.id == 0
    assert [(node.id, node.host, node.port) for node in cluster.nodes] == [(0, "127.0.0.1", broker.port)]
    assert len(cluster.cluster_id) == 22


def test_offsets_are_listed_and_records_deleted(admin: AdminClient, address: str, created: str) -> None:
    rows = some_rows()
    produce(address, created, rows)
    partition = TopicPartition(created, 0)

    def offset(spec: OffsetSpec) -> int:
        answer: int = result_of(admin.list_offsets({partition: spec})).offset
        return answer

    assert offset(OffsetSpec.earliest()) == 0
    assert offset(OffsetSpec.latest()) == len(rows)
    assert offset(OffsetSpec.max_timestamp()) == len(rows) - 1
    assert offset(OffsetSpec.for_timestamp(rows[100][0])) == 100
    latest = admin.list_offsets({partition: OffsetSpec.latest()}, isolation_level=IsolationLevel.READ_COMMITTED)
    assert result_of(latest).offset == len(rows)
    assert result_of(admin.delete_records([TopicPartition(created, 0, 7)])).low_watermark == 7
    assert offset(OffsetSpec.earliest()) == 7


def test_a_consumer_finds_its_way_by_offsets_and_time(address: str, created: str) -> None:
    rows = some_rows()
    produce(address, created, rows)
    consumer = consumer_at(address)
    assert consumer.get_watermark_offsets(TopicPartition(created, 0), PATIENCE_S) == (0, len(rows))
    (found,) = consumer.offsets_for_times([TopicPartition(created, 0, rows[60][0])], PATIENCE_S)
    assert found.offset == 60
    consumer.assign([found])
    message = consumer.poll(PATIENCE_S)
    assert message is not None
    assert (message.offset(), message.value(), message.leader_epoch()) == (60, rows[60][2], 0)
    consumer.seek(TopicPartition(created, 0, 3))
    message = consumer.poll(PATIENCE_S)
    assert message is not None
    assert message.offset() == 3
    consumer.close()


def test_the_end_of_a_partition_is_reported(address: str, created: str) -> None:
    produce(address, created, some_rows()[:3])
    consumer = consumer_at(address, enable_partition_eof=True)
    consumer.assign([TopicPartition(created, 0, 2)])
    last, end = consumer.poll(PATIENCE_S), consumer.poll(PATIENCE_S)
    assert last is not None
    assert end is not None
    assert (last.offset(), end.error().code(), end.offset()) == (2, KafkaError._PARTITION_EOF, 3)
    consumer.close()


def test_an_offset_beyond_the_end_starts_again_where_told(address: str, created: str) -> None:
    produce(address, created, some_rows()[:3])
    consumer = consumer_at(address, auto_offset_reset="earliest")
    consumer.assign([TopicPartition(created, 0, 1000)])
    message = consumer.poll(PATIENCE_S)
    assert message is not None
    assert message.offset() == 0
    consumer.close()


def test_electing_a_leader_that_leads_is_not_needed(admin: AdminClient, created: str) -> None:
    partition = TopicPartition(created, 0)
    outcome = admin.elect_leaders(ElectionType.PREFERRED, [partition]).result(PATIENCE_S)
    assert outcome[partition].code() == KafkaError.ELECTION_NOT_NEEDED


def refusal(futures: Mapping[Any, Any]) -> tuple[int, str]:
    with pytest.raises(KafkaException) as caught:
        result_of(futures)
    error = caught.value.args[0]
    return error.code(), error.str()


def test_what_is_wrong_is_said(admin: AdminClient, address: str, created: str) -> None:
    assert refusal(admin.create_topics([NewTopic(created, 1)]))[0] == KafkaError.TOPIC_ALREADY_EXISTS
    assert refusal(admin.create_topics([NewTopic("no/slash", 1)]))[0] == KafkaError.TOPIC_EXCEPTION
    code, text = refusal(admin.create_topics([NewTopic(f"{created}-3", 1, 3)]))
    assert (code, "3" in text) == (KafkaError.INVALID_REPLICATION_FACTOR, True)
    wrong = NewTopic(f"{created}-4", 1, config={"retention.ms": "soon"})
    code, text = refusal(admin.create_topics([wrong]))
    assert (code, "retention.ms" in text) == (KafkaError.INVALID_CONFIG, True)
    assert refusal(admin.delete_topics(["nowhere"]))[0] == KafkaError.UNKNOWN_TOPIC_OR_PART
    assert refusal(admin.create_partitions([NewPartitions(created, 1)]))[0] == KafkaError.INVALID_PARTITIONS
    assert refusal(admin.delete_records([TopicPartition(created, 0, 99)]))[0] == KafkaError.OFFSET_OUT_OF_RANGE


def test_records_are_kept_as_the_topic_says(broker: BrokerProcess, admin: AdminClient, topic: str) -> None:
    """With the time of the append, and with a codec of the topic's own."""
    config = {"message.timestamp.type": "LogAppendTime", "compression.type": "zstd"}
    result_of(admin.create_topics([NewTopic(topic, 1, config=config)]))
    rows = some_rows()
    produce(broker.bootstrap_servers, topic, rows, compression_type="gzip")
    read = confluent_consume(broker.bootstrap_servers, topic, len(rows))
    assert [row[1:] for row in read] == [row[1:] for row in rows]
    assert min(row[0] for row in read) > max(row[0] for row in rows)
    assert codecs_of(broker, topic) == {"zstd"}


@pytest.mark.parametrize(
    ("config", "code"),
    [
        ({"max.message.bytes": "2000"}, KafkaError.MSG_SIZE_TOO_LARGE),
        ({"message.timestamp.before.max.ms": "60000"}, KafkaError.INVALID_TIMESTAMP),
        ({"cleanup.policy": "compact"}, KafkaError.INVALID_RECORD),
    ],
)
def test_a_record_that_the_topic_does_not_take_is_refused(
    address: str, admin: AdminClient, topic: str, config: dict[str, str], code: int
) -> None:
    result_of(admin.create_topics([NewTopic(topic, 1, config=config)]))
    errors: list[KafkaError | None] = []
    producer = Producer({"bootstrap.servers": address})
    producer.produce(topic, bytes(3000), timestamp=1_700_000_000_000, on_delivery=lambda error, _: errors.append(error))
    assert producer.flush(PATIENCE_S) == 0
    assert [error and error.code() for error in errors] == [code]
