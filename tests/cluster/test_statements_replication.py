"""Statements of the books about what followers copy, and what they give up: on processes with a real ZooKeeper.

The two failures of truncation to the high watermark (KIP-101) happen to brokers that are told to work as those before
0.11, and not to the others. The same stories, told step by step, are in `tests/script/replication`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from moldau.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic, PartitionData
from tests.cluster.cluster_process import ProcessCluster, name_of, process_cluster, wait_until
from tests.cluster.cluster_view import ask, create, metadata, partition, send, wait_for_isr, wait_for_leader
from tests.cluster.workload import read_values
from tests.cluster.znode_view import ZnodeView

pytestmark = [pytest.mark.java, pytest.mark.slow]

WITHOUT_EPOCHS, WITH_EPOCHS = "0.10.2", "3.9"
LEADER, FOLLOWER, CONTROLLER, SUCCESSOR = range(4)
FETCH_VERSION = 11  # the last but one that names the replica in a field of its own
ALL_BYTES = 1 << 20
FETCH_WAIT_S = 0.5  # the longest wait of a fetch, if nothing is new


class Slow(ProcessCluster):
    """A dead controller is missed late, so that another broker can die and come back unnoticed meanwhile."""

    def settings_of(self, broker_id: int) -> dict[str, str]:
        session_timeout_ms = "12000" if broker_id == CONTROLLER else "3000"
        return {**super().settings_of(broker_id), "zookeeper.session.timeout.ms": session_timeout_ms}


def settings(version: str) -> dict[str, str]:
    return {
        "inter.broker.protocol.version": version,
        "min.insync.replicas": "1",
        "replica.lag.time.max.ms": "120000",
        "replica.high.watermark.checkpoint.interval.ms": "600000",
        "auto.leader.rebalance.enable": "false",
    }


@pytest.fixture(params=[WITHOUT_EPOCHS, WITH_EPOCHS])
def version(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def cluster(version: str) -> Iterator[ProcessCluster]:
    with process_cluster(settings(version), brokers=4, kind=Slow) as running:
        wait_until(lambda: all(len(metadata(running, each).brokers) == 4 for each in running.ids), "all are known")
        yield running


@pytest.fixture
def znodes(cluster: ProcessCluster) -> Iterator[ZnodeView]:
    with ZnodeView(cluster.ensemble.connect) as view:
        yield view


def elect(znodes: ZnodeView, broker_id: int) -> None:
    """Unseat controllers until it is this one's turn."""

    def is_elected() -> bool:
        if znodes.controller() not in (broker_id, -1):
            znodes.unseat_controller()
            time.sleep(0.3)
        return znodes.controller() == broker_id

    wait_until(is_elected, f"{broker_id} is the controller", 60)


def log_of(cluster: ProcessCluster, broker_id: int, topic: str) -> bytes:
    folder: Path = cluster.data_of(broker_id) / f"{topic}-0"
    return b"".join(path.read_bytes() for path in sorted(folder.glob("*.log")))


def sizes(cluster: ProcessCluster, topic: str) -> list[int]:
    return [len(log_of(cluster, each, topic)) for each in (LEADER, FOLLOWER)]


def test_b1_57_and_c004_5_an_acknowledged_record_is_lost_without_epochs_only(
    cluster: ProcessCluster, znodes: ZnodeView, version: str
) -> None:
    topic = "loss"
    create(cluster, topic, [[LEADER, FOLLOWER]])
    send(cluster, topic, b"m1")
    time.sleep(2 * FETCH_WAIT_S)  # its next fetch tells the follower that m1 is committed
    cluster.stop(FOLLOWER)  # so that its high watermark, 1, is on its disk
    assert f"{topic} 0 1" in (cluster.data_of(FOLLOWER) / "replication-offset-checkpoint").read_text()
    cluster.start(FOLLOWER)
    wait_for_isr(cluster, topic, {LEADER, FOLLOWER})
    elect(znodes, CONTROLLER)
    send(cluster, topic, b"m2")  # is in both logs, and acknowledged
    both = len(log_of(cluster, FOLLOWER, topic))

    # The follower comes back before anybody has missed it, and cannot fetch what it gives up.
    cluster.kill(CONTROLLER)
    cluster.kill(FOLLOWER)
    cluster.network.cut(name_of(LEADER), name_of(FOLLOWER))
    wait_until(lambda: FOLLOWER not in znodes.brokers(), "its session is over")
    assert set(znodes.read(f"/brokers/topics/{topic}/partitions/0/state")["isr"]) == {LEADER, FOLLOWER}
    cluster.start(FOLLOWER)
    elect(znodes, SUCCESSOR)
    is_cut = version == WITHOUT_EPOCHS
    if is_cut:
        wait_until(lambda: len(log_of(cluster, FOLLOWER, topic)) < both, "the follower cuts its log")

    # The leader goes, and the follower leads: it is in sync, as far as anybody knows.
    cluster.kill(LEADER)
    wait_for_leader(cluster, topic, FOLLOWER)
    cluster.network.heal()
    cluster.start(LEADER)
    wait_for_isr(cluster, topic, {LEADER, FOLLOWER})
    send(cluster, topic, b"m3")
    assert read_values(cluster.address(FOLLOWER), topic, 2 if is_cut else 3) == (
        [b"m1", b"m3"] if is_cut else [b"m1", b"m2", b"m3"]
    )
    assert log_of(cluster, LEADER, topic) == log_of(cluster, FOLLOWER, topic)


