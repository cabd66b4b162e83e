"""The consumer whose group lives in ZooKeeper: statement 52 of the first book, on a broker with a real ZooKeeper."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from confluent_kafka import Producer

from moldau.clients.zookeeper_consumer import ConsumerTimeout, Stream, ZookeeperConsumer
from tests.cluster.cluster_process import ProcessCluster, process_cluster, wait_until
from tests.cluster.cluster_view import create
from tests.cluster.znode_view import ZnodeView

pytestmark = [pytest.mark.java, pytest.mark.slow]

PARTITIONS = 10


@pytest.fixture(scope="module")
def cluster() -> Iterator[ProcessCluster]:
    with process_cluster({"min.insync.replicas": "1"}, brokers=1) as running:
        yield running


@pytest.fixture
def znodes(cluster: ProcessCluster) -> Iterator[ZnodeView]:
    with ZnodeView(cluster.ensemble.connect) as view:
        yield view


def consumer(cluster: ProcessCluster, group: str) -> ZookeeperConsumer:
    settings = {
        "zookeeper.connect": cluster.ensemble.connect,
        "group.id": group,
        "auto.offset.reset": "smallest",
        "consumer.timeout.ms": 3_000,
        "rebalance.backoff.ms": 300,
        "rebalance.max.retries": 20,
    }
    return ZookeeperConsumer(settings)


def fill(cluster: ProcessCluster, topic: str, round_: int) -> set[bytes]:
    """A record in every partition."""
    producer = Producer({"bootstrap.servers": cluster.bootstrap_servers, "log_level": 0})
    values = {f"{round_}-{number}".encode(): number for number in range(PARTITIONS)}
    for value, number in values.items():
        producer.produce(topic, value, partition=number)
    assert not producer.flush(20)
    return set(values)


def taken(streams: list[Stream], count: int) -> dict[int, set[bytes]]:
    """What each of some streams hands out, in a thread each, until there are so many records or nothing comes."""
    found: dict[int, set[bytes]] = {number: set() for number in range(len(streams))}

    def take(number: int) -> None:
        try:
            for record in streams[number]:
                found[number].add(record.value)
                if sum(map(len, found.values())) >= count:
                    return
        except ConsumerTimeout:
            return

    threads = [threading.Thread(target=take, args=(number,)) for number in found]
    for each in threads:
        each.start()
    for each in threads:
        each.join(60)
    return found


def test_b1_52_ids_owners_and_offsets_are_znodes_and_the_eleventh_thread_is_idle(
    cluster: ProcessCluster, znodes: ZnodeView
) -> None:
    topic, base = "b1-52", "/consumers/old"
    create(cluster, topic, [[0]] * PARTITIONS)
    values = fill(cluster, topic, 0)
    with consumer(cluster, "old") as one:
        streams = one.create_streams({topic: 11})
        assert znodes.names(f"{base}/ids") == [one.consumer_id]
        assert znodes.owner(f"{base}/ids/{one.consumer_id}"), "it is ephemeral"
        assert znodes.read(f"{base}/ids/{one.consumer_id}")["subscription"] == {topic: 11}
        owners = {znodes.text(f"{base}/owners/{topic}/{number}") for number in range(PARTITIONS)}
        assert owners < {f"{one.consumer_id}-{number}" for number in range(11)}
        found = taken(streams, PARTITIONS)
        assert set().union(*found.values()) == values
        assert sorted(map(len, found.values())) == [0] + [1] * PARTITIONS
        one.commit_offsets()
        assert [znodes.text(f"{base}/offsets/{topic}/{number}") for number in range(PARTITIONS)] == ["1"] * PARTITIONS
    assert znodes.names(f"{base}/ids") == []
    assert znodes.names(f"{base}/owners/{topic}") == []

    # Another one goes on where the first has stopped.
    more = fill(cluster, topic, 1)
    with consumer(cluster, "old") as two:
        assert taken(two.create_streams({topic: 1}), PARTITIONS) == {0: more}


def test_two_consumers_share_and_one_takes_over(cluster: ProcessCluster, znodes: ZnodeView) -> None:
    topic, base = "old-shared", "/consumers/two"
    create(cluster, topic, [[0]] * PARTITIONS)

    def owned() -> list[str]:
        return sorted(znodes.text(f"{base}/owners/{topic}/{each}") for each in znodes.names(f"{base}/owners/{topic}"))

    with consumer(cluster, "two") as stays:
        (left,) = stays.create_streams({topic: 1})
        goes = consumer(cluster, "two")
        (right,) = goes.create_streams({topic: 1})
        half = [f"{each.consumer_id}-0" for each in (stays, goes) for _ in range(PARTITIONS // 2)]
        wait_until(lambda: owned() == sorted(half), "both have their half")
        values = fill(cluster, topic, 0)
        found = taken([left, right], PARTITIONS)
        assert set().union(*found.values()) == values
        goes.close()
        wait_until(lambda: owned() == [f"{stays.consumer_id}-0"] * PARTITIONS, "one has everything")
        more = fill(cluster, topic, 1)
        assert taken([left], PARTITIONS) == {0: more}
