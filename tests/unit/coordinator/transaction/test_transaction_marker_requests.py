"""WriteTxnMarkers, as a leader of partitions answers it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from moldau.base.error_codes import ErrorCode
from moldau.protocol.messages.write_txn_markers import WriteTxnMarkersRequest
from moldau.testing.local_cluster import LocalCluster
from tests.unit.coordinator.transaction.transactional_requests import Transactional, read, read_committed, write_marker

Make = Callable[[], Transactional]
NONE = ErrorCode.NONE


@pytest.fixture
def producer(topic: str, transactional: Make) -> Transactional:
    """With a transaction open in a partition."""
    producer = transactional()
    producer.add(topic, 0)
    assert producer.produce(topic, b"x") is NONE
    return producer


@pytest.mark.parametrize("version", range(3))
def test_a_marker_ends_the_transaction_in_its_partition(
    broker: LocalCluster, topic: str, producer: Transactional, version: int
) -> None:
    marker = {"producer_id": producer.producer_id, "producer_epoch": 0, "transaction_result": True}
    assert write_marker(broker, topic, version=version, **marker) is NONE
    assert read(broker, topic) == ["x", "commit"]
    assert read_committed(broker, topic) == ["x"]


def test_a_marker_for_an_unknown_partition(broker: LocalCluster, topic: str) -> None:
    assert write_marker(broker, topic, 9, producer_id=1) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert write_marker(broker, "no-such-topic", producer_id=1) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_a_coordinator_that_has_been_replaced_is_fenced(
    broker: LocalCluster, topic: str, producer: Transactional
) -> None:
    marker = {"producer_id": producer.producer_id, "producer_epoch": 0}
    assert write_marker(broker, topic, coordinator_epoch=7, **marker) is NONE
    assert write_marker(broker, topic, coordinator_epoch=6, **marker) is ErrorCode.TRANSACTION_COORDINATOR_FENCED
    assert read(broker, topic) == ["x", "abort"]


def test_a_marker_of_an_old_epoch(broker: LocalCluster, topic: str, producer: Transactional) -> None:
    marker = {"producer_id": producer.producer_id}
    assert write_marker(broker, topic, producer_epoch=5, **marker) is NONE
    assert write_marker(broker, topic, producer_epoch=4, **marker) is ErrorCode.INVALID_PRODUCER_EPOCH


def test_a_request_without_markers(broker: LocalCluster) -> None:
    assert broker.request(WriteTxnMarkersRequest()).markers == []


def test_offsets_of_a_group_that_has_no_topic_yet_need_no_marker(transactional: Make) -> None:
    producer = transactional()
    assert producer.add_offsets("group") is NONE
    assert producer.end(True) is NONE
    assert producer.wait_for("CompleteCommit") == "CompleteCommit"