def test_b1_57_and_c004_6_logs_part_for_good_without_epochs_only(cluster: ProcessCluster, version: str) -> None:
    topic = "divergence"
    create(cluster, topic, [[LEADER, FOLLOWER]], unclean_leader_election_enable="true")
    send(cluster, topic, b"m0")
    cluster.kill(FOLLOWER)
    wait_for_isr(cluster, topic, {LEADER})
    send(cluster, topic, b"m1")
    cluster.stop(LEADER)
    cluster.start(FOLLOWER)
    wait_for_leader(cluster, topic, FOLLOWER)
    send(cluster, topic, b"m2")
    cluster.start(LEADER)
    wait_for_isr(cluster, topic, {LEADER, FOLLOWER})
    send(cluster, topic, b"m3")  # acknowledged by both

    theirs, mine = log_of(cluster, LEADER, topic), log_of(cluster, FOLLOWER, topic)
    assert read_values(cluster.address(FOLLOWER), topic, 3) == [b"m0", b"m2", b"m3"]
    if version == WITHOUT_EPOCHS:
        assert b"m1" in theirs
        assert b"m2" not in theirs
        assert theirs != mine
    else:
        assert theirs == mine


def fetch(cluster: ProcessCluster, topic: str, replica: int, offset: int, wait_ms: int) -> PartitionData:
    """What the leader answers to a replica, or to a consumer, which is replica -1."""
    asked = FetchPartition(partition=0, fetch_offset=offset, log_start_offset=0, partition_max_bytes=ALL_BYTES)
    request = FetchRequest(
        replica_id=replica,
        max_wait_ms=wait_ms,
        min_bytes=1,
        topics=[FetchTopic(topic=topic, partitions=[asked])],
    )
    answer = ask(cluster, LEADER, request, FETCH_VERSION)
    found: PartitionData = answer.responses[0].partitions[0]
    assert not found.error_code
    return found


def timed(call: Callable[[], object]) -> float:
    started = time.monotonic()
    call()
    return time.monotonic() - started


@pytest.mark.parametrize("version", [WITH_EPOCHS], indirect=True)
def test_b1_55_a_record_is_committed_with_the_second_fetch_of_its_follower(cluster: ProcessCluster) -> None:
    topic = "b1-55"
    create(cluster, topic, [[LEADER, FOLLOWER]])
    cluster.isolate(FOLLOWER)  # its fetches are ours from here on
    send(cluster, topic, b"value", acks="1")
    assert not fetch(cluster, topic, -1, 0, 100).records, "a consumer sees nothing yet"

    first = fetch(cluster, topic, FOLLOWER, 0, 500)
    assert (first.high_watermark, b"value" in bytes(first.records or b"")) == (0, True)
    assert not fetch(cluster, topic, -1, 0, 100).records
    second = fetch(cluster, topic, FOLLOWER, 1, 500)
    assert (second.high_watermark, second.records) == (1, b"")
    seen = fetch(cluster, topic, -1, 0, 100)
    assert (seen.high_watermark, b"value" in bytes(seen.records or b"")) == (1, True)

    assert FETCH_WAIT_S <= timed(lambda: fetch(cluster, topic, FOLLOWER, 1, 500)) < 3, "nothing new: the whole wait"
    assert set(partition(cluster, LEADER, topic).isr_nodes) == {LEADER, FOLLOWER}
