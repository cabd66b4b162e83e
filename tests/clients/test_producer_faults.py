"""What goes wrong around a producer: nothing hangs, nothing acknowledged is lost, and the error says what to do."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import threading
import time
from collections.abc import Iterator
from itertools import islice
from typing import Any

import pytest

from moldau import Consumer, Producer, aio
from moldau.clients.errors import BufferExhausted, ClientClosed, IllegalState, RecordTooLarge, TimedOut, TopicMissing
from moldau.clients.producer.futures import RecordFuture
from moldau.clients.records import RecordMetadata
from moldau.testing.local_cluster import LocalCluster
from tests.clients.stored_records import stored

NOBODY = "127.0.0.1:1"


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    with LocalCluster() as running:
        yield running


@pytest.fixture
def topic(cluster: LocalCluster, request: pytest.FixtureRequest) -> str:
    name = str(request.node.name).replace("[", "-").replace("]", "")
    cluster.create_topic(name, 1)
    return name


def fill(producer: Producer, topic: str, futures: list[RecordFuture]) -> None:
    for _ in range(100):
        futures.append(producer.send(topic, b"x" * 5000))  # noqa: PERF401 - what was taken counts when it raises


def test_without_any_broker_send_gives_up_and_says_what_failed() -> None:
    with Producer(bootstrap_servers=NOBODY, max_block_ms=300) as producer:
        started = time.perf_counter()
        with pytest.raises(TimedOut, match=r"Topic t not present in metadata after 300 ms.*127\.0\.0\.1:1"):
            producer.send("t", b"v")
        assert 0.2 < time.perf_counter() - started < 5


def test_a_topic_that_is_missing_is_created_where_brokers_do_that(cluster: LocalCluster) -> None:
    with Producer(bootstrap_servers=cluster.bootstrap_servers) as producer:
        assert producer.send("created-by-a-producer", b"v").result(10).offset == 0


def test_a_topic_that_nobody_creates_is_told_within_max_block_ms() -> None:
    with LocalCluster({"auto.create.topics.enable": "false"}) as strict:
        servers = strict.bootstrap_servers
        # Longer than the pause between two questions, which becomes a second when a topic stays away.
        with Producer(bootstrap_servers=servers, max_block_ms=2000) as producer:
            started = time.perf_counter()
            with pytest.raises(TopicMissing) as raised:
                producer.send("t", b"v")
            assert 1.9 < time.perf_counter() - started < 10
            strict.create_topic("t")  # and is asked for at once, however long it was asked for in vain
            assert producer.send("t", b"v").result(10).offset == 0
    assert raised.value.message == (
        "Topic t not present in metadata after 2000 ms: UNKNOWN_TOPIC_OR_PARTITION. It does not exist at "
        f"{servers}: create it, or set auto.create.topics.enable=true on the brokers"
    )


def test_a_full_buffer_blocks_and_then_says_so(cluster: LocalCluster, topic: str) -> None:
    settings: dict[str, object] = {"buffer.memory": 40_000, "batch.size": 10_000, "max.block.ms": 200}
    with Producer({"bootstrap.servers": cluster.bootstrap_servers, **settings}) as producer:
        producer.send(topic, b"first").result(10)
        cluster.stop()
        try:
            futures: list[RecordFuture] = []
            with pytest.raises(BufferExhausted, match=r"buffer\.memory=40000 is full.*raise buffer\.memory"):
                fill(producer, topic, futures)
        finally:
            cluster.start()
        assert futures
        assert [future.result(20).offset for future in futures] == list(range(1, 1 + len(futures)))


def test_a_record_for_which_there_will_never_be_memory_is_refused_at_once(cluster: LocalCluster, topic: str) -> None:
    with Producer(bootstrap_servers=cluster.bootstrap_servers, buffer_memory=20_000) as producer:
        with pytest.raises(RecordTooLarge, match=r"buffer\.memory"):
            producer.send(topic, b"x" * 30_000)
        producer.send(topic, b"fits").result(10)


def test_records_survive_a_broker_that_is_gone_for_a_while_once_and_in_order(cluster: LocalCluster, topic: str) -> None:
    fates: list[tuple[RecordMetadata | None, Exception | None]] = []
    with Producer(bootstrap_servers=cluster.bootstrap_servers, batch_size=500) as producer:
        for number in range(300):
            producer.send(topic, b"%d" % number, on_delivery=lambda *fate: fates.append(fate))
            if number in (100, 200):
                cluster.restart()
        producer.flush(30)
    assert [metadata.offset for metadata, _ in fates if metadata is not None] == list(range(300))
    assert [record.value for record in stored(cluster, topic, 0)] == [b"%d" % number for number in range(300)]


def test_records_that_are_awaited_one_by_one_follow_their_leader() -> None:
    """Each goes the way of the one before it, and that way ends when the leader is killed."""
    topic = "t"
    with LocalCluster(brokers=3) as cluster:
        cluster.create_topic(topic, 1, replication_factor=3)

        async def send(producer: aio.Producer, numbers: range) -> list[int]:
            return [(await (await producer.send(topic, b"%d" % number))).offset for number in numbers]

        async def run() -> list[int]:
            async with aio.Producer(bootstrap_servers=cluster.bootstrap_servers, retry_backoff_ms=10) as producer:
                offsets = await send(producer, range(100))
                leader = (await producer.partitions_for(topic))[0].leader
                under_way = asyncio.create_task(send(producer, range(100, 600)))
                await asyncio.sleep(0.02)
                await asyncio.to_thread(cluster.kill_broker, leader)
                offsets += await under_way
                offsets += await send(producer, range(600, 700))
                assert (await producer.partitions_for(topic))[0].leader != leader
                await asyncio.to_thread(cluster.start_broker, leader)
                return offsets + await send(producer, range(700, 800))

        assert asyncio.run(run()) == list(range(800))
        with Consumer(bootstrap_servers=cluster.bootstrap_servers, auto_offset_reset="earliest") as consumer:
            consumer.assign([(topic, 0)])
            values = [record.value for record in islice(consumer, 800)]
        assert values == [b"%d" % number for number in range(800)]


def test_a_deleted_topic_fails_after_the_delivery_timeout(cluster: LocalCluster, topic: str) -> None:
    settings: dict[str, object] = {"delivery.timeout.ms": 700, "request.timeout.ms": 500, "linger.ms": 0}
    with Producer({"bootstrap.servers": cluster.bootstrap_servers, **settings}) as producer:
        producer.send(topic, b"v").result(10)
        cluster.delete_topic(topic)
        # The topic comes back if the broker makes topics by itself; either way the record has a fate in time.
        producer.send(topic, b"v").exception(10)


def test_a_send_from_a_callback_works_and_waiting_there_is_refused(cluster: LocalCluster, topic: str) -> None:
    outcome: list[Any] = []
    done = threading.Event()
    with Producer(bootstrap_servers=cluster.bootstrap_servers) as producer:

        def again(_metadata: RecordMetadata | None, _error: Exception | None) -> None:
            outcome.append(producer.send(topic, b"second"))
            try:
                producer.flush()
            except IllegalState as error:
                outcome.append(error)
            done.set()

        producer.send(topic, b"first", on_delivery=again)
        assert done.wait(10)
        assert outcome[0].result(10).offset == 1
        assert "wait for itself" in str(outcome[1])


def test_close_in_a_failing_callback_drops_what_waits(cluster: LocalCluster, topic: str) -> None:
    cluster.create_topic(f"{topic}-small", 1, {"max.message.bytes": "100"})
    producer = Producer(bootstrap_servers=cluster.bootstrap_servers, linger_ms=2000, batch_size=300)
    waiting = producer.send(topic, b"lingers")

    def close_if_failed(_metadata: RecordMetadata | None, error: Exception | None) -> None:
        if error is not None:
            producer.close(0)

    producer.send(f"{topic}-small", b"x" * 300, on_delivery=close_if_failed)
    producer.send(f"{topic}-small", b"y" * 300)
    assert isinstance(waiting.exception(10), ClientClosed)
    with pytest.raises(ClientClosed):
        producer.send(topic, b"late")


def test_close_sends_what_waits_and_close_0_drops_it(cluster: LocalCluster, topic: str) -> None:
    producer = Producer(bootstrap_servers=cluster.bootstrap_servers, linger_ms=60_000, delivery_timeout_ms=120_000)
    kept = producer.send(topic, b"kept")
    producer.close()
    assert kept.result(0).offset == 0
    producer = Producer(bootstrap_servers=cluster.bootstrap_servers, linger_ms=60_000, delivery_timeout_ms=120_000)
    dropped = producer.send(topic, b"dropped")
    producer.close(0)
    assert isinstance(dropped.exception(0), ClientClosed)
    producer.close()
    assert [record.value for record in stored(cluster, topic, 0)] == [b"kept"]


def test_close_during_sends_of_other_threads_answers_every_record(cluster: LocalCluster, topic: str) -> None:
    producer = Producer(bootstrap_servers=cluster.bootstrap_servers)
    futures: list[Any] = []
    refused: list[ClientClosed] = []

    def work() -> None:
        try:
            while True:
                futures.append(producer.send(topic, b"v"))
        except ClientClosed as error:
            refused.append(error)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    time.sleep(0.1)
    producer.close(5)
    for thread in threads:
        thread.join(10)
    assert len(refused) == 3
    fates = [future.exception(5) for future in futures]
    written = sum(fate is None for fate in fates)
    assert all(fate is None or isinstance(fate, ClientClosed) for fate in fates)
    assert written <= len(stored(cluster, topic, 0))


def _in_child(producer: Producer, topic: str, answers: Any) -> None:
    try:
        producer.send(topic, b"v")
    except ClientClosed as error:
        answers.put(str(error))


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_is_told_to_make_its_own(cluster: LocalCluster, topic: str) -> None:
    context = multiprocessing.get_context("fork")
    answers = context.SimpleQueue()
    with Producer(bootstrap_servers=cluster.bootstrap_servers) as producer:
        producer.send(topic, b"v").result(10)
        child = context.Process(target=_in_child, args=(producer, topic, answers), daemon=True)
        child.start()
        child.join(20)
        assert child.exitcode == 0
        assert "make a client after the fork" in answers.get()
        assert producer.send(topic, b"v").result(10).offset == 1
    assert os.getpid() != child.pid


def test_a_loop_closed_under_an_asyncio_producer_is_named(cluster: LocalCluster, topic: str) -> None:
    loop = asyncio.new_event_loop()

    async def make() -> aio.Producer:
        producer = aio.Producer(bootstrap_servers=cluster.bootstrap_servers)
        await (await producer.send(topic, b"v"))
        await producer.close()
        return producer

    producer = loop.run_until_complete(make())
    loop.close()

    async def send() -> None:
        await producer.send(topic, b"v")

    with pytest.raises(ClientClosed):
        asyncio.run(send())
