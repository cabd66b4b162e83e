"""A mirror between clusters: book 2, §7.8 and its statement 50, and what a mirror keeps."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from moldau import Admin, Consumer, Producer, TopicPartition
from moldau.pipeline.jobs.mirror.clusters import Clusters
from moldau.pipeline.jobs.mirror.rounds import Mirror
from moldau.pipeline.jobs.mirror.settings import MirrorSettings, mirror_settings
from moldau.testing.local_cluster import LocalCluster
from tests.spark.jobs.runs import Said, records_of

pytestmark = [pytest.mark.slow, pytest.mark.java]

SETTINGS = {"offsets.topic.num.partitions": "1", "transaction.state.log.num.partitions": "1"}


@pytest.fixture(scope="module")
def chain() -> Iterator[list[LocalCluster]]:
    with LocalCluster(SETTINGS) as k1, LocalCluster(SETTINGS) as k2, LocalCluster(SETTINGS) as k3:
        yield [k1, k2, k3]


def between(source: LocalCluster, target: LocalCluster, name: str, pattern: str) -> MirrorSettings:
    return mirror_settings(
        {
            "bootstrap.servers": source.bootstrap_servers,
            "client.id": name,
            "group.id": f"{name}.consumer",
            "partition.assignment.strategy": "org.apache.kafka.clients.consumer.RoundRobinAssignor",
            "auto.offset.reset": "earliest",
        },
        {"bootstrap.servers": target.bootstrap_servers, "client.id": f"{name}.producer"},
        pattern,
    )


def mirror_once(settings: MirrorSettings, spark: SparkSession, checkpoint: Path) -> Said:
    said = Said()
    with Clusters(settings) as clusters:
        Mirror(settings, clusters, spark, str(checkpoint), said, 0).go(once=True)
    return said


def test_statement_50_what_is_produced_on_k1_is_consumed_on_k3_with_its_key(
    spark: SparkSession, chain: list[LocalCluster], topic: str, tmp_path: Path
) -> None:
    k1, k2, k3 = chain
    k1.create_topic(topic, 3)
    with Producer(bootstrap_servers=k1.bootstrap_servers) as producer:
        producer.send(topic, b"hello", key=b"h", headers=[("from", b"k1")], timestamp=1_500_000_000_000)
        producer.send(topic, b"another", key=b"a")
        for number in range(300):
            producer.send(topic, b"%d" % number, key=b"key %d" % (number % 50))
    mirror_once(between(k1, k2, "mm1.k1Andk2", topic), spark, tmp_path / "one")
    mirror_once(between(k2, k3, "mm2.k2Andk3", topic), spark, tmp_path / "two")

    first, last = records_of(k1.bootstrap_servers, topic), records_of(k3.bootstrap_servers, topic)
    assert [(each.partition, each.key, each.value, each.timestamp, list(each.headers)) for each in first] == [
        (each.partition, each.key, each.value, each.timestamp, list(each.headers)) for each in last
    ]
    assert {b"hello", b"another"} <= {each.value for each in last}


def test_a_second_round_copies_what_is_new_and_new_topics_too(
    spark: SparkSession, chain: list[LocalCluster], topic: str, tmp_path: Path
) -> None:
    k1, k2, _k3 = chain
    k1.create_topic(f"{topic}-1", 2, {"cleanup.policy": "compact"})
    settings = between(k1, k2, f"mm-{topic}", f"{topic}-.*")
    for topics in ([f"{topic}-1"], [f"{topic}-1", f"{topic}-2"]):
        if topics[-1].endswith("2"):
            k1.create_topic(topics[-1], 1)
        with Producer(bootstrap_servers=k1.bootstrap_servers) as producer:
            for name in topics:
                producer.send(name, name.encode(), key=b"k")
        mirror_once(settings, spark, tmp_path)
    assert [each.value for each in records_of(k2.bootstrap_servers, f"{topic}-1")] == [f"{topic}-1".encode()] * 2
    assert [each.value for each in records_of(k2.bootstrap_servers, f"{topic}-2")] == [f"{topic}-2".encode()]
    with Admin(bootstrap_servers=k2.bootstrap_servers) as admin:
        from moldau.clients.admin import ConfigResource

        resource = ConfigResource.topic(f"{topic}-1")
        assert admin.describe_configs([resource])[resource]["cleanup.policy"].value == "compact"
        assert len(admin.describe_topics([f"{topic}-1"])[f"{topic}-1"].partitions) == 2


def test_where_counts_differ_the_key_decides(
    spark: SparkSession, chain: list[LocalCluster], topic: str, tmp_path: Path
) -> None:
    k1, k2, _k3 = chain
    k1.create_topic(topic, 2)
    k2.create_topic(topic, 5)
    with Producer(bootstrap_servers=k1.bootstrap_servers) as producer:
        for number in range(100):
            producer.send(topic, b"%d" % number, key=b"key %d" % (number % 20))
    mirror_once(between(k1, k2, f"mm-{topic}", topic), spark, tmp_path)
    records = records_of(k2.bootstrap_servers, topic)
    partitions_of_key: dict[bytes, set[int]] = {}
    for each in records:
        partitions_of_key.setdefault(each.key, set()).add(each.partition)
    assert len(records) == 100
    assert {len(partitions) for partitions in partitions_of_key.values()} == {1}
    assert len(set.union(*partitions_of_key.values())) > 2


def test_a_group_goes_on_at_the_target(
    spark: SparkSession, chain: list[LocalCluster], topic: str, tmp_path: Path
) -> None:
    k1, k2, _k3 = chain
    k1.create_topic(topic)
    settings = between(k1, k2, f"mm-{topic}", topic)
    here = TopicPartition(topic, 0)
    group = f"group-{topic}"
    with Admin(bootstrap_servers=k1.bootstrap_servers) as source:
        for end in (10, 20):
            with Producer(bootstrap_servers=k1.bootstrap_servers) as producer:
                for number in range(end - 10, end):
                    producer.send(topic, b"%d" % number)
            source.alter_consumer_group_offsets(group, {here: 10})
            mirror_once(settings, spark, tmp_path)
    with Consumer(bootstrap_servers=k2.bootstrap_servers, group_id=group, isolation_level="read_committed") as consumer:
        consumer.subscribe([topic])
        values: list[bytes] = []
        while len(values) < 10:
            values += [each.value for each in consumer.poll(1.0)]
    assert values == [b"%d" % number for number in range(10, 20)]
