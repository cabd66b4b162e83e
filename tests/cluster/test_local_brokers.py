"""Several brokers in one process: they find each other, elect, and survive each other's ends."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest

from moldau.testing.local_cluster import LocalCluster

TOPIC = "orders"
PARTITIONS = 6
WAIT_S_MAX = 10.0


def wait_until(is_met: Callable[[], bool], what: str) -> None:
    ends_at = time.monotonic() + WAIT_S_MAX
    while not is_met():
        assert time.monotonic() < ends_at, f"not within {WAIT_S_MAX} s: {what}"
        time.sleep(0.01)


def leaders(cluster: LocalCluster, broker_id: int) -> list[int]:
    """Who leads each partition, as a broker knows it."""
    return cluster.run_in_loop(
        lambda node: [node.metadata.topics[TOPIC][index].leader for index in range(PARTITIONS)], broker_id
    )


@pytest.fixture
def cluster() -> Iterator[LocalCluster]:
    with LocalCluster(brokers=3) as cluster:
        cluster.create_topic(TOPIC, PARTITIONS, replication_factor=3)
        yield cluster


def test_leaders_are_spread_and_everybody_knows_them(cluster: LocalCluster) -> None:
    told = [leaders(cluster, broker_id) for broker_id in cluster.running]
    assert told[0] == told[1] == told[2]
    assert sorted(told[0]) == [0, 0, 1, 1, 2, 2]
    assert len(cluster.bootstrap_servers.split(",")) == 3
    assert all((cluster.data_of(broker_id) / f"{TOPIC}-0").is_dir() for broker_id in cluster.running)


def test_a_killed_controller_is_replaced_and_its_partitions_led_by_others(cluster: LocalCluster) -> None:
    cluster.kill_broker(0)
    assert cluster.running == [1, 2]
    assert cluster.controller_id in (1, 2)
    wait_until(lambda: all(0 not in leaders(cluster, each) for each in (1, 2)), "others lead")
    assert not (cluster.data_of(0) / ".kafka_cleanshutdown").exists()
    cluster.start_broker(0)
    wait_until(lambda: leaders(cluster, 0) == leaders(cluster, 1), "it is told everything")


def test_a_broker_that_stops_hands_over_first_and_comes_back_on_its_port(cluster: LocalCluster) -> None:
    before = cluster.bootstrap_servers
    cluster.stop_broker(2)
    assert all(2 not in leaders(cluster, each) for each in (0, 1))
    assert (cluster.data_of(2) / ".kafka_cleanshutdown").exists()
    cluster.start_broker(2)
    assert cluster.bootstrap_servers == before


def test_a_cluster_that_stops_as_a_whole_has_nothing_to_complain_of(caplog: pytest.LogCaptureFixture) -> None:
    with LocalCluster(brokers=3) as cluster:
        cluster.create_topic("alone", PARTITIONS)
        cluster.create_topic(TOPIC, PARTITIONS, replication_factor=3)
    assert [record.getMessage() for record in caplog.records if record.levelname in ("WARNING", "ERROR")] == []


def test_the_last_broker_leaves_without_asking_again_and_again(caplog: pytest.LogCaptureFixture) -> None:
    with LocalCluster(brokers=3) as cluster:
        cluster.create_topic(TOPIC, PARTITIONS, replication_factor=3)
        for broker_id in (2, 1, 0):
            cluster.stop_broker(broker_id)
        assert (cluster.data_of(0) / ".kafka_cleanshutdown").exists()
    assert not [record for record in caplog.records if "controlled shutdown" in record.getMessage()]
