"""c004-9, the second half: the topic of the offsets gets three replicas after the fact, and no commit is lost."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from confluent_kafka import Consumer, TopicPartition

from tests.cluster.cluster_process import process_cluster, wait_until
from tests.cluster.cluster_view import create, metadata, partitions
from tests.compat.kafka_tools import KafkaTools

pytestmark = [pytest.mark.java, pytest.mark.slow]

OFFSETS = "__consumer_offsets"
GROUPS = 20
SETTINGS = {
    "zookeeper.session.timeout.ms": "3000",
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": "50",
    "min.insync.replicas": "1",
}


def member(servers: str, group: int) -> Consumer:
    settings = {"bootstrap.servers": servers, "group.id": f"group-{group}", "enable.auto.commit": False, "log_level": 0}
    return Consumer(settings)


def committed(servers: str, group: int) -> int:
    consumer = member(servers, group)
    (found,) = consumer.committed([TopicPartition("c004-9", 0)], 30)
    consumer.close()
    return int(found.offset)


def test_c004_9_the_rotation_raises_the_replication_of_offsets_without_losing_a_commit(tmp_path: Path) -> None:
    with process_cluster(SETTINGS) as cluster, KafkaTools("3.9.1") as tools:
        wait_until(lambda: all(len(metadata(cluster, each).brokers) == 3 for each in cluster.ids), "all are known")
        create(cluster, "c004-9", [[0, 1, 2]])
        servers = cluster.bootstrap_servers
        for group in range(GROUPS):
            consumer = member(servers, group)
            consumer.commit(offsets=[TopicPartition("c004-9", 0, 100 + group)], asynchronous=False)
            consumer.close()
        before = partitions(cluster, 0, OFFSETS)
        assert len(before) == 50
        assert all(len(each.replica_nodes) == 1 for each in before.values())

        rotation = [[(number + step) % 3 for step in range(3)] for number in before]
        plan = [{"topic": OFFSETS, "partition": number, "replicas": rotation[number]} for number in before]
        document = tmp_path / "rotation.json"
        document.write_text(json.dumps({"version": 1, "partitions": plan}))
        arguments = ("--bootstrap-server", servers, "--reassignment-json-file", str(document))
        tools.run("kafka-reassign-partitions", *arguments, "--execute")
        wait_until(
            lambda: all(
                each.replica_nodes == rotation[number] and sorted(each.isr_nodes) == [0, 1, 2]
                for number, each in partitions(cluster, 0, OFFSETS).items()
            ),
            "all offsets have three replicas in sync",
            60,
        )
        cluster.kill(2)
        wait_until(
            lambda: all(each.leader_id in (0, 1) for each in partitions(cluster, 0, OFFSETS).values()), "others lead"
        )
        assert [committed(servers, group) for group in range(GROUPS)] == [100 + group for group in range(GROUPS)]
