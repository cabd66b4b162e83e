"""kafka-replica-verification on a cluster of two: equal replicas are equal, and it runs until it is stopped."""

from __future__ import annotations

import asyncio
from argparse import Namespace

import pytest

from moldau import Admin, Producer
from moldau.cli.kafka.connecting import Connection, with_connection
from moldau.cli.kafka.replica_comparison import Comparison, compare_for_ever, comparison_of
from moldau.clients.admin import NewTopic
from moldau.clients.records import TopicPartition
from moldau.testing.local_cluster import LocalCluster

ROUNDS_MAX = 50


@pytest.mark.slow
def test_replicas_are_compared_to_their_end(capsys: pytest.CaptureFixture[str]) -> None:
    async def work(connection: Connection) -> int:
        comparison = await comparison_of(connection, "orders", -2, 1_000_000)
        for _ in range(ROUNDS_MAX):
            assert await comparison.round() == []
            if comparison.report() == "max lag is 0 for partition orders-0 at offset 20 among 1 partitions":
                break
        else:
            pytest.fail(comparison.report())
        try:
            await asyncio.wait_for(compare_for_ever(connection, "orders", -1, 1_000_000, 0), 2)
        except TimeoutError:
            return 0
        return 1

    with LocalCluster(brokers=2) as cluster:
        at = cluster.bootstrap_servers
        with Admin(bootstrap_servers=at) as admin, Producer(bootstrap_servers=at) as producer:
            admin.create_topics([NewTopic("orders", 1, 2)])
            for number in range(20):
                producer.send("orders", str(number))
            producer.flush()
        assert with_connection(Namespace(bootstrap_server=at, command_config=None), work) == 0
    started, *reports = capsys.readouterr().out.splitlines()
    assert started.endswith(": verification process is started.")
    assert reports[0].endswith(": max lag is 0 for partition orders-0 at offset 20 among 1 partitions")


def test_a_difference_is_told() -> None:
    comparison = Comparison(Connection(None), {}, 1)  # type: ignore[arg-type]  # nothing is asked here
    partition = TopicPartition("orders", 0)
    comparison.offsets[partition] = 0
    problems = comparison._compare(partition, {0: (3, {0: (1, 7), 2: (2, 9)}), 1: (3, {0: (1, 7), 2: (2, 8)})})
    assert problems == [
        "partition orders-0: replica 0's batch at offset 2 has checksum 9, replica 1's has 8",
    ]
    assert comparison.offsets[partition] == 3
