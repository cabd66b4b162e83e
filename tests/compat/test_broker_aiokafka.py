"""aiokafka takes the broker for Kafka."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, NewTopic, RecordsToDelete
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.errors import InvalidPartitionsError, MessageSizeTooLargeError, OffsetOutOfRangeError

from tests.broker_process import BrokerProcess
from tests.compat.stored_batches import codecs_of, is_idempotent
from tests.compat.test_clients_and_records import CODECS, Row, aiokafka_consume, some_rows

pytestmark = pytest.mark.slow

PATIENCE_S = 30.0
TOPIC_ALREADY_EXISTS, INVALID_REPLICATION_FACTOR, INVALID_CONFIG = 36, 38, 40

Result = TypeVar("Result")


def produce(address: str, topic: str, rows: list[Row], **settings: object) -> list[int]:
    """The offsets that it was told; -1 for those without an acknowledgement."""

    async def run() -> list[int]:
        async with AIOKafkaProducer(bootstrap_servers=address, linger_ms=5, **settings) as producer:
            sent = [
                await producer.send(topic, value, key, 0, timestamp, list(headers))
                for timestamp, key, value, headers in rows
            ]
            answers = await asyncio.wait_for(asyncio.gather(*sent), PATIENCE_S)
            return [-1 if answer is None else answer.offset for answer in answers]

    return asyncio.run(run())


def administer(address: str, work: Callable[[AIOKafkaAdminClient], Awaitable[Result]]) -> Result:
    async def run() -> Result:
        admin = AIOKafkaAdminClient(bootstrap_servers=address)
        await admin.start()
        try:
            return await work(admin)
        finally:
            await admin.close()

    return asyncio.run(run())


@pytest.fixture
def created(address: str, topic: str) -> str:
    administer(address, lambda admin: admin.create_topics([NewTopic(topic, 1, 1)]))
    return topic


@pytest.mark.parametrize("codec", CODECS)
def test_records_of_every_codec_come_back(broker: BrokerProcess, created: str, codec: str) -> None:
    rows = some_rows()
    compression_type = None if codec == "none" else codec
    produce(broker.bootstrap_servers, created, rows, compression_type=compression_type)
    assert aiokafka_consume(broker.bootstrap_servers, created, len(rows)) == rows
    assert codec in codecs_of(broker, created)


@pytest.mark.parametrize("acks", [0, 1, "all"])
def test_records_with_every_kind_of_acks_come_back(address: str, created: str, acks: int | str) -> None:
    rows = some_rows()[:50]
    offsets = produce(address, created, rows, acks=acks)
    assert offsets == ([-1] * len(rows) if acks == 0 else list(range(len(rows))))
    assert aiokafka_consume(address, created, len(rows)) == rows


def test_an_idempotent_producer_writes_each_record_once(broker: BrokerProcess, created: str) -> None:
    rows = some_rows()
    offsets = produce(broker.bootstrap_servers, created, rows, enable_idempotence=True, max_batch_size=50_000)
    assert offsets == list(range(len(rows)))
    assert is_idempotent(broker, created)


def test_topics_are_created_described_and_deleted(address: str, topic: str) -> None:
    async def work(admin: AIOKafkaAdminClient) -> None:
        await admin.create_topics([NewTopic(topic, 3, 1, topic_configs={"retention.ms": "86400000"})])
        (described,) = await admin.describe_topics([topic])
        assert (described["topic"], described["error_code"], described["is_internal"]) == (topic, 0, False)
        partitions = [(one["partition"], one["leader"], one["isr"]) for one in described["partitions"]]
        assert sorted(partitions) == [(0, 0, [0]), (1, 0, [0]), (2, 0, [0])]
        await admin.create_partitions({topic: NewPartitions(5)})
        (described,) = await admin.describe_topics([topic])
        assert len(described["partitions"]) == 5
        await admin.delete_topics([topic])
        assert topic not in await admin.list_topics()

    administer(address, work)


def test_topics_are_reconfigured(address: str, created: str) -> None:
    async def value_of(admin: AIOKafkaAdminClient, name: str) -> str:
        (answer,) = await admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, created, {name: None})])
        ((_, _, _, _, ((_, value, *_),)),) = answer.resources
        return str(value)

    async def work(admin: AIOKafkaAdminClient) -> None:
        assert await value_of(admin, "segment.bytes") == "1073741824"
        change = ConfigResource(ConfigResourceType.TOPIC, created, {"segment.bytes": "2000000"})
        await admin.alter_configs([change])
        assert await value_of(admin, "segment.bytes") == "2000000"
        wrong = ConfigResource(ConfigResourceType.TOPIC, created, {"segment.bytes": "many"})
        (answer,) = await admin.alter_configs([wrong])
        assert answer.resources[0][0] == INVALID_CONFIG
        assert "segment.bytes" in answer.resources[0][1]

    administer(address, work)


def test_the_cluster_describes_itself(broker: BrokerProcess) -> None:
    async def work(admin: AIOKafkaAdminClient) -> dict[str, Any]:
        found: dict[str, Any] = await admin.describe_cluster()
        return found

    cluster = administer(broker.bootstrap_servers, work)
    assert cluster["controller_id"] == 0
    assert cluster["brokers"] == [{"node_id": 0, "host": "127.0.0.1", "port": broker.port, "rack": None}]


def test_records_are_deleted(address: str, created: str) -> None:
    partition = TopicPartition(created, 0)
    produce(address, created, some_rows())

    async def work(admin: AIOKafkaAdminClient) -> None:
        assert await admin.delete_records({partition: RecordsToDelete(before_offset=7)}) == {partition: 7}
        with pytest.raises(OffsetOutOfRangeError):
            await admin.delete_records({partition: RecordsToDelete(before_offset=9999)})

    administer(address, work)


def test_a_consumer_finds_its_way_by_offsets_and_time(address: str, created: str) -> None:
    rows = some_rows()
    partition = TopicPartition(created, 0)
    produce(address, created, rows)

    async def run() -> None:
        async with AIOKafkaConsumer(bootstrap_servers=address) as consumer:
            consumer.assign([partition])
            assert await consumer.beginning_offsets([partition]) == {partition: 0}
            assert await consumer.end_offsets([partition]) == {partition: len(rows)}
            found = (await consumer.offsets_for_times({partition: rows[60][0]}))[partition]
            assert (found.offset, found.timestamp) == (60, rows[60][0])
            consumer.seek(partition, 60)
            record = await asyncio.wait_for(consumer.getone(), PATIENCE_S)
            assert (record.offset, record.value) == (60, rows[60][2])
            await consumer.seek_to_end(partition)
            assert await consumer.position(partition) == len(rows)

    asyncio.run(run())


def test_what_is_wrong_is_said(address: str, created: str) -> None:
    async def work(admin: AIOKafkaAdminClient) -> None:
        wanted = [NewTopic(created, 1, 1), NewTopic(f"{created}-3", 1, 3)]
        answer = await admin.create_topics(wanted)
        codes = {name: code for name, code, *_ in answer.topic_errors}
        assert codes == {created: TOPIC_ALREADY_EXISTS, f"{created}-3": INVALID_REPLICATION_FACTOR}
        with pytest.raises(InvalidPartitionsError):
            await admin.create_partitions({created: NewPartitions(1)})

    administer(address, work)


def test_a_record_that_is_too_large_for_the_topic_is_refused(address: str, topic: str) -> None:
    small = NewTopic(topic, 1, 1, topic_configs={"max.message.bytes": "5000"})
    administer(address, lambda admin: admin.create_topics([small]))
    with pytest.raises(MessageSizeTooLargeError):
        produce(address, topic, [(1_700_000_000_000, None, bytes(9000), ())])
