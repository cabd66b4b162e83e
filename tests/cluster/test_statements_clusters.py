"""Statements of the books that need a cluster of their own: other settings, more brokers, or fewer."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import NewTopic

from moldau.base.error_codes import ErrorCode
from moldau.protocol.messages.find_coordinator import FindCoordinatorRequest
from tests.cluster.cluster_process import ProcessCluster, process_cluster, wait_until
from tests.cluster.cluster_view import (
    ask,
    create,
    create_topic,
    delete_topic,
    metadata,
    partition,
    partitions,
    wait_for_isr,
    wait_for_leader,
)

pytestmark = [pytest.mark.java, pytest.mark.slow]

SETTINGS = {
    "zookeeper.session.timeout.ms": "3000",
    "delete.topic.enable": "false",
    "leader.imbalance.check.interval.seconds": "1",
    "offsets.topic.num.partitions": "50",
}


@pytest.fixture(scope="module")
def running() -> Iterator[ProcessCluster]:
    with process_cluster(SETTINGS, brokers=4, started=3) as cluster:
        yield cluster


@pytest.fixture
def cluster(running: ProcessCluster) -> ProcessCluster:
    """At least three brokers are there."""
    running.start(*(each for each in range(3) if each not in running.running))
    wait_until(lambda: len(metadata(running, 0).brokers) == len(running.running), "all brokers are known")
    return running


def test_b1_7_a_topic_stays_where_deletion_is_disabled(cluster: ProcessCluster) -> None:
    create(cluster, "b1-7", [[0]])
    with pytest.raises(KafkaException) as refused:
        delete_topic(cluster, "b1-7")
    assert refused.value.args[0].code() == ErrorCode.TOPIC_DELETION_DISABLED
    assert partition(cluster, 0, "b1-7").leader_id == 0


def test_b1_8_a_new_broker_joins_with_no_other_step(cluster: ProcessCluster) -> None:
    if 3 not in cluster.running:
        cluster.start(3)
    wait_until(lambda: all(len(metadata(cluster, each).brokers) == 4 for each in cluster.running), "everybody knows it")
    create(cluster, "b1-8", [[3, 0]])
    wait_for_leader(cluster, "b1-8", 3)


def test_b1_14_two_clusters_share_an_ensemble_below_different_paths(cluster: ProcessCluster) -> None:
    create(cluster, "b1-14-one", [[0]])
    other = ProcessCluster(cluster.folder / "other", cluster.ensemble, SETTINGS, brokers=1, chroot="/other/cluster")
    other.folder.mkdir()
    try:
        other.start(0)
        create_topic(other, NewTopic("b1-14-two", 1, 1))
        assert [each.node_id for each in metadata(other, 0).brokers] == [0]
        assert metadata(other, 0).cluster_id != metadata(cluster, 0).cluster_id
        (unknown,) = metadata(other, 0, "b1-14-one").topics
        assert unknown.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        assert "b1-14-one" not in {path.name for path in other.data_of(0).iterdir()}
    finally:
        other.close()


def test_b2_43_leaders_go_back_by_themselves_where_too_many_are_elsewhere(cluster: ProcessCluster) -> None:
    create(cluster, "b2-43", [[1, 0, 2]])
    cluster.stop(1)
    wait_for_leader(cluster, "b2-43", 0)
    cluster.start(1)
    wait_for_isr(cluster, "b2-43", {0, 1, 2})
    wait_for_leader(cluster, "b2-43", 1)


def test_c004_9_offsets_wait_for_as_many_brokers_as_they_have_replicas(cluster: ProcessCluster) -> None:
    while len(cluster.running) > 2:
        cluster.stop(cluster.running[-1])
    wait_until(lambda: len(metadata(cluster, 0).brokers) == 2, "two brokers are left")
    request = FindCoordinatorRequest(key_type=0, coordinator_keys=["some group"])
    assert ask(cluster, 0, request).coordinators[0].error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert partitions(cluster, 0, "__consumer_offsets") == {}
    cluster.start(2)
    wait_until(lambda: len(metadata(cluster, 0).brokers) == 3, "the third is back")
    wait_until(lambda: not ask(cluster, 0, request).coordinators[0].error_code, "the group has a coordinator")
    found = partitions(cluster, 0, "__consumer_offsets")
    assert len(found) == 50
    assert all(sorted(each.replica_nodes) == [0, 1, 2] for each in found.values())
