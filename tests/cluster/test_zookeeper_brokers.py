"""Broker processes on a real ZooKeeper: who is registered, who is the controller, and what happens when one goes."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from tests.cluster.cluster_process import SESSION_TIMEOUT_MS, ProcessCluster, process_cluster, wait_until
from tests.cluster.znode_view import NOBODY, ZnodeView

pytestmark = [pytest.mark.java, pytest.mark.slow]

TOPIC = "t"
PARTITIONS = 6
CHROOT = "/clusters/one"


@pytest.fixture(scope="module")
def cluster() -> Iterator[ProcessCluster]:
    with process_cluster(zookeepers=3, chroot=CHROOT) as running:
        yield running


@pytest.fixture
def znodes(cluster: ProcessCluster) -> Iterator[ZnodeView]:
    """All brokers run, and everything is in sync."""
    cluster.start(*(each for each in cluster.ids if each not in cluster.running))
    with ZnodeView(cluster.ensemble.connect + CHROOT) as view:
        if not view.partitions(TOPIC):
            admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
            admin.create_topics([NewTopic(TOPIC, PARTITIONS, 3)])[TOPIC].result(30)
        _wait_for_sync(view)
        yield view


def _wait_for_sync(znodes: ZnodeView) -> None:
    wait_until(lambda: znodes.is_in_sync(TOPIC, PARTITIONS, 3), "all replicas in sync")


def _produce(cluster: ProcessCluster) -> None:
    """A record to each partition, acknowledged by all."""
    producer = Producer({"bootstrap.servers": cluster.bootstrap_servers, "acks": "all", "log_level": 0})
    failures: list[object] = []
    for partition in range(PARTITIONS):
        producer.produce(
            TOPIC, b"v", partition=partition, on_delivery=lambda error, _: failures.append(error) if error else None
        )
    assert producer.flush(30) == 0
    assert failures == []


def test_brokers_are_registered_as_kafka_registers_them(cluster: ProcessCluster, znodes: ZnodeView) -> None:
    assert znodes.brokers() == [0, 1, 2]
    registration = znodes.read("/brokers/ids/1")
    inside = registration["endpoints"][1].rpartition(":")[2]
    assert registration.pop("timestamp").isdecimal()
    assert registration == {
        "version": 5,
        "host": "127.0.0.1",
        "port": cluster.ports[1],
        "jmx_port": -1,
        "endpoints": [f"PLAINTEXT://127.0.0.1:{cluster.ports[1]}", f"INSIDE://127.0.0.1:{inside}"],
        "listener_security_protocol_map": {"PLAINTEXT": "PLAINTEXT", "INSIDE": "PLAINTEXT"},
        "features": {},
    }
    controller = znodes.read("/controller")
    assert controller.pop("timestamp").isdecimal()
    assert controller == {"version": 2, "brokerid": znodes.controller(), "kraftControllerEpoch": -1}
    topic = znodes.read(f"/brokers/topics/{TOPIC}")
    assert {name: topic[name] for name in ("version", "adding_replicas", "removing_replicas")} == {
        "version": 3,
        "adding_replicas": {},
        "removing_replicas": {},
    }
    assert all(sorted(replicas) == [0, 1, 2] for replicas in topic["partitions"].values())
    state = znodes.read(f"/brokers/topics/{TOPIC}/partitions/0/state")
    assert set(state) == {"version", "controller_epoch", "leader", "leader_epoch", "isr"}


def test_another_controller_is_elected_when_the_one_is_killed(cluster: ProcessCluster, znodes: ZnodeView) -> None:
    victim, epoch = znodes.controller(), znodes.controller_epoch()
    cluster.kill(victim)
    wait_until(lambda: znodes.controller() not in (victim, NOBODY), "another controller")
    assert znodes.controller_epoch() == epoch + 1
    wait_until(lambda: victim not in znodes.leaders(TOPIC), "other leaders")
    _produce(cluster)
    # Right after kill -9 the old registration may still be there: the broker waits for its end, and goes on.
    cluster.start(victim)
    _wait_for_sync(znodes)


def test_a_controlled_shutdown_moves_leadership_before_the_session_ends(
    cluster: ProcessCluster, znodes: ZnodeView
) -> None:
    leaving = next(each for each in cluster.ids if each != znodes.controller())
    began = time.monotonic()
    assert cluster.stop(leaving) == 0
    assert time.monotonic() - began < SESSION_TIMEOUT_MS / 1000
    assert leaving not in znodes.brokers()
    assert leaving not in znodes.leaders(TOPIC)
    assert all(leaving not in state.isr for state in znodes.partitions(TOPIC).values())
    _produce(cluster)
    cluster.start(leaving)
    _wait_for_sync(znodes)


@pytest.mark.parametrize("of_the_controller", [False, True])
def test_a_broker_that_was_paused_for_longer_than_its_session_registers_again(
    cluster: ProcessCluster, znodes: ZnodeView, of_the_controller: bool
) -> None:
    controller, epoch = znodes.controller(), znodes.controller_epoch()
    paused = controller if of_the_controller else next(each for each in cluster.ids if each != controller)
    path = f"/brokers/ids/{paused}"
    session = znodes.owner(path)
    cluster.pause(paused)
    wait_until(lambda: paused not in znodes.brokers(), "the end of its session")
    wait_until(lambda: paused not in znodes.leaders(TOPIC), "other leaders")
    _produce(cluster)
    cluster.resume(paused)
    wait_until(lambda: znodes.owner(path) not in (0, session), "a new registration")
    _wait_for_sync(znodes)
    assert paused in cluster.running, "it is the same process"
    assert znodes.controller_epoch() == epoch + of_the_controller
    _produce(cluster)


def test_brokers_go_on_without_one_zookeeper_and_after_all_were_killed(
    cluster: ProcessCluster, znodes: ZnodeView
) -> None:
    sessions = {each: znodes.owner(f"/brokers/ids/{each}") for each in cluster.ids}
    ensemble = cluster.ensemble
    leader = ensemble.leader()
    ensemble.kill(leader)
    _produce(cluster)
    ensemble.start(leader)
    ensemble.kill(0, 1, 2)
    _produce(cluster)  # leaders and followers need no ZooKeeper as long as nothing changes
    ensemble.start(0, 1, 2)
    wait_until(lambda: znodes.controller() != NOBODY, "a controller")
    _wait_for_sync(znodes)
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
    admin.create_topics([NewTopic("later", 3, 3)])["later"].result(30)
    wait_until(lambda: znodes.is_in_sync("later", 3, 3), "a new topic in sync")
    kept = {each: znodes.owner(f"/brokers/ids/{each}") for each in cluster.ids}
    assert kept == sessions, "sessions outlive their servers"
