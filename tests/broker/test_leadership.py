"""What a broker answers when the controller has said something else: epochs, other leaders, replicas that are missing.

The tests speak as the controller that the broker knows, with its epoch, so that each has a broker of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from moldau.base.error_codes import ErrorCode
from moldau.protocol.messages.leader_and_isr import (
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    LeaderAndIsrTopicState,
)
from moldau.protocol.messages.stop_replica import StopReplicaPartitionState, StopReplicaRequest, StopReplicaTopicState
from moldau.testing.local_cluster import LocalCluster
from tests.broker.requests_to_broker import Broker, records

TOPIC = "led"


@pytest.fixture
def broker() -> Iterator[Broker]:
    with LocalCluster({"min.insync.replicas": "2"}) as cluster:
        cluster.create_topic(TOPIC)
        yield Broker(cluster)


def order(broker: Broker, *, version: int = 7, **state: Any) -> tuple[int, list[int]]:
    """Send LeaderAndIsr; the code of the whole and those of the partitions."""
    request_fields = {"controller_id": 0, "controller_epoch": 1, "broker_epoch": -1} | state.pop("request", {})
    topic_id = state.pop("topic_id", None) or broker.topic_id(TOPIC)
    given: dict[str, Any] = {
        "partition_index": 0,
        "leader": 0,
        "leader_epoch": 1,
        "isr": [0],
        "partition_epoch": 1,
        "replicas": [0],
    }
    partition = LeaderAndIsrPartitionState(controller_epoch=1, **(given | state))
    topics = [LeaderAndIsrTopicState(topic_name=TOPIC, topic_id=topic_id, partition_states=[partition])]
    answer = broker.cluster.request(LeaderAndIsrRequest(topic_states=topics, **request_fields), version)
    errors = answer.partition_errors or [one for topic in answer.topics for one in topic.partition_errors]
    return answer.error_code, [one.error_code for one in errors]


def test_an_older_leader_epoch_is_fenced(broker: Broker) -> None:
    assert order(broker, leader_epoch=3) == (0, [0])
    assert broker.fetch(TOPIC, current_leader_epoch=2).error_code == ErrorCode.FENCED_LEADER_EPOCH
    assert broker.offset(TOPIC, -1, current_leader_epoch=2).error_code == ErrorCode.FENCED_LEADER_EPOCH
    assert broker.fetch(TOPIC, current_leader_epoch=3).error_code == 0


@pytest.mark.parametrize("version", [2, 4, 5, 7])
def test_orders_of_the_past_are_refused(broker: Broker, version: int) -> None:
    assert order(broker, leader_epoch=5, partition_epoch=5, version=version) == (0, [0])
    stale = int(ErrorCode.STALE_CONTROLLER_EPOCH)
    assert order(broker, leader_epoch=4, version=version) == (0, [stale])
    assert order(broker, request={"controller_epoch": 0}, version=version)[0] == stale
    assert order(broker, request={"broker_epoch": 0}, version=version)[0] == ErrorCode.STALE_BROKER_EPOCH


def test_an_order_for_another_topic_of_the_same_name_is_refused(broker: Broker) -> None:
    assert order(broker, topic_id=b"another topic id") == (0, [ErrorCode.INCONSISTENT_TOPIC_ID])


def test_who_follows_sends_clients_to_the_leader(broker: Broker) -> None:
    assert order(broker, leader=1, replicas=[0, 1], isr=[1]) == (0, [0])
    outcome = broker.produce(TOPIC, records(b"x"))
    assert outcome.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert outcome.current_leader is not None
    assert broker.offset(TOPIC, -1).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert broker.fetch(TOPIC, version=10).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert broker.fetch(TOPIC, version=12).error_code == 0  # consumers may read from followers (KIP-392)


def test_acks_all_with_too_few_in_sync_replicas_appends_nothing(broker: Broker) -> None:
    assert order(broker, replicas=[0, 1], isr=[0]) == (0, [0])
    assert broker.produce(TOPIC, records(b"x")).error_code == ErrorCode.NOT_ENOUGH_REPLICAS
    assert broker.fetch(TOPIC, version=12).high_watermark == 0
    assert broker.produce(TOPIC, records(b"x"), acks=1).error_code == 0


def test_acks_all_times_out_if_a_replica_does_not_fetch_and_the_record_stays(broker: Broker) -> None:
    assert order(broker, replicas=[0, 1], isr=[0, 1]) == (0, [0])
    assert broker.produce(TOPIC, records(b"x"), timeout_ms=200).error_code == ErrorCode.REQUEST_TIMED_OUT
    log = broker.cluster.run_in_loop(lambda node: node.replicas.log((TOPIC, 0)))
    assert (log.log_end_offset, log.high_watermark) == (1, 0)


def test_a_follower_that_fetches_lets_acks_all_succeed(broker: Broker) -> None:
    assert order(broker, replicas=[0, 1], isr=[0, 1]) == (0, [0])
    assert broker.produce(TOPIC, records(b"x"), acks=1).base_offset == 0
    assert broker.fetch(TOPIC, 1, version=12, replica_id=1).error_code == 0
    assert broker.fetch(TOPIC, 0, version=12).high_watermark == 1
    stranger = broker.fetch(TOPIC, 0, version=12, replica_id=9)
    assert stranger.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


def stop(broker: Broker, epoch: int, delete: bool) -> list[int]:
    one = StopReplicaPartitionState(partition_index=0, leader_epoch=epoch, delete_partition=delete)
    topics = [StopReplicaTopicState(topic_name=TOPIC, partition_states=[one])]
    request = StopReplicaRequest(controller_id=0, controller_epoch=1, topic_states=topics)
    return [outcome.error_code for outcome in broker.cluster.request(request).partition_errors]


def test_a_stopped_replica_keeps_its_log_and_a_deleted_one_does_not(broker: Broker) -> None:
    assert order(broker, leader_epoch=3) == (0, [0])
    assert stop(broker, 2, delete=True) == [ErrorCode.FENCED_LEADER_EPOCH]
    assert stop(broker, 3, delete=False) == [0]
    assert broker.produce(TOPIC, records(b"x")).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert (broker.cluster.data / f"{TOPIC}-0").is_dir()
    assert order(broker, leader_epoch=4, partition_epoch=4) == (0, [0])
    assert stop(broker, 4, delete=True) == [0]
    assert not (broker.cluster.data / f"{TOPIC}-0").exists()
