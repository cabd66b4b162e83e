"""Logs that parted: with leader epochs they become one again, with truncation to the high watermark never (KIP-101).

The same as `tests/script/replication/divergence_*.txt`, with brokers, disks and network.
"""

from __future__ import annotations

import pytest

from moldau.base.error_codes import ErrorCode
from moldau.testing.local_cluster import LocalCluster
from tests.cluster.replicated_topic import ReplicatedTopic, eventually

pytestmark = pytest.mark.slow

WITHOUT_EPOCHS, BY_REQUEST, ON_FETCH = "0.10.2", "2.6", "3.9"


@pytest.mark.parametrize("version", [WITHOUT_EPOCHS, BY_REQUEST, ON_FETCH])
def test_logs_that_parted(version: str) -> None:
    config = {"inter.broker.protocol.version": version, "controlled.shutdown.enable": "false"}
    with LocalCluster(config, brokers=3) as cluster:
        cluster.create_topic("parted", 1, {"unclean.leader.election.enable": "true"}, replication_factor=2)
        topic = ReplicatedTopic(cluster, "parted")
        first = topic.leader
        (second,) = topic.partition(first, lambda one: set(one.replicas)) - {first}
        assert topic.produce(b"in both") is ErrorCode.NONE

        cluster.kill_broker(second)
        eventually(lambda: topic.isr() == {first})
        assert topic.produce(b"only in the first") is ErrorCode.NONE
        assert topic.high_watermark(first) == 2
        cluster.stop_broker(first)

        cluster.start_broker(second)
        assert topic.leader == second
        assert topic.produce(b"only in the second") is ErrorCode.NONE
        cluster.start_broker(first)
        eventually(lambda: topic.isr() == {first, second})
        assert topic.produce(b"in both again") is ErrorCode.NONE

        assert topic.end_offset(first) == topic.end_offset(second) == 3
        are_identical = topic.log_bytes(first) == topic.log_bytes(second)
        assert are_identical == (version != WITHOUT_EPOCHS)
        assert (b"only in the first" in topic.log_bytes(first)) == (version == WITHOUT_EPOCHS)


def test_a_follower_flushes_before_it_says_that_it_has_a_record() -> None:
    with LocalCluster(brokers=2) as cluster:
        cluster.create_topic("flushed", 1, {"flush.messages": "1"}, replication_factor=2)
        topic = ReplicatedTopic(cluster, "flushed")
        assert topic.produce(b"value") is ErrorCode.NONE
        assert [topic.log(broker_id, lambda log: log.recovery_point) for broker_id in range(2)] == [1, 1]
