"""Consumers read from the replica in their rack (KIP-392), and moving replicas is throttled (KIP-73)."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer

from moldau.base.error_codes import ErrorCode
from moldau.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic, PartitionData
from moldau.testing.local_cluster import LocalCluster
from tests.cluster.replicated_topic import BROKER_RESOURCE, TOPIC_RESOURCE, ReplicatedTopic, eventually, set_configs

pytestmark = pytest.mark.slow

RACKS = {0: "a", 1: "b", 2: "c"}
READ_ALL = 1 << 20


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    config = {"replica.selector.class": "org.apache.kafka.common.replica.RackAwareReplicaSelector"}
    racks = {broker_id: {"broker.rack": rack} for broker_id, rack in RACKS.items()}
    with LocalCluster(config, brokers=3, broker_config=racks) as started:
        yield started


@pytest.fixture
def topic(cluster: LocalCluster, request: pytest.FixtureRequest) -> ReplicatedTopic:
    name = request.node.name.replace("_", "-")
    cluster.create_topic(name, 1, replication_factor=3)
    topic = ReplicatedTopic(cluster, name)
    assert topic.produce(b"first", b"second") is ErrorCode.NONE
    return topic


def fetch(topic: ReplicatedTopic, broker_id: int, offset: int = 0, rack: str = "", version: int = 12) -> PartitionData:
    asked = FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=READ_ALL)
    request = FetchRequest(
        min_bytes=1, max_wait_ms=100, rack_id=rack, topics=[FetchTopic(topic=topic.name, partitions=[asked])]
    )
    data: PartitionData = topic.cluster.request(request, version, broker_id=broker_id).responses[0].partitions[0]
    return data


def test_a_consumer_is_sent_to_the_replica_in_its_rack(topic: ReplicatedTopic) -> None:
    near = topic.followers[0]
    answer = fetch(topic, topic.leader, rack=RACKS[near])
    assert answer.preferred_read_replica == near
    assert not answer.records
    assert answer.high_watermark == 2


def test_the_leader_serves_its_own_rack_and_those_without_one(topic: ReplicatedTopic) -> None:
    for rack in (RACKS[topic.leader], "", "elsewhere"):
        answer = fetch(topic, topic.leader, rack=rack)
        assert answer.preferred_read_replica == -1
        assert answer.records


def test_old_consumers_read_from_the_leader(topic: ReplicatedTopic) -> None:
    assert fetch(topic, topic.leader, version=10).records
    answer = fetch(topic, topic.followers[0], version=10)
    assert answer.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_a_follower_serves_what_is_committed(topic: ReplicatedTopic) -> None:
    near = topic.followers[0]
    eventually(lambda: topic.high_watermark(near) == 2)
    answer = fetch(topic, near, rack=RACKS[near])
    assert answer.records
    assert topic.log_bytes(topic.leader).startswith(bytes(answer.records))


def test_a_follower_refuses_what_it_does_not_have(topic: ReplicatedTopic) -> None:
    near = topic.followers[0]
    assert fetch(topic, near, offset=3).error_code == ErrorCode.OFFSET_OUT_OF_RANGE


def test_a_follower_hears_of_the_high_watermark_at_once(topic: ReplicatedTopic) -> None:
    eventually(lambda: all(topic.high_watermark(broker_id) == 2 for broker_id in range(3)))
    began = time.monotonic()
    topic.produce(b"third")
    eventually(lambda: any(topic.high_watermark(broker_id) == 3 for broker_id in topic.followers))
    assert time.monotonic() - began < 0.4, "it need not wait for the next fetch"


def test_a_real_consumer_reads_from_its_rack(topic: ReplicatedTopic) -> None:
    near = topic.followers[0]
    consumer = Consumer(
        {
            "bootstrap.servers": topic.cluster.bootstrap_servers,
            "group.id": topic.name,
            "client.rack": RACKS[near],
            "auto.offset.reset": "earliest",
        }
    )
    consumer.subscribe([topic.name])
    values: list[bytes | None] = []
    ends_at = time.monotonic() + 20
    while len(values) < 2 and time.monotonic() < ends_at:
        message = consumer.poll(0.2)
        if message is not None and message.error() is None:
            values.append(message.value())
    consumer.close()
    assert values == [b"first", b"second"]


@pytest.mark.parametrize("side", ["leader", "follower"])
def test_a_replica_that_catches_up_is_throttled(cluster: LocalCluster, side: str) -> None:
    name = f"throttled-by-{side}"
    cluster.create_topic(name, 1, replication_factor=3)
    topic = ReplicatedTopic(cluster, name)
    topic.produce(b"first")
    away = topic.followers[0]
    cluster.stop_broker(away)
    for _ in range(20):
        topic.produce(bytes(100_000))
    set_configs(cluster, TOPIC_RESOURCE, name, **{f"{side}_replication_throttled_replicas": "*"})
    set_configs(cluster, BROKER_RESOURCE, "", **{f"{side}_replication_throttled_rate": "400000"})
    cluster.start_broker(away)
    began = time.monotonic()
    time.sleep(1)
    assert topic.end_offset(away) < 21
    set_configs(cluster, BROKER_RESOURCE, "", **{f"{side}_replication_throttled_rate": "100000000"})
    eventually(lambda: topic.isr() == {0, 1, 2})
    assert time.monotonic() - began < 15
    topic.await_identical()
