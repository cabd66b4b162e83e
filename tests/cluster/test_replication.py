"""Three brokers and a topic with three replicas: what is acknowledged is in all logs, and all logs are the same."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from moldau.base.error_codes import ErrorCode
from moldau.testing.local_cluster import LocalCluster
from tests.cluster.replicated_topic import BROKER_RESOURCE, TOPIC_RESOURCE, ReplicatedTopic, eventually, set_configs

pytestmark = pytest.mark.slow
CONFIG = {"replica.lag.time.max.ms": "1000", "controlled.shutdown.retry.backoff.ms": "50"}


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    with LocalCluster(CONFIG, brokers=3) as started:
        yield started


@pytest.fixture
def topic(cluster: LocalCluster, request: pytest.FixtureRequest) -> ReplicatedTopic:
    name = request.node.name.replace("_", "-")
    cluster.create_topic(name, 1, {"min.insync.replicas": "2"}, replication_factor=3)
    return ReplicatedTopic(cluster, name)


def test_what_is_acknowledged_by_all_is_in_every_log(topic: ReplicatedTopic) -> None:
    for n in range(20):
        assert topic.produce(b"value %d" % n, b"more") is ErrorCode.NONE
    assert [topic.end_offset(broker_id) for broker_id in range(3)] == [40, 40, 40]
    assert topic.high_watermark(topic.leader) == 40
    topic.await_identical()
    assert topic.isr() == {0, 1, 2}


def test_followers_hear_of_the_high_watermark_within_the_longest_wait(topic: ReplicatedTopic) -> None:
    topic.produce(b"value")
    eventually(lambda: all(topic.high_watermark(broker_id) == 1 for broker_id in range(3)))


def test_followers_forget_what_was_deleted_at_the_leader(topic: ReplicatedTopic) -> None:
    for _ in range(3):
        topic.produce(b"value")
    topic.log(topic.leader, lambda log: log.advance_log_start_offset(2))
    eventually(lambda: all(topic.log(broker_id, lambda log: log.log_start_offset) == 2 for broker_id in range(3)))


def test_a_new_leader_goes_on_where_the_stopped_one_ended(topic: ReplicatedTopic) -> None:
    topic.produce(b"before")
    stopped = topic.leader
    topic.cluster.stop_broker(stopped)
    try:
        assert topic.produce(b"meanwhile") is ErrorCode.NONE
        assert topic.leader != stopped
    finally:
        topic.cluster.start_broker(stopped)
    eventually(lambda: topic.isr() == {0, 1, 2})
    assert topic.produce(b"after") is ErrorCode.NONE
    topic.await_identical()
    assert topic.end_offset(stopped) == 3


def test_a_killed_leader_drops_what_only_it_had(topic: ReplicatedTopic) -> None:
    topic.produce(b"replicated")
    killed = topic.leader
    for follower in topic.followers:
        topic.cluster.run_in_loop(lambda node: node.fetchers.stop([(topic.name, 0)]), follower)
    topic.produce(b"only here", acks=1)
    assert topic.end_offset(killed) == 2
    topic.cluster.kill_broker(killed)
    try:
        assert topic.produce(b"in its place") is ErrorCode.NONE
    finally:
        topic.cluster.start_broker(killed)
    topic.await_identical()
    assert b"only here" not in topic.log_bytes(killed)
    assert b"in its place" in topic.log_bytes(killed)


def test_without_enough_replicas_in_sync_nothing_is_accepted(topic: ReplicatedTopic) -> None:
    stopped = topic.followers
    for broker_id in stopped:
        topic.cluster.kill_broker(broker_id)
    try:
        eventually(lambda: topic.isr() == {topic.leader})
        assert topic.produce(b"refused") is ErrorCode.NOT_ENOUGH_REPLICAS
        assert topic.produce(b"accepted", acks=1) is ErrorCode.NONE
        assert topic.high_watermark(topic.leader) == 0
    finally:
        for broker_id in stopped:
            topic.cluster.start_broker(broker_id)
    eventually(lambda: topic.isr() == {0, 1, 2})
    eventually(lambda: topic.high_watermark(topic.leader) == 1)
    topic.await_identical()


def test_a_follower_that_was_away_catches_up(topic: ReplicatedTopic) -> None:
    away = topic.followers[0]
    topic.cluster.kill_broker(away)
    try:
        for n in range(50):
            assert topic.produce(b"%d" % n + bytes(100_000)) is ErrorCode.NONE
    finally:
        topic.cluster.start_broker(away)
    eventually(lambda: topic.isr() == {0, 1, 2})
    topic.await_identical()
    assert len(topic.log_bytes(away)) > 5_000_000


def test_a_follower_copies_from_larger_segments_than_its_own(topic: ReplicatedTopic) -> None:
    away = topic.followers[0]
    topic.cluster.kill_broker(away)
    try:
        for _ in range(20):
            assert topic.produce(bytes(20_000)) is ErrorCode.NONE
        set_configs(topic.cluster, TOPIC_RESOURCE, topic.name, segment_bytes="50000")
    finally:
        topic.cluster.start_broker(away)
    eventually(lambda: topic.isr() == {0, 1, 2})
    topic.await_identical()
    assert topic.log(away, lambda log: len(log.segments)) >= 9


def test_partitions_change_places_when_the_number_of_fetchers_does(topic: ReplicatedTopic) -> None:
    topic.produce(b"before")
    set_configs(topic.cluster, BROKER_RESOURCE, "", num_replica_fetchers="2")
    assert topic.produce(b"after") is ErrorCode.NONE
    topic.await_identical()
    set_configs(topic.cluster, BROKER_RESOURCE, "", num_replica_fetchers="1")
    assert topic.produce(b"and back") is ErrorCode.NONE
    topic.await_identical()


def test_a_deleted_topic_is_gone_from_all_brokers(topic: ReplicatedTopic) -> None:
    topic.produce(b"value")
    topic.cluster.delete_topic(topic.name)
    for broker_id in range(3):
        eventually(
            lambda broker_id=broker_id: (
                not topic.cluster.run_in_loop(  # type: ignore[misc]
                    lambda node: (topic.name, 0) in node.replicas.partitions, broker_id
                )
            )
        )
