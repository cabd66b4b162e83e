"""A fresh broker for each program, and what the program prints there."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from moldau import Consumer, Producer, TopicPartition
from moldau.testing.local_cluster import LocalCluster

# One partition each will do for internal topics, and is quicker to start and stop.
SETTINGS = {"offsets.topic.num.partitions": "1", "transaction.state.log.num.partitions": "1"}


@contextmanager
def fresh_cluster(**partitions: int) -> Iterator[LocalCluster]:
    """A broker with topics; an underscore in a keyword is a dash in the topic's name."""
    with LocalCluster(SETTINGS) as cluster:
        for name, count in partitions.items():
            cluster.create_topic(name.replace("_", "-"), count)
        yield cluster


def run_program(name: str, cluster: LocalCluster, capsys: pytest.CaptureFixture[str], *arguments: object) -> list[str]:
    """The lines that a program prints."""
    capsys.readouterr()
    importlib.import_module(f"examples.{name}").main(cluster.bootstrap_servers, *map(str, arguments))
    return capsys.readouterr().out.splitlines()


def write(cluster: LocalCluster, topic: str, count: int, partitions: int = 1) -> None:
    """Records with their number as key and value, to one partition after the other."""
    with Producer(bootstrap_servers=cluster.bootstrap_servers) as producer:
        for number in range(count):
            text = b"%d" % number
            producer.send(topic, text, key=text, partition=number % partitions)


def read(cluster: LocalCluster, topic: str) -> list[tuple[bytes | None, bytes | None]]:
    """The keys and values of a topic, partition by partition."""
    found = []
    with Consumer(bootstrap_servers=cluster.bootstrap_servers) as consumer:
        for each in consumer.partitions_for(topic):
            here = TopicPartition(topic, each.partition)
            consumer.assign([here])
            consumer.seek_to_beginning()
            end = consumer.end_offsets([here])[here]
            while consumer.position(here) < end:
                found += [(record.key, record.value) for record in consumer.poll(1.0)]
    return found


def committed(cluster: LocalCluster, group: str, topic: str, partitions: int = 1) -> list[int]:
    """What a group has committed, -1 for nothing."""
    here = [TopicPartition(topic, number) for number in range(partitions)]
    with Consumer(bootstrap_servers=cluster.bootstrap_servers, group_id=group) as consumer:
        offsets = consumer.committed(here)
    return [-1 if (found := offsets[each]) is None else found.offset for each in here]
