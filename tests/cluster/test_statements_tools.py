"""Statements of the books about Kafka's own tools, on three processes with a real ZooKeeper.

Numbers are those of the statements: b1 and b2 are the two books, c004 is the section of the corrections.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.checker import check
from tests.cluster.cluster_process import ProcessCluster, process_cluster, wait_until
from tests.cluster.cluster_view import create, metadata, partition, partitions, send, wait_for_isr, wait_for_leader
from tests.cluster.faults import is_whole
from tests.cluster.history import History, Outcome
from tests.cluster.workload import PlainProducer, read_everything, read_values
from tests.compat.kafka_tools import KafkaTools
from tests.compat.kafka_tools import Outcome as Ended

pytestmark = [pytest.mark.java, pytest.mark.slow]

SETTINGS = {
    "zookeeper.session.timeout.ms": "3000",
    "min.insync.replicas": "1",
    "auto.leader.rebalance.enable": "false",
    "log.segment.delete.delay.ms": "500",
}
Run = Callable[..., str]


@pytest.fixture(scope="module")
def running() -> Iterator[ProcessCluster]:
    with process_cluster(SETTINGS) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def tools() -> Iterator[KafkaTools]:
    with KafkaTools("3.9.1") as tools:
        yield tools


@pytest.fixture
def cluster(running: ProcessCluster) -> ProcessCluster:
    """All brokers are there."""
    running.network.heal()
    running.start(*(each for each in running.ids if each not in running.running))
    wait_until(lambda: all(len(metadata(running, each).brokers) == 3 for each in running.ids), "all brokers are known")
    return running


@pytest.fixture
def run(tools: KafkaTools, cluster: ProcessCluster) -> Run:
    """What a command prints that succeeds."""

    def run(name: str, *arguments: str) -> str:
        return tools.run(name, "--bootstrap-server", cluster.bootstrap_servers, *arguments)

    return run


@pytest.fixture
def try_run(tools: KafkaTools, cluster: ProcessCluster) -> Callable[..., Ended]:
    def run(name: str, *arguments: str) -> Ended:
        return tools.try_run(name, "--bootstrap-server", cluster.bootstrap_servers, *arguments)

    return run


def saved(folder: Path, content: Any) -> str:
    path = folder / "document.json"
    path.write_text(json.dumps(content))
    return str(path)


def test_b2_34_replicas_are_where_the_assignment_says(cluster: ProcessCluster, run: Run) -> None:
    printed = run("kafka-topics", "--create", "--topic", "b2-34", "--replica-assignment", "0:1,1:2,0:2,1:2")
    assert "Created topic b2-34." in printed
    wait_until(lambda: len(partitions(cluster, 0, "b2-34")) == 4, "it is known")
    found = [partitions(cluster, 0, "b2-34")[index].replica_nodes for index in range(4)]
    assert found == [[0, 1], [1, 2], [0, 2], [1, 2]]


def test_b2_35_partitions_do_not_become_fewer(cluster: ProcessCluster, try_run: Callable[..., Ended]) -> None:
    create(cluster, "b2-35", [[0], [1], [2]])
    ended = try_run("kafka-topics", "--alter", "--topic", "b2-35", "--partitions", "2")
    assert "which is higher than the requested 2" in ended.stdout + ended.stderr
    assert len(partitions(cluster, 0, "b2-35")) == 3


def test_b1_6_and_b2_36_a_deleted_topic_is_gone_from_the_list_and_from_all_disks(
    cluster: ProcessCluster, run: Run
) -> None:
    create(cluster, "b1-6", [[0, 1, 2], [1, 2, 0]])
    logs = [cluster.data_of(each) / f"b1-6-{index}" for each in cluster.ids for index in range(2)]
    wait_until(lambda: all(log.is_dir() for log in logs), "all have logs")
    run("kafka-topics", "--delete", "--topic", "b1-6")
    wait_until(lambda: "b1-6" not in run("kafka-topics", "--list").split(), "it is not listed")
    wait_until(lambda: not any(log.exists() for log in logs), "no log is left")


def test_b2_42_a_preferred_election_makes_the_first_replica_the_leader(
    cluster: ProcessCluster, run: Run, tmp_path: Path
) -> None:
    create(cluster, "b2-42", [[1, 0, 2]])
    cluster.stop(1)
    wait_for_leader(cluster, "b2-42", 0)
    cluster.start(1)
    wait_for_isr(cluster, "b2-42", {0, 1, 2})
    assert partition(cluster, 0, "b2-42").leader_id == 0
    document = saved(tmp_path, {"partitions": [{"topic": "b2-42", "partition": 0}]})
    printed = run("kafka-leader-election", "--election-type", "preferred", "--path-to-json-file", document)
    assert "Successfully completed leader election (PREFERRED) for partitions b2-42-0" in printed
    wait_for_leader(cluster, "b2-42", 1)


def test_b2_44_a_topic_is_moved_by_a_plan_that_was_generated_executed_and_verified(
    cluster: ProcessCluster, run: Run, tmp_path: Path
) -> None:
    create(cluster, "b2-44", [[0], [0]])
    send(cluster, "b2-44", *(b"%d" % number for number in range(1000)))
    topics = saved(tmp_path, {"version": 1, "topics": [{"topic": "b2-44"}]})
    plan = run("kafka-reassign-partitions", "--generate", "--topics-to-move-json-file", topics, "--broker-list", "1,2")
    proposed = json.loads(plan.partition("Proposed partition reassignment configuration\n")[2])
    document = ("--reassignment-json-file", saved(tmp_path, proposed))
    assert "Successfully started partition reassignments" in run("kafka-reassign-partitions", "--execute", *document)
    wait_until(
        lambda: "is still in progress" not in run("kafka-reassign-partitions", "--verify", *document), "it is done"
    )
    verified = run("kafka-reassign-partitions", "--verify", *document)
    assert all(f"Reassignment of partition b2-44-{index} is completed." in verified for index in (0, 1))
    assert sorted(each.replica_nodes[0] for each in partitions(cluster, 0, "b2-44").values()) == [1, 2]
    assert read_values(cluster.bootstrap_servers, "b2-44", 1000) == [b"%d" % number for number in range(1000)]
    wait_until(lambda: not (cluster.data_of(0) / "b2-44-0").exists(), "the old replica is deleted")


def test_b2_45_a_plan_with_three_replicas_raises_the_replication_factor(
    cluster: ProcessCluster, run: Run, tmp_path: Path
) -> None:
    create(cluster, "b2-45", [[0]])
    send(cluster, "b2-45", b"one", b"two")
    plan = {"version": 1, "partitions": [{"topic": "b2-45", "partition": 0, "replicas": [0, 1, 2]}]}
    run("kafka-reassign-partitions", "--execute", "--reassignment-json-file", saved(tmp_path, plan))
    wait_for_isr(cluster, "b2-45", {0, 1, 2})
    assert "ReplicationFactor: 3" in run("kafka-topics", "--describe", "--topic", "b2-45")


def test_c004_10_another_order_of_the_same_replicas_moves_nothing_but_the_preference(
    cluster: ProcessCluster, run: Run, tmp_path: Path
) -> None:
    create(cluster, "c004-10", [[0, 1, 2]])
    send(cluster, "c004-10", b"one")
    logs = [cluster.data_of(each) / "c004-10-0" for each in cluster.ids]
    before = [log.stat().st_ino for log in logs]
    plan = {"version": 1, "partitions": [{"topic": "c004-10", "partition": 0, "replicas": [1, 2, 0]}]}
    run("kafka-reassign-partitions", "--execute", "--reassignment-json-file", saved(tmp_path, plan))
    wait_until(lambda: partition(cluster, 0, "c004-10").replica_nodes == [1, 2, 0], "the order is another")
    elect = ("--election-type", "preferred", "--topic", "c004-10", "--partition", "0")
    run("kafka-leader-election", *elect)
    wait_for_leader(cluster, "c004-10", 1)
    assert [log.stat().st_ino for log in logs] == before


def test_a_reassignment_is_cancelled(cluster: ProcessCluster, run: Run, tmp_path: Path) -> None:
    create(cluster, "cancelled", [[0]])
    target = next(each for each in (1, 2) if each != metadata(cluster, 0).controller_id)
    cluster.isolate(target)  # so that the move cannot come to its end
    plan = {"version": 1, "partitions": [{"topic": "cancelled", "partition": 0, "replicas": [target]}]}
    document = ("--reassignment-json-file", saved(tmp_path, plan))
    run("kafka-reassign-partitions", "--execute", *document)
    moving = f"cancelled-0: replicas: {target},0. adding: {target}. removing: 0."
    assert moving in run("kafka-reassign-partitions", "--list")
    assert "Successfully cancelled" in run("kafka-reassign-partitions", "--cancel", *document)
    assert "No partition reassignments found." in run("kafka-reassign-partitions", "--list")
    wait_until(lambda: partition(cluster, 0, "cancelled").replica_nodes == [0], "it is as it was")
    cluster.network.heal()
    send(cluster, "cancelled", b"still here")
    wait_until(lambda: not (cluster.data_of(target) / "cancelled-0").exists(), "nothing is left of the new replica")


def test_b2_55_partitions_without_all_their_replicas_are_listed(cluster: ProcessCluster, run: Run) -> None:
    create(cluster, "b2-55", [[0, 1, 2]])
    describe = ("kafka-topics", "--describe", "--under-replicated-partitions", "--topic", "b2-55")
    assert run(*describe) == ""
    cluster.stop(2)
    assert "Topic: b2-55\tPartition: 0\tLeader: 0\tReplicas: 0,1,2\tIsr: 0,1" in run(*describe)
    cluster.start(2)
    wait_until(lambda: run(*describe) == "", "nothing is listed")


def test_b2_51_a_rolling_restart_fails_no_send(cluster: ProcessCluster) -> None:
    create(cluster, "b2-51", [[0, 1, 2], [1, 2, 0], [2, 0, 1]], min_insync_replicas="2")
    history = History()
    producer = PlainProducer("producer", cluster.bootstrap_servers, "b2-51", 3, history, seed=1)
    producer.start()
    for broker_id in cluster.ids:
        assert cluster.stop(broker_id) == 0
        cluster.start(broker_id)
        wait_until(lambda: is_whole(cluster, "b2-51"), "all are in sync")
    producer.stop()
    producer.join()
    read_everything(cluster.bootstrap_servers, "b2-51", 3, history, 60)
    assert {send.outcome for send in history.sends} == {Outcome.ACKED}
    assert {kind for kind, cases in check(history).items() if cases} == {"unseen"}  # there is no group
