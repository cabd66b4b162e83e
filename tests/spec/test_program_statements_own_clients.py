"""Statements 50 and 51 of the first book: what its consumer programs, which are in `examples/`, do at a rebalance.

What they print and commit when nobody disturbs them is shown by tests/examples/test_consumer_programs.py.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread

import pytest

from examples import consumer_worker_pool, rebalance_listener
from moldau import Consumer
from moldau.clients.consumer.consumer_record import ConsumerRecord
from moldau.testing.local_cluster import LocalCluster
from tests.clients.records_to_consume import produce, take
from tests.examples.program_output import committed, fresh_cluster

pytestmark = pytest.mark.slow

PATIENCE_S = 20.0
GROUP = "with-workers"
TOPIC = "test-topic"


def test_statement_50_offsets_in_a_store_survive_rebalances_with_no_loss(
    moldau_cluster: LocalCluster, address: str, tmp_path: Path
) -> None:
    moldau_cluster.create_topic("statement-50", 4)
    for partition in range(4):
        produce(moldau_cluster, "statement-50", [b"v"] * 50, partition)
    store = rebalance_listener.OffsetStore(str(tmp_path / "offsets.db"))
    seen: list[tuple[int, int]] = []

    def member() -> tuple[Consumer, rebalance_listener.SavingOffsets]:
        settings = {"bootstrap.servers": address, "group.id": "statement-50", "enable.auto.commit": False}
        consumer = Consumer(settings, max_poll_records=7, heartbeat_interval_ms=50)
        listener = rebalance_listener.SavingOffsets(consumer, store)
        consumer.subscribe(["statement-50"], listener)
        return consumer, listener

    def process(*consumers: Consumer, until: Callable[[], bool]) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not until():
            assert time.monotonic() < deadline, f"{len(seen)} records came"
            for consumer in consumers:
                seen.extend((record.partition, record.offset) for record in consumer.poll(0.02))

    first, listener = member()
    process(first, until=lambda: len(seen) >= 20)
    second, _ = member()
    process(first, second, until=lambda: len(second.assignment()) == 2)
    process(first, second, until=lambda: len(seen) >= 100)
    first.close()
    process(second, until=lambda: len(seen) >= 200)
    assert sorted(seen) == [(partition, offset) for partition in range(4) for offset in range(50)]
    assert second.poll(0.2) == []
    assert listener.total_ms > 0
    second.close()
    store.close()
    assert committed(moldau_cluster, "statement-50", "statement-50", 4) == [-1] * 4


class HeldWork:
    """The program's work, but records from the beginning of a partition wait for `go_on`."""

    def __init__(self) -> None:
        self.holding = Event()
        self.go_on = Event()
        self._work = consumer_worker_pool.work

    def __call__(self, records: list[ConsumerRecord], offsets: consumer_worker_pool.FinishedOffsets) -> None:
        if records[0].offset == 0:
            self.holding.set()
            assert self.go_on.wait(PATIENCE_S)
        self._work(records, offsets)


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Iterator[HeldWork]:
    work = HeldWork()
    monkeypatch.setattr(consumer_worker_pool, "work", work)
    yield work
    work.go_on.set()


@contextmanager
def running(cluster: LocalCluster, held: HeldWork) -> Iterator[None]:
    handler = consumer_worker_pool.ConsumerHandler(cluster.bootstrap_servers, workers=2)
    thread = Thread(target=handler.run)
    thread.start()
    try:
        assert held.holding.wait(PATIENCE_S)
        yield
    finally:
        held.go_on.set()
        handler.consumer.wakeup()
        thread.join(PATIENCE_S)


def test_statement_51_a_rebalance_commits_nothing_that_is_not_processed(held: HeldWork) -> None:
    with fresh_cluster(test_topic=2) as cluster:
        for partition in range(2):
            produce(cluster, TOPIC, [b"v"] * 10, partition)
        settings = {"bootstrap.servers": cluster.bootstrap_servers, "auto.offset.reset": "earliest"}
        with running(cluster, held), Consumer(settings, group_id=GROUP, enable_auto_commit=False) as other:
            other.subscribe([TOPIC])
            assert [record.offset for record in take(other, 10)] == list(range(10))
            assert committed(cluster, GROUP, TOPIC, 2) == [-1, -1]


def test_statement_51_the_known_weakness_a_later_batch_that_is_done_hides_an_earlier_one(held: HeldWork) -> None:
    with fresh_cluster(test_topic=1) as cluster:
        produce(cluster, TOPIC, [b"v"] * 1000)
        with running(cluster, held):
            deadline = time.monotonic() + PATIENCE_S
            while committed(cluster, GROUP, TOPIC) == [-1]:
                assert time.monotonic() < deadline, "nothing was committed"
                time.sleep(0.05)
            assert not held.go_on.is_set()
            assert committed(cluster, GROUP, TOPIC) == [1000]  # although the first 500 are not processed
