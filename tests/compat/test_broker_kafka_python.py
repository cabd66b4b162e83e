"""kafka-python takes the broker for Kafka."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any
from uuid import UUID

import pytest
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import ConfigResource, OffsetSpec
from kafka.errors import (
    ElectionNotNeededError,
    InvalidPartitionsError,
    InvalidReplicationFactorError,
    MessageSizeTooLargeError,
    NoError,
    OffsetOutOfRangeError,
    TopicAlreadyExistsError,
    UnknownTopicOrPartitionError,
    UnsupportedVersionError,
)
from kafka.structs import TopicPartitionReplica

from tests.broker_process import BrokerProcess
from tests.compat.stored_batches import codecs_of, is_idempotent
from tests.compat.test_clients_and_records import CODECS, Row, kafka_python_consume, some_rows

pytestmark = pytest.mark.slow

PATIENCE_S = 30.0
PREFERRED = 0


def sendable_rows() -> list[Row]:
    """It cannot send a header whose value is null."""
    return [(*row[:3], tuple(pair for pair in row[3] if pair[1] is not None)) for row in some_rows()]


def produce(address: str, topic: str, rows: list[Row], **settings: object) -> list[int]:
    """The offsets that it was told."""
    with closing(KafkaProducer(bootstrap_servers=address, linger_ms=5, **settings)) as producer:
        sent = [
            producer.send(topic, value, key, list(headers), 0, timestamp) for timestamp, key, value, headers in rows
        ]
        return [future.get(PATIENCE_S).offset for future in sent]


@pytest.fixture(scope="module")
def admin(address: str) -> Iterator[KafkaAdminClient]:
    client = KafkaAdminClient(bootstrap_servers=address)
    yield client
    client.close()


@pytest.fixture
def created(admin: KafkaAdminClient, topic: str) -> str:
    admin.create_topics({topic: {"num_partitions": 1}})
    return topic


@pytest.fixture
def filled(created: str, address: str) -> str:
    """A topic with the rows in it."""
    produce(address, created, sendable_rows())
    return created


@pytest.mark.parametrize("codec", CODECS)
def test_records_of_every_codec_come_back(broker: BrokerProcess, created: str, codec: str) -> None:
    rows = sendable_rows()
    compression_type = None if codec == "none" else codec
    produce(broker.bootstrap_servers, created, rows, compression_type=compression_type)
    assert kafka_python_consume(broker.bootstrap_servers, created, len(rows)) == rows
    assert codec in codecs_of(broker, created)  # what does not get smaller is sent as it is


@pytest.mark.parametrize("acks", [0, 1, "all"])
def test_records_with_every_kind_of_acks_come_back(address: str, created: str, acks: int | str) -> None:
    rows = sendable_rows()[:50]
    offsets = produce(address, created, rows, acks=acks, enable_idempotence=False)
    if acks != 0:
        assert offsets == list(range(len(rows)))
    assert kafka_python_consume(address, created, len(rows)) == rows


def test_an_idempotent_producer_writes_each_record_once(broker: BrokerProcess, created: str) -> None:
    rows = sendable_rows()
    offsets = produce(broker.bootstrap_servers, created, rows, enable_idempotence=True, batch_size=2000)
    assert offsets == list(range(len(rows)))
    assert is_idempotent(broker, created)


@pytest.mark.parametrize("codec", ["none", "gzip", "lz4"])
@pytest.mark.parametrize("version", [(0, 8, 2), (0, 9), (0, 10, 0), (0, 11), (2, 0), (2, 8)])
def test_what_it_writes_as_an_older_client_is_read_by_that_and_by_a_new_one(
    address: str, created: str, version: tuple[int, ...], codec: str
) -> None:
    """Before 0.11 that is another format, and the broker converts it both ways."""
    rows: list[Row] = [(0, key, value, ()) for _, key, value, _ in some_rows()]
    settings = {"api_version": version, "compression_type": None if codec == "none" else codec}
    produce(address, created, rows, enable_idempotence=False, **settings)
    for reader in ({"api_version": version}, {}):
        with closing(KafkaConsumer(bootstrap_servers=address, **reader)) as consumer:
            consumer.assign([TopicPartition(created, 0)])
            consumer.seek(TopicPartition(created, 0), 0)
            records = [next(consumer) for _ in rows]
        assert [(record.key, record.value) for record in records] == [row[1:3] for row in rows]
        assert [record.offset for record in records] == list(range(len(rows)))


def test_topics_are_created_described_and_deleted(admin: KafkaAdminClient, topic: str) -> None:
    answer = admin.create_topics({topic: {"num_partitions": 3, "configs": {"retention.ms": "86400000"}}})
    assert answer["topics"][0]["configs"]["retention.ms"]["value"] == "86400000"
    (described,) = admin.describe_topics([topic])
    assert (described["name"], described["is_internal"]) == (topic, False)
    partitions = [(one["partition_index"], one["leader_id"], one["isr_nodes"]) for one in described["partitions"]]
    assert partitions == [(0, 0, [0]), (1, 0, [0]), (2, 0, [0])]
    admin.create_partitions({topic: 5})
    (paged,) = admin.describe_topic_partitions([topic], response_partition_limit=4)["topics"]
    assert [one["partition_index"] for one in paged["partitions"]] == [0, 1, 2, 3]
    (by_id,) = admin.describe_topics([UUID(described["topic_id"])])
    assert (by_id["name"], len(by_id["partitions"])) == (topic, 5)
    admin.delete_topics([UUID(described["topic_id"])])
    assert topic not in admin.list_topics()


def test_topics_are_reconfigured(admin: KafkaAdminClient, created: str) -> None:
    def overrides() -> dict[str, str]:
        answer = admin.describe_configs([ConfigResource("TOPIC", created)])["topic"][created]
        return {name: entry["value"] for name, entry in answer.items()}

    changes: dict[str, Any] = {"segment.bytes": "2000000", "cleanup.policy": ("APPEND", "compact")}
    assert admin.alter_configs([ConfigResource("TOPIC", created, changes)])["topic"] == {created: "OK"}
    before = overrides()
    assert (before["segment.bytes"], before["cleanup.policy"]) == ("2000000", "delete,compact")
    admin.reset_configs([ConfigResource("TOPIC", created, {"segment.bytes": None})])
    assert "segment.bytes" not in overrides()
    wrong = admin.alter_configs([ConfigResource("TOPIC", created, {"segment.bytes": "many"})])
    assert "segment.bytes" in wrong["topic"][created]


def test_brokers_are_reconfigured(admin: KafkaAdminClient, address: str, created: str) -> None:
    """A new limit holds at once, and no longer when it is gone."""
    record: list[Row] = [(1_700_000_000_000, b"key", bytes(3000), ())]
    resource = ConfigResource("BROKER", "0", {"message.max.bytes": "2000"})
    admin.alter_configs([resource])
    try:
        entry = admin.describe_configs([ConfigResource("BROKER", "0")])["broker"]["0"]["message.max.bytes"]
        assert (entry["value"], entry["config_source"]) == ("2000", "DYNAMIC_BROKER_CONFIG")
        with pytest.raises(MessageSizeTooLargeError):
            produce(address, created, record)
    finally:
        admin.reset_configs([resource])
    assert produce(address, created, record) == [0]


def test_the_cluster_describes_itself(admin: KafkaAdminClient, broker: BrokerProcess) -> None:
    cluster = admin.describe_cluster()
    assert cluster["controller_id"] == 0
    (node,) = cluster["brokers"]
    assert (node["broker_id"], node["host"], node["port"]) == (0, "127.0.0.1", broker.port)
    assert str(admin.get_broker_version_data(0)) == "<BrokerVersionData 4.3>"
    assert admin.describe_features() == {}
    with pytest.raises(UnsupportedVersionError, match="no KRaft quorum"):
        admin.describe_metadata_quorum()


def test_offsets_are_listed_and_records_deleted(admin: KafkaAdminClient, filled: str) -> None:
    partition, count = TopicPartition(filled, 0), len(some_rows())

    def offset(spec: OffsetSpec) -> int:
        answer: int = admin.list_partition_offsets({partition: spec})[partition].offset
        return answer

    assert offset(OffsetSpec.EARLIEST) == offset(OffsetSpec.EARLIEST_LOCAL) == 0
    assert offset(OffsetSpec.LATEST) == count
    assert offset(OffsetSpec.MAX_TIMESTAMP) == count - 1
    assert admin.delete_records({partition: 7})[partition]["low_watermark"] == 7
    assert offset(OffsetSpec.EARLIEST) == 7
    with pytest.raises(OffsetOutOfRangeError):
        admin.delete_records({partition: count + 1})


def test_a_consumer_finds_its_way_by_offsets_and_time(address: str, filled: str) -> None:
    rows = sendable_rows()
    partition = TopicPartition(filled, 0)
    with closing(KafkaConsumer(bootstrap_servers=address)) as consumer:
        assert consumer.partitions_for_topic(filled) == {0}
        consumer.assign([partition])
        assert consumer.beginning_offsets([partition]) == {partition: 0}
        assert consumer.end_offsets([partition]) == {partition: len(rows)}
        found = consumer.offsets_for_times({partition: rows[60][0]})[partition]
        assert (found.offset, found.timestamp) == (60, rows[60][0])
        consumer.seek(partition, 60)
        record = next(consumer)
        assert (record.offset, record.value, record.leader_epoch) == (60, rows[60][2], 0)
        consumer.seek_to_end(partition)
        assert consumer.position(partition) == len(rows)


def test_replicas_are_described_and_moved(admin: KafkaAdminClient, broker: BrokerProcess, filled: str) -> None:
    def directory() -> str:
        (answer,) = admin.describe_log_dirs([filled])
        (found,) = [one["log_dir"] for one in answer["log_dirs"] for topic in one["topics"] if topic["name"] == filled]
        return str(found)

    here, there = sorted(map(str, broker.data.parent.glob("*data")), key=lambda path: path != directory())
    replica = TopicPartitionReplica(filled, 0, 0)
    assert admin.alter_replica_log_dirs({replica: there}) == {replica: NoError}
    rows = sendable_rows()
    assert kafka_python_consume(broker.bootstrap_servers, filled, len(rows)) == rows
    assert (here, directory()) != (there, here)


def test_producers_are_described(admin: KafkaAdminClient, address: str, created: str) -> None:
    produce(address, created, sendable_rows(), enable_idempotence=True)
    (state,) = admin.describe_producers([TopicPartition(created, 0)]).values()
    (producer,) = state.active_producers
    assert (producer.producer_epoch, producer.last_sequence) == (0, len(some_rows()) - 1)


def test_leaders_and_replicas_stay_where_there_is_one_broker(admin: KafkaAdminClient, created: str) -> None:
    partition = TopicPartition(created, 0)
    outcome = admin.elect_leaders(PREFERRED, {created: [0]}).replica_election_results[0].partition_result[0]
    assert outcome.error_code == ElectionNotNeededError.errno
    assert admin.alter_partition_reassignments({partition: [0]}) == {partition: None}
    assert admin.list_partition_reassignments() == {}


def test_what_is_wrong_is_said(admin: KafkaAdminClient, created: str) -> None:
    with pytest.raises(TopicAlreadyExistsError):
        admin.create_topics([created])
    with pytest.raises(InvalidReplicationFactorError):
        admin.create_topics({f"{created}-3": {"replication_factor": 3}})
    with pytest.raises(UnknownTopicOrPartitionError):
        admin.delete_topics(["nowhere"])
    with pytest.raises(InvalidPartitionsError):
        admin.create_partitions({created: 1})
