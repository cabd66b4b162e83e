"""Reading without a group, against a broker: positions, seeks, pauses, questions, deserializers, wakeups, columns."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator

import pytest

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError, ConfigError
from moldau.clients.consumer.consumer import Consumer as AioConsumer
from moldau.clients.consumer.errors import (
    NoOffsetForPartition,
    OffsetOutOfRange,
    RecordDeserializationError,
    WakeUp,
)
from moldau.clients.consumer.plain import Consumer
from moldau.clients.errors import ClientClosed, IllegalState, TimedOut
from moldau.clients.records import OffsetAndMetadata, TopicPartition
from moldau.testing.local_cluster import LocalCluster
from tests.clients.records_to_consume import produce, take


@pytest.fixture
def partition(moldau_topic: str) -> TopicPartition:
    return TopicPartition(moldau_topic, 0)


@pytest.fixture
def consumer(moldau_bootstrap_servers: str, partition: TopicPartition) -> Iterator[Consumer]:
    with Consumer(bootstrap_servers=moldau_bootstrap_servers, auto_offset_reset="earliest") as consumer:
        consumer.assign([partition])
        yield consumer


def test_records_come_with_all_they_have(
    moldau_cluster: LocalCluster, consumer: Consumer, partition: TopicPartition
) -> None:
    produce(moldau_cluster, partition.topic, [b"a", b"b"])
    first, second = take(consumer, 2)
    assert (first.topic, first.partition, first.offset, first.timestamp) == (*partition, 0, 1_000)
    assert (first.key, first.value, first.headers, first.leader_epoch) == (b"0", b"a", (), 0)
    assert second.offset == 1
    assert consumer.position(partition) == 2
    assert consumer.current_lag(partition) == 0
    assert consumer.metrics()["records-consumed-total"] == 2


def test_no_more_than_max_poll_records_at_once(
    moldau_cluster: LocalCluster, moldau_bootstrap_servers: str, partition: TopicPartition
) -> None:
    produce(moldau_cluster, partition.topic, [b"v"] * 25)
    settings = {"bootstrap.servers": moldau_bootstrap_servers, "max.poll.records": 10}
    with Consumer(settings, auto_offset_reset="earliest") as consumer:
        consumer.assign([partition])
        sizes: list[int] = []
        while sum(sizes) < 25:
            if records := consumer.poll(5):
                sizes.append(len(records))
                assert consumer.position(partition) == sum(sizes)
    assert sizes == [10, 10, 5]


@pytest.mark.slow
def test_seeking_and_pausing(moldau_cluster: LocalCluster, consumer: Consumer, partition: TopicPartition) -> None:
    produce(moldau_cluster, partition.topic, [b"%d" % number for number in range(10)])
    assert len(take(consumer, 10)) == 10
    consumer.seek(partition, 7)
    assert [record.offset for record in take(consumer, 3)] == [7, 8, 9]
    consumer.seek_to_beginning()
    assert consumer.position(partition) == 0
    consumer.pause([partition])
    assert consumer.paused() == {partition}
    assert consumer.poll(0.2) == []
    consumer.resume([partition])
    assert take(consumer, 10)[0].offset == 0
    consumer.seek_to_end([partition])
    assert consumer.position(partition) == 10
    with pytest.raises(ValueError, match="-1"):
        consumer.seek(partition, -1)
    with pytest.raises(IllegalState, match="no current assignment"):
        consumer.seek(("other", 0), 1)


def test_questions_about_offsets(moldau_cluster: LocalCluster, consumer: Consumer, partition: TopicPartition) -> None:
    produce(moldau_cluster, partition.topic, [b"v"] * 3, timestamp=5_000)
    assert consumer.beginning_offsets([partition]) == {partition: 0}
    assert consumer.end_offsets([partition]) == {partition: 3}
    found = consumer.offsets_for_times({partition: 5_001})[partition]
    assert found == (1, 5_001, 0)
    assert consumer.offsets_for_times({partition: 9_000}) == {partition: None}
    assert [each.partition for each in consumer.partitions_for(partition.topic)] == [0]
    assert partition.topic in consumer.topics()
    with pytest.raises(ValueError, match="milliseconds"):
        consumer.offsets_for_times({partition: -1})


def test_without_a_policy_a_missing_or_impossible_position_is_an_error(
    moldau_cluster: LocalCluster, moldau_bootstrap_servers: str, partition: TopicPartition
) -> None:
    produce(moldau_cluster, partition.topic, [b"v"])
    with Consumer(bootstrap_servers=moldau_bootstrap_servers, auto_offset_reset="none") as consumer:
        consumer.assign([partition])
        with pytest.raises(NoOffsetForPartition, match=str(partition)):
            consumer.poll(5)
        consumer.seek(partition, 100)
        with pytest.raises(OffsetOutOfRange) as raised:
            consumer.poll(5)
        assert raised.value.offsets == {partition: 100}
        consumer.seek(partition, 0)
        assert len(take(consumer, 1)) == 1


def test_a_position_out_of_range_is_reset(
    moldau_cluster: LocalCluster, consumer: Consumer, partition: TopicPartition
) -> None:
    produce(moldau_cluster, partition.topic, [b"v"])
    consumer.seek(partition, 100)
    assert [record.offset for record in take(consumer, 1)] == [0]


@pytest.mark.slow
def test_records_are_deserialized_and_one_that_cannot_be_stops_until_it_is_passed(
    moldau_cluster: LocalCluster, moldau_bootstrap_servers: str, partition: TopicPartition
) -> None:
    produce(moldau_cluster, partition.topic, [b'{"a":1}', b"wrong", b"[]"])
    settings = {"bootstrap.servers": moldau_bootstrap_servers, "auto.offset.reset": "earliest"}
    java_string = "org.apache.kafka.common.serialization.StringDeserializer"
    with Consumer(settings, key_deserializer=java_string, value_deserializer=json.loads) as consumer:
        consumer.assign([partition])
        (record,) = take(consumer, 1)
        assert (record.key, record.value) == ("0", {"a": 1})
        assert consumer.position(partition) == 1
        for _ in range(2):
            with pytest.raises(RecordDeserializationError, match="seek past it") as raised:
                consumer.poll(5)
            assert (raised.value.partition, raised.value.offset) == (partition, 1)
        consumer.seek(partition, 2)
        assert take(consumer, 1)[0].value == []


def test_columns(moldau_cluster: LocalCluster, consumer: Consumer, partition: TopicPartition) -> None:
    produce(moldau_cluster, partition.topic, [b"%d" % number for number in range(10)])
    consumer.seek(partition, 4)
    (batch,) = consumer.poll_batches(5)
    assert (batch.topic, batch.partition) == partition
    assert batch.columns["offset"].to_pylist() == [4, 5, 6, 7, 8, 9]
    assert batch.columns["value"].to_pylist()[0] == b"4"
    assert consumer.position(partition) == 10
    assert consumer.poll_batches(0) == []


def test_records_and_columns_can_take_turns(
    moldau_cluster: LocalCluster, moldau_bootstrap_servers: str, partition: TopicPartition
) -> None:
    produce(moldau_cluster, partition.topic, [b"v"] * 10)
    settings = {"bootstrap.servers": moldau_bootstrap_servers, "max.poll.records": 3}
    with Consumer(settings, auto_offset_reset="earliest") as consumer:
        consumer.assign([partition])
        assert [record.offset for record in take(consumer, 3)] == [0, 1, 2]
        (batch,) = consumer.poll_batches(5)
        assert batch.columns["offset"].to_pylist() == list(range(3, 10))


def test_wakeup_ends_the_poll_that_waits_or_the_next_one(consumer: Consumer) -> None:
    threading.Timer(0.1, consumer.wakeup).start()
    started = time.monotonic()
    with pytest.raises(WakeUp):
        consumer.poll(30)
    assert time.monotonic() - started < 10
    consumer.wakeup()
    with pytest.raises(WakeUp):
        consumer.poll(0)
    assert consumer.poll(0) == []


def test_a_second_thread_is_refused(consumer: Consumer) -> None:
    polling = threading.Thread(target=consumer.poll, args=(1.0,))
    polling.start()
    time.sleep(0.2)
    with pytest.raises(IllegalState, match="KafkaConsumer is not safe for multi-threaded access"):
        consumer.poll(0)
    polling.join()
    assert consumer.poll(0) == []


def test_what_is_used_wrongly_is_said(moldau_bootstrap_servers: str, partition: TopicPartition) -> None:
    with Consumer(bootstrap_servers=moldau_bootstrap_servers) as consumer:
        with pytest.raises(IllegalState, match="not subscribed"):
            consumer.poll(0)
        for call in (lambda: consumer.subscribe([partition.topic]), consumer.commit, consumer.group_metadata):
            with pytest.raises(ApiError) as refused:
                call()
            assert refused.value.code is ErrorCode.INVALID_GROUP_ID
    with pytest.raises(ClientClosed):
        consumer.poll(0)
    consumer.close()
    with pytest.raises(ConfigError, match="max_poll_record "):
        Consumer(bootstrap_servers=moldau_bootstrap_servers, max_poll_record=1)
    with pytest.raises(ConfigError, match="classic"):
        Consumer(bootstrap_servers=moldau_bootstrap_servers, group_protocol="consumer")


def test_nobody_there_is_a_timeout_and_closing_is_quick() -> None:
    started = time.monotonic()
    with Consumer(bootstrap_servers="127.0.0.1:1", auto_offset_reset="earliest") as consumer:
        consumer.assign([("t", 0)])
        assert consumer.poll(0.3) == []
        with pytest.raises(TimedOut):
            consumer.end_offsets([("t", 0)], timeout_s=0.3)
        with pytest.raises(TimedOut, match="position of t-0"):
            consumer.position(("t", 0), timeout_s=0.3)
    assert time.monotonic() - started < 10


async def _read(servers: str, partition: TopicPartition) -> list[bytes]:
    async with AioConsumer(bootstrap_servers=servers, auto_offset_reset="earliest") as consumer:
        consumer.assign([partition])
        values = []
        async for record in consumer:
            values.append(record.value)
            if len(values) == 3:
                break
        assert await consumer.position(partition) == 3
    return values


def test_the_asyncio_face_reads_the_same(
    moldau_cluster: LocalCluster, moldau_bootstrap_servers: str, partition: TopicPartition
) -> None:
    import asyncio

    produce(moldau_cluster, partition.topic, [b"a", b"b", b"c"])
    assert asyncio.run(_read(moldau_bootstrap_servers, partition)) == [b"a", b"b", b"c"]


def test_commits_without_membership(
    moldau_cluster: LocalCluster, moldau_bootstrap_servers: str, partition: TopicPartition
) -> None:
    produce(moldau_cluster, partition.topic, [b"v"] * 5)
    settings = {"bootstrap.servers": moldau_bootstrap_servers, "group.id": "by-hand", "enable.auto.commit": False}
    with Consumer(settings) as consumer:
        consumer.assign([partition])
        assert consumer.committed([partition]) == {partition: None}
        consumer.commit({partition: OffsetAndMetadata(2, "note")})
        assert consumer.committed([partition])[partition] == OffsetAndMetadata(2, "note")
        told: list[object] = []
        consumer.commit_async({partition: 3}, lambda offsets, error: told.append((offsets, error)))
        consumer.commit()
        consumer.poll(0)
        assert told == [({partition: OffsetAndMetadata(3)}, None)]
    with Consumer(settings, auto_offset_reset="none") as consumer:
        consumer.assign([partition])
        assert consumer.position(partition) in (3, 5)
