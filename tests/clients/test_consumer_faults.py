"""What a consumer does when things go wrong: brokers that restart, topics that go, interceptors that fail, forks."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator

import pytest

from moldau.clients.consumer.consumer_record import ConsumerRecord
from moldau.clients.consumer.listener import ConsumerInterceptor
from moldau.clients.consumer.plain import Consumer
from moldau.clients.errors import ClientClosed, IllegalState
from moldau.clients.records import TopicPartition
from moldau.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from moldau.testing.local_cluster import LocalCluster
from tests.clients.records_to_consume import new_group, poll_until, produce, take


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    """A broker of these tests' own, since they restart it."""
    with LocalCluster() as cluster:
        yield cluster


def _member(cluster: LocalCluster, **keywords: object) -> Consumer:
    settings = {
        "bootstrap.servers": cluster.bootstrap_servers,
        "group.id": new_group(),
        "auto.offset.reset": "earliest",
        "heartbeat.interval.ms": 100,
        "metadata.max.age.ms": 500,
    }
    return Consumer(settings, **keywords)


@pytest.mark.slow
def test_a_broker_that_restarts_is_found_again_and_nothing_is_read_twice(cluster: LocalCluster) -> None:
    cluster.create_topic("restart", 2)
    produce(cluster, "restart", [b"before"] * 3)
    with _member(cluster, enable_auto_commit=False) as consumer:
        consumer.subscribe(["restart"])
        take(consumer, 3)
        consumer.commit()
        cluster.restart()
        produce(cluster, "restart", [b"after"])
        assert [(record.offset, record.value) for record in take(consumer, 1)] == [(3, b"after")]
        consumer.commit()
        assert consumer.position(("restart", 0)) == 4
        assert len(consumer.assignment()) == 2


@pytest.mark.slow
def test_a_broker_that_is_away_for_a_while_only_makes_polls_empty(cluster: LocalCluster) -> None:
    cluster.create_topic("away")
    produce(cluster, "away", [b"v"])
    with _member(cluster) as consumer:
        consumer.subscribe(["away"])
        take(consumer, 1)
        cluster.stop()
        try:
            assert consumer.poll(1.0) == []
            started = time.monotonic()
            assert consumer.poll(0.1) == []
            assert time.monotonic() - started < 5
        finally:
            cluster.start()
        produce(cluster, "away", [b"w"])
        assert take(consumer, 1)[0].value == b"w"


@pytest.mark.slow
def test_closing_while_the_broker_is_away_ends_in_time(cluster: LocalCluster) -> None:
    cluster.create_topic("closing")
    consumer = _member(cluster)
    consumer.subscribe(["closing"])
    poll_until([consumer], lambda: len(consumer.assignment()) == 1)
    cluster.stop()
    try:
        started = time.monotonic()
        consumer.close(timeout_s=1.0)
        assert time.monotonic() - started < 8
    finally:
        cluster.start()


def test_a_deleted_topic_is_given_up_and_another_goes_on(cluster: LocalCluster) -> None:
    cluster.create_topic("deleted")
    cluster.create_topic("stays")
    with _member(cluster, allow_auto_create_topics=False) as consumer:
        consumer.subscribe(["deleted", "stays"])
        poll_until([consumer], lambda: len(consumer.assignment()) == 2)
        cluster.delete_topic("deleted")
        produce(cluster, "stays", [b"v"])
        assert take(consumer, 1)[0].topic == "stays"
        cluster.create_topic("deleted")
        produce(cluster, "deleted", [b"new"])
        assert take(consumer, 1)[0].value == b"new"


def test_records_that_are_deleted_before_they_are_read_are_passed_by(cluster: LocalCluster) -> None:
    cluster.create_topic("trimmed")
    produce(cluster, "trimmed", [b"%d" % number for number in range(5)])
    partition = DeleteRecordsPartition(partition_index=0, offset=3)
    with _member(cluster, max_poll_records=1, enable_auto_commit=False) as consumer:
        consumer.assign([("trimmed", 0)])
        consumer.seek(("trimmed", 0), 0)
        topics = [DeleteRecordsTopic(name="trimmed", partitions=[partition])]
        cluster.request(DeleteRecordsRequest(topics=topics, timeout_ms=5_000))
        assert take(consumer, 1)[0].offset == 3
        assert consumer.beginning_offsets([("trimmed", 0)]) == {TopicPartition("trimmed", 0): 3}


def test_a_topic_that_does_not_exist_yet_is_read_when_it_does(cluster: LocalCluster) -> None:
    with _member(cluster, allow_auto_create_topics=False) as consumer:
        consumer.subscribe(["later"])
        assert consumer.poll(0.5) == []
        cluster.create_topic("later")
        produce(cluster, "later", [b"v"])
        assert take(consumer, 1)[0].value == b"v"


def test_closing_in_another_thread_during_a_poll_is_refused_and_after_wakeup_works(cluster: LocalCluster) -> None:
    cluster.create_topic("busy")
    consumer = _member(cluster)
    consumer.subscribe(["busy"])
    ended: list[Exception] = []

    def read() -> None:
        try:
            consumer.poll(20)
        except Exception as error:
            ended.append(error)

    reader = threading.Thread(target=read)
    reader.start()
    time.sleep(0.3)
    with pytest.raises(IllegalState, match="not safe for multi-threaded access"):
        consumer.close()
    consumer.wakeup()
    reader.join(10)
    assert [type(error).__name__ for error in ended] == ["WakeUp"]
    consumer.close()


def test_interceptors_that_fail_do_no_harm(cluster: LocalCluster) -> None:
    class Failing(ConsumerInterceptor):
        def on_consume(self, records: list[ConsumerRecord]) -> list[ConsumerRecord]:
            raise RuntimeError("on purpose")

    class Shortening(ConsumerInterceptor):
        def on_consume(self, records: list[ConsumerRecord]) -> list[ConsumerRecord]:
            return records[:1]

    cluster.create_topic("intercepted")
    produce(cluster, "intercepted", [b"a", b"b"])
    with _member(cluster, interceptor_classes=[Failing(), Shortening()]) as consumer:
        consumer.subscribe(["intercepted"])
        assert [record.value for record in take(consumer, 1)] == [b"a"]


def test_a_forked_child_is_told_to_make_its_own(cluster: LocalCluster) -> None:
    with _member(cluster) as consumer:
        child = os.fork()
        if child == 0:
            try:
                consumer.poll(0)
            except ClientClosed:
                os._exit(7)
            os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
