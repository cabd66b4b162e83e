"""The programs of `examples/` that administer, with the admin client or with nothing but a socket."""

from __future__ import annotations

import re
import time

import pytest

from examples import admin_client
from moldau import Admin, TopicPartition
from moldau.testing.local_cluster import LocalCluster
from tests.examples.program_output import SETTINGS, fresh_cluster, run_program, write

Output = pytest.CaptureFixture[str]


def commit(cluster: LocalCluster, group: str, topic: str, offset: int) -> None:
    with Admin(bootstrap_servers=cluster.bootstrap_servers) as admin:
        admin.alter_consumer_group_offsets(group, {TopicPartition(topic, 0): offset})


@pytest.mark.slow
def test_the_tour_of_the_admin_client(capsys: Output, monkeypatch: pytest.MonkeyPatch) -> None:
    with LocalCluster(SETTINGS, brokers=3) as cluster:
        create_topic = admin_client.create_topic

        def create_everywhere(admin: Admin, replication_factor: int) -> None:
            """The broker that is asked next may not have heard of the topic yet, as in Kafka."""
            create_topic(admin, replication_factor)
            for broker_id in cluster.running:
                while not cluster.run_in_loop(lambda node: admin_client.TOPIC in node.metadata.topics, broker_id):
                    time.sleep(0.01)

        monkeypatch.setattr(admin_client, "create_topic", create_everywhere)
        commit_topic = "test"
        cluster.create_topic(commit_topic)
        commit(cluster, "a1", commit_topic, 0)
        lines = run_program("admin_client", cluster, capsys)
    assert re.fullmatch(r"Cluster id: [\w-]{22}, controller: 127\.0\.0\.1:\d+ \(id \d\)", lines[0])
    assert lines[1] == "Current cluster nodes info:"
    assert [line.split(" ")[-1] for line in lines[2:5]] == ["0)", "1)", "2)"]
    assert lines[5] == "Current topics in this cluster: [__consumer_offsets, test, test-topic]"
    assert [line.split(" ")[0] for line in lines[6:9]] == ["__consumer_offsets", "test", "test-topic"]
    assert lines[9] == "Resource type: TOPIC, resource name: test-topic"
    assert "cleanup.policy = compact" in lines[10:]


def test_groups_and_an_offset(capsys: Output) -> None:
    with fresh_cluster(test=1) as cluster:
        commit(cluster, "a1", "test", 7)
        commit(cluster, "b2", "test", 1)
        assert run_program("admin_groups", cluster, capsys) == ["a1", "b2", "7"]
        assert run_program("admin_groups", cluster, capsys, "nobody") == ["a1", "b2", "none"]


def test_topics_are_made_and_deleted_with_a_socket(capsys: Output) -> None:
    with fresh_cluster() as cluster:
        assert run_program("raw_create_topics", cluster, capsys) == ["raw-topic: 0"]
        assert run_program("raw_create_topics", cluster, capsys) == ["raw-topic: 36"]
        assert run_program("raw_delete_topics", cluster, capsys) == ["raw-topic: 0"]
        assert run_program("raw_delete_topics", cluster, capsys) == ["raw-topic: 3"]


def test_offsets_are_fetched_with_a_socket(capsys: Output) -> None:
    with fresh_cluster(test=1) as cluster:
        commit(cluster, "a1", "test", 7)
        assert run_program("raw_offset_fetch", cluster, capsys) == ["{('test', 0): 7}", "7"]


def test_records_are_fetched_with_a_socket(capsys: Output) -> None:
    with fresh_cluster(my_topic=1) as cluster:
        write(cluster, "my-topic", 4)
        with Admin(bootstrap_servers=cluster.bootstrap_servers) as admin:
            admin.delete_records({TopicPartition("my-topic", 0): 1})
        lines = run_program("raw_fetch", cluster, capsys, "my-topic", 0, 3)
    assert [line for line in lines if "old offset" not in line] == ["1: 1", "2: 2", "3: 3"]
    assert lines[0] == "Found an old offset: 0 Expecting: 1"
