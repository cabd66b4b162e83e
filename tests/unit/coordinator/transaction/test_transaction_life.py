"""What becomes of transactions over restarts, deleted topics and time; each test has a broker of its own."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from moldau.base.error_codes import ErrorCode
from moldau.broker.node import Node
from moldau.testing.local_cluster import LocalCluster
from tests.unit.coordinator.transaction.transactional_requests import (
    PATIENCE_S,
    Transactional,
    listed,
    read,
    read_committed,
)

SETTINGS = {"transaction.state.log.num.partitions": "1", "offsets.topic.num.partitions": "1"}
NONE = ErrorCode.NONE


@pytest.fixture
def settings() -> dict[str, str]:
    return {}


@pytest.fixture
def broker(settings: dict[str, str]) -> Iterator[LocalCluster]:
    with LocalCluster({**SETTINGS, **settings}) as cluster:
        cluster.create_topic("t")
        yield cluster


def decide_and_stop(node: Node, transactional_id: str, committed: bool) -> None:
    """Write the decision as a coordinator that dies before it sends a marker."""
    node.transactions.runtime.run(
        0,
        lambda shard: shard.decide(shard.transactions[transactional_id].prepared(committed, shard.now_ms), None),
        lambda outcome: None,
    )


def begun(broker: LocalCluster, transactional_id: str = "tx") -> Transactional:
    producer = Transactional(broker, transactional_id)
    assert producer.init().code is NONE
    assert producer.add("t", 0) is NONE
    assert producer.produce("t", b"x") is NONE
    return producer


@pytest.mark.parametrize("committed", [True, False])
def test_a_decision_is_carried_out_after_a_restart(broker: LocalCluster, committed: bool) -> None:
    producer = begun(broker)
    broker.run_in_loop(lambda node: decide_and_stop(node, "tx", committed))
    assert producer.describe().transaction_state == ("PrepareCommit" if committed else "PrepareAbort")
    broker.restart()
    done = "CompleteCommit" if committed else "CompleteAbort"
    assert producer.wait_for(done) == done
    assert read(broker, "t") == ["x", "commit" if committed else "abort"]
    assert read_committed(broker, "t") == (["x"] if committed else [])


def test_who_comes_while_markers_are_missing_waits_a_little_and_then_hears_so(broker: LocalCluster) -> None:
    producer = begun(broker)
    broker.run_in_loop(lambda node: decide_and_stop(node, "tx", True))
    started = time.monotonic()
    assert producer.add("t", 0) is ErrorCode.CONCURRENT_TRANSACTIONS
    assert producer.init_once().code is ErrorCode.CONCURRENT_TRANSACTIONS
    assert time.monotonic() - started >= 0.2
    assert producer.end(True) is ErrorCode.CONCURRENT_TRANSACTIONS
    assert producer.end(False) is ErrorCode.INVALID_TXN_STATE


def test_an_open_transaction_goes_on_after_a_restart(broker: LocalCluster) -> None:
    producer = begun(broker)
    broker.restart()
    assert producer.wait_for("Ongoing") == "Ongoing"
    assert producer.produce("t", b"y") is NONE
    assert producer.end(True) is NONE
    producer.wait_for("CompleteCommit")
    assert read_committed(broker, "t") == ["x", "y"]


def test_a_topic_that_is_deleted_does_not_keep_its_transaction_from_ending(broker: LocalCluster) -> None:
    producer = begun(broker)
    broker.create_topic("gone")
    producer.add("gone", 0)
    producer.produce("gone", b"x")
    broker.delete_topic("gone")
    assert producer.end(True) is NONE
    assert producer.wait_for("CompleteCommit") == "CompleteCommit"
    assert read_committed(broker, "t") == ["x"]


@pytest.mark.parametrize("settings", [{"transaction.abort.timed.out.transaction.cleanup.interval.ms": "20"}])
def test_a_transaction_is_aborted_when_its_time_is_up(broker: LocalCluster) -> None:
    producer = Transactional(broker)
    producer.init(timeout_ms=50)
    producer.add("t", 0)
    producer.produce("t", b"late")
    assert producer.wait_for("CompleteAbort") == "CompleteAbort"
    assert producer.end(True) is ErrorCode.PRODUCER_FENCED
    assert producer.describe().producer_epoch == 1
    assert read(broker, "t") == ["late", "abort"]


@pytest.mark.parametrize(
    "settings",
    [
        {
            "transactional.id.expiration.ms": "300",
            "transaction.remove.expired.transaction.cleanup.interval.ms": "50",
        }
    ],
)
def test_an_id_that_is_not_used_is_forgotten_for_good(broker: LocalCluster) -> None:
    producer = begun(broker)
    assert producer.end(True) is NONE
    deadline = time.monotonic() + PATIENCE_S
    while producer.describe().error_code != ErrorCode.TRANSACTIONAL_ID_NOT_FOUND and time.monotonic() < deadline:
        time.sleep(0.02)
    assert producer.end(True) is ErrorCode.INVALID_PRODUCER_ID_MAPPING
    broker.restart()
    producer.find()
    assert listed(broker).transaction_states == []
    again = Transactional(broker)
    assert again.init().producer_epoch == 0
    assert again.producer_id != producer.producer_id


@pytest.mark.parametrize("settings", [{"transaction.partition.verification.enable": "false"}])
def test_without_verification_nobody_asks_whether_a_transaction_is_open(broker: LocalCluster) -> None:
    producer = Transactional(broker)
    producer.init()
    assert producer.produce("t", b"unasked") is NONE
    assert read(broker, "t") == ["unasked"]
