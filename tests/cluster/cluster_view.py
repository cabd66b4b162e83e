"""What single brokers of a process cluster say: asked directly, by requests of our own, one connection each."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Message, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from moldau.net.channel import Channel
from moldau.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponsePartition,
)
from tests.cluster.cluster_process import ProcessCluster, wait_until

REQUEST_S_MAX = 20.0


def create_topic(cluster: ProcessCluster, topic: NewTopic) -> None:
    """Made anew if it is there: a second try of a test begins like the first. Everybody knows it when this returns."""
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers, "log_level": 0})
    if topic.topic in admin.list_topics(timeout=REQUEST_S_MAX).topics:
        delete_topic(cluster, topic.topic)
        wait_until(lambda: topic.topic not in admin.list_topics(timeout=REQUEST_S_MAX).topics, "it is gone")
    admin.create_topics([topic])[topic.topic].result(REQUEST_S_MAX)
    wait_until(
        lambda: all(len(partitions(cluster, each, topic.topic)) == topic.num_partitions for each in cluster.running),
        f"everybody knows {topic.topic}",
    )


def delete_topic(cluster: ProcessCluster, name: str) -> None:
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers, "log_level": 0})
    admin.delete_topics([name])[name].result(REQUEST_S_MAX)


def create(cluster: ProcessCluster, name: str, assignment: list[list[int]], **config: str) -> None:
    """A topic with its replicas where they are wanted."""
    settings = {key.replace("_", "."): value for key, value in config.items()}
    create_topic(cluster, NewTopic(name, len(assignment), replica_assignment=assignment, config=settings))


def ask(cluster: ProcessCluster, broker_id: int, request: Any, version: int | None = None) -> Any:
    """A broker's answer to any request."""

    async def send() -> Any:
        channel = Channel("127.0.0.1", cluster.ports[broker_id])
        try:
            async with asyncio.timeout(REQUEST_S_MAX):
                return await channel.request(request, version)
        finally:
            channel.close()

    return asyncio.run(send())


def metadata(cluster: ProcessCluster, broker_id: int, *topics: str) -> MetadataResponse:
    """What a broker says of the cluster and of some topics, none of which is created by asking."""
    asked = [MetadataRequestTopic(name=topic) for topic in topics]
    answer = ask(cluster, broker_id, MetadataRequest(topics=asked, allow_auto_topic_creation=False))
    assert isinstance(answer, MetadataResponse)
    return answer


def partitions(cluster: ProcessCluster, broker_id: int, topic: str) -> dict[int, MetadataResponsePartition]:
    (answer,) = metadata(cluster, broker_id, topic).topics
    return {partition.partition_index: partition for partition in answer.partitions}


def partition(cluster: ProcessCluster, broker_id: int, topic: str, index: int = 0) -> MetadataResponsePartition:
    return partitions(cluster, broker_id, topic)[index]


def wait_for_leader(cluster: ProcessCluster, topic: str, leader: int) -> None:
    """Until every broker that runs says so."""
    wait_until(
        lambda: all(partition(cluster, each, topic).leader_id == leader for each in cluster.running),
        f"{leader} leads {topic}-0 in everybody's eyes",
    )


def wait_for_isr(cluster: ProcessCluster, topic: str, isr: set[int], eyes: Iterable[int] | None = None) -> None:
    """Until every broker that runs says so, or some of them."""
    asked = list(cluster.running if eyes is None else eyes)
    wait_until(
        lambda: all(set(partition(cluster, each, topic).isr_nodes) == isr for each in asked),
        f"{isr} are in sync in {topic}-0 in the eyes of {asked}",
    )


def send(cluster: ProcessCluster, topic: str, *values: bytes, acks: str = "all", timeout_ms: int = 30_000) -> None:
    """Produce to partition 0; raises what comes of the first that fails."""
    settings = {"bootstrap.servers": cluster.bootstrap_servers, "acks": acks, "log_level": 0}
    producer = Producer({**settings, "enable.idempotence": False, "delivery.timeout.ms": timeout_ms})
    failures: list[KafkaError] = []

    def sent(error: KafkaError | None, _message: Message) -> None:
        if error is not None:
            failures.append(error)

    for value in values:
        producer.produce(topic, value, partition=0, on_delivery=sent)
    left = producer.flush(timeout_ms / 1000 + 10)
    assert not left, f"{left} records have no outcome"
    if failures:
        raise KafkaException(failures[0])
