"""Transactions of kafka-python and aiokafka; what they write is read through librdkafka."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import closing

import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.errors import ProducerFenced
from aiokafka.structs import TopicPartition as AioTopicPartition
from confluent_kafka import Consumer, TopicPartition
from kafka import KafkaProducer

from moldau.testing.local_cluster import LocalCluster
from tests.compat.transactional_reading import committed_values

pytestmark = pytest.mark.slow

SETTINGS = {"transaction.state.log.num.partitions": "5", "offsets.topic.num.partitions": "5"}


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    with LocalCluster(SETTINGS) as cluster:
        yield cluster


def offset_of(cluster: LocalCluster, group: str, topic: str) -> int:
    consumer = Consumer({"bootstrap.servers": cluster.bootstrap_servers, "group.id": group})
    try:
        offset: int = consumer.committed([TopicPartition(topic, 0)], 30)[0].offset
        return offset
    finally:
        consumer.close()


def test_kafka_python_commits_and_aborts(cluster: LocalCluster) -> None:
    cluster.create_topic("kafka-python", 1)
    settings = {"bootstrap_servers": cluster.bootstrap_servers, "transactional_id": "kafka-python"}
    with closing(KafkaProducer(**settings)) as producer:
        producer.init_transactions()
        for number in range(4):
            producer.begin_transaction()
            producer.send("kafka-python", str(number).encode(), partition=0)
            if number % 2:
                producer.abort_transaction()
            else:
                producer.commit_transaction()
    assert committed_values(cluster.bootstrap_servers, "kafka-python", expected=2) == [b"0", b"2"]


def test_aiokafka_commits_with_offsets_and_is_fenced(cluster: LocalCluster) -> None:
    cluster.create_topic("aiokafka", 1)

    async def use() -> None:
        async with AIOKafkaProducer(
            bootstrap_servers=cluster.bootstrap_servers, transactional_id="aiokafka"
        ) as producer:
            for number in range(3):
                async with producer.transaction():
                    await producer.send_and_wait("aiokafka", str(number).encode(), partition=0)
                    offsets = {AioTopicPartition("aiokafka", 0): number + 10}
                    await producer.send_offsets_to_transaction(offsets, "aiokafka-group")
            await producer.begin_transaction()
            await producer.send_and_wait("aiokafka", b"lost", partition=0)
            async with (
                AIOKafkaProducer(bootstrap_servers=cluster.bootstrap_servers, transactional_id="aiokafka") as other,
                other.transaction(),
            ):
                await other.send_and_wait("aiokafka", b"other", partition=0)
            with pytest.raises(ProducerFenced):
                await producer.commit_transaction()

    asyncio.run(use())
    assert committed_values(cluster.bootstrap_servers, "aiokafka", expected=4) == [b"0", b"1", b"2", b"other"]
    assert offset_of(cluster, "aiokafka-group", "aiokafka") == 12
