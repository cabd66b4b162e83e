"""The producer against a real broker: both faces, settings, callbacks, interceptors, threads, transactions."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

from moldau import Producer, aio
from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError, ConfigError
from moldau.clients.errors import (
    ClientClosed,
    IllegalState,
    ProducerFenced,
    RecordTooLarge,
    SerializationError,
    TransactionAborted,
)
from moldau.clients.producer.interceptors import ProducerRecord
from moldau.clients.records import GroupMetadata, OffsetAndMetadata, RecordMetadata, TopicPartition
from moldau.testing.local_cluster import LocalCluster
from tests.clients.stored_records import stored, stored_batches


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    config = {"transaction.state.log.num.partitions": "1", "offsets.topic.num.partitions": "1", "num.partitions": "3"}
    with LocalCluster(config) as running:
        yield running


@pytest.fixture
def topic(cluster: LocalCluster, request: pytest.FixtureRequest) -> str:
    name = str(request.node.name).replace("[", "-").replace("]", "")
    cluster.create_topic(name, 3)
    return name


@pytest.fixture
def producer(cluster: LocalCluster) -> Iterator[Producer]:
    with Producer(bootstrap_servers=cluster.bootstrap_servers) as made:
        yield made


def test_a_record_arrives_as_it_was_sent(cluster: LocalCluster, producer: Producer, topic: str) -> None:
    future = producer.send(topic, "värde", key=b"k", headers=[("h", b"1"), ("n", None)], partition=2, timestamp=77)
    assert future.result(10) == RecordMetadata(topic, 2, 0, 77, 1, 6)
    (record,) = stored(cluster, topic, 2)
    assert (record.key, record.value, record.timestamp) == (b"k", "värde".encode(), 77)
    assert record.headers == (("h", b"1"), ("n", None))


def test_the_asyncio_face_gives_a_future_that_is_awaited(cluster: LocalCluster, topic: str) -> None:
    async def run() -> list[RecordMetadata]:
        async with aio.Producer({"bootstrap.servers": cluster.bootstrap_servers, "linger.ms": 5}) as producer:
            futures = [await producer.send(topic, b"%d" % number, partition=0) for number in range(20)]
            return [await future for future in futures]

    assert [each.offset for each in asyncio.run(run())] == list(range(20))


def test_many_threads_share_a_producer(cluster: LocalCluster, topic: str) -> None:
    per_thread = 500
    with Producer(bootstrap_servers=cluster.bootstrap_servers, linger_ms=5) as producer:

        def work(name: int) -> None:
            for number in range(per_thread):
                producer.send(topic, b"%d-%d" % (name, number), partition=name % 3)

        threads = [threading.Thread(target=work, args=(name,)) for name in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        producer.flush(30)
    values = [record.value or b"" for partition in range(3) for record in stored(cluster, topic, partition)]
    assert len(values) == len(set(values)) == 6 * per_thread
    for name in range(6):
        mine = [int(value.partition(b"-")[2]) for value in values if value.startswith(b"%d-" % name)]
        assert mine == sorted(mine)


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd"])
def test_compressed_batches_are_stored_as_sent(cluster: LocalCluster, topic: str, codec: str) -> None:
    with Producer(bootstrap_servers=cluster.bootstrap_servers, compression_type=codec, linger_ms=20) as producer:
        futures = [producer.send(topic, b"river " * 20, partition=0) for _ in range(50)]
        assert futures[-1].result(10).offset == 49
    batches = stored_batches(cluster, topic, 0)
    assert {batch.compression_type.name.lower() for batch in batches} == {codec}
    assert [record.value for record in stored(cluster, topic, 0)] == [b"river " * 20] * 50


def test_exactly_one_of_metadata_and_error_is_none_in_a_callback(cluster: LocalCluster, topic: str) -> None:
    fates: list[tuple[RecordMetadata | None, Exception | None]] = []
    cluster.create_topic(f"{topic}-small", 1, {"max.message.bytes": "200"})
    with Producer(bootstrap_servers=cluster.bootstrap_servers) as producer:
        producer.send(topic, b"fits", on_delivery=lambda *fate: fates.append(fate)).result(10)
        failed = producer.send(f"{topic}-small", b"x" * 400, on_delivery=lambda *fate: fates.append(fate))
        assert isinstance(failed.exception(10), RecordTooLarge)
    assert [(metadata is None, error is None) for metadata, error in fates] == [(False, True), (True, False)]


def test_batches_too_large_for_the_topic_are_split(cluster: LocalCluster, topic: str) -> None:
    cluster.create_topic(f"{topic}-small", 1, {"max.message.bytes": "1000"})
    with Producer(bootstrap_servers=cluster.bootstrap_servers, linger_ms=50) as producer:
        futures = [producer.send(f"{topic}-small", b"%3d" % number * 30) for number in range(60)]
        producer.flush(20)
        assert [future.result(0).offset for future in futures] == list(range(60))
        assert producer.metrics()["batch-split-total"] > 0
    assert [record.value for record in stored(cluster, f"{topic}-small", 0)] == [b"%3d" % n * 30 for n in range(60)]


class Stamping:
    def on_send(self, record: ProducerRecord) -> ProducerRecord:
        return record._replace(value=f"stamp,{record.value}")


class Counting:
    def __init__(self) -> None:
        self.sent = self.failed = 0
        self.closed = False

    def on_send(self, _record: ProducerRecord) -> ProducerRecord:
        raise ValueError("must only be logged")

    def on_acknowledgement(self, _metadata: RecordMetadata | None, error: Exception | None) -> None:
        self.sent += error is None
        self.failed += error is not None

    def close(self) -> None:
        self.closed = True


def test_interceptors_see_records_and_acknowledgements_and_cannot_stop_them(cluster: LocalCluster, topic: str) -> None:
    counting = Counting()
    chain = [Stamping, counting]
    with Producer(bootstrap_servers=cluster.bootstrap_servers, interceptor_classes=chain) as producer:
        for number in range(10):
            producer.send(topic, f"message{number}", partition=0)
        with pytest.raises(RecordTooLarge):
            producer.send(topic, "x" * 2_000_000)
    assert (counting.sent, counting.failed, counting.closed) == (10, 1, True)
    assert [record.value for record in stored(cluster, topic, 0)] == [b"stamp,message%d" % n for n in range(10)]


class AuditPartitioner:
    def partition(self, topic: str, key: Any, _key_bytes: Any, _value: Any, _value_bytes: Any, cluster: Any) -> int:
        last = len(cluster.available_partitions(topic)) - 1
        return last if key and "audit" in key else int.from_bytes(os.urandom(1), "big") % last


def test_a_partitioner_of_the_users_chooses(cluster: LocalCluster, topic: str) -> None:
    settings: dict[str, object] = {"partitioner.class": AuditPartitioner, "key.serializer": str.encode}
    with Producer({"bootstrap.servers": cluster.bootstrap_servers, **settings}) as producer:
        for key in (None, "other", "audit", None, "other"):
            producer.send(topic, "v", key=key)
        producer.send(topic, "v", key="audit", partition=0)
    counts = [len(stored(cluster, topic, partition)) for partition in range(3)]
    assert counts[2] == 1
    assert sum(counts) == 6


def test_round_robin_by_its_java_name(cluster: LocalCluster, topic: str) -> None:
    name = "org.apache.kafka.clients.producer.RoundRobinPartitioner"
    with Producer(bootstrap_servers=cluster.bootstrap_servers, partitioner_class=name) as producer:
        for _ in range(9):
            producer.send(topic, b"v", key=b"same")
    assert [len(stored(cluster, topic, partition)) for partition in range(3)] == [3, 3, 3]


def test_brokers_before_0_11_get_message_sets(
    cluster: LocalCluster, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("moldau.clients.producer.sender.PRODUCE_VERSION_MAX", 2)
    settings: dict[str, object] = {"enable.idempotence": False, "compression.type": "gzip", "linger.ms": 20}
    with Producer({"bootstrap.servers": cluster.bootstrap_servers, **settings}) as producer:
        futures = [producer.send(topic, b"v%d" % number, key=b"k", partition=0) for number in range(5)]
        assert [future.result(10).offset for future in futures] == list(range(5))
    assert [record.value for record in stored(cluster, topic, 0)] == [b"v%d" % number for number in range(5)]


@pytest.mark.parametrize("acks", ["0", "1", "all"])
def test_acks(cluster: LocalCluster, topic: str, acks: str) -> None:
    with Producer(bootstrap_servers=cluster.bootstrap_servers, acks=acks) as producer:
        offsets = [producer.send(topic, b"v", partition=0).result(10).offset for _ in range(3)]
    assert offsets == ([-1, -1, -1] if acks == "0" else [0, 1, 2])
    assert len(stored(cluster, topic, 0)) == 3


def test_columns_are_written_as_records(cluster: LocalCluster, producer: Producer, topic: str) -> None:
    keys = [b"a", b"b", None, b"a"]
    table = pa.table({"value": pa.array([b"1", b"2", b"3", None]), "key": pa.array(keys, pa.binary())})
    written = producer.send_batch(topic, table).result(10)
    assert sum(each.rows for each in written) == 4
    rows = [(record.key, record.value) for partition in range(3) for record in stored(cluster, topic, partition)]
    assert sorted(rows, key=repr) == sorted(zip(keys, [b"1", b"2", b"3", None], strict=True), key=repr)
    assert producer.send(topic, b"2", key=b"b").result(10).partition == next(
        partition for partition in range(3) if any(record.key == b"b" for record in stored(cluster, topic, partition))
    )


def test_columns_larger_than_the_buffer_are_written_in_their_order(cluster: LocalCluster, topic: str) -> None:
    values = [b"%05d" % row + bytes(1000) for row in range(10_000)]
    table = pa.table({"value": pa.array(values, pa.binary())})
    with Producer(bootstrap_servers=cluster.bootstrap_servers, buffer_memory=2_000_000) as producer:
        written = producer.send_batch(topic, table, partition=0).result(20)
    assert [(each.base_offset, each.rows) for each in written] == [
        (sum(each.rows for each in written[:index]), written[index].rows) for index in range(len(written))
    ]
    assert [record.value for record in stored(cluster, topic, 0)] == values


def test_columns_of_the_asyncio_face_leave_the_loop_to_others(cluster: LocalCluster, topic: str) -> None:
    values = [b"%05d" % row + bytes(1000) for row in range(10_000)]
    table = pa.table({"value": pa.array(values, pa.binary())})

    async def run() -> tuple[int, int]:
        async with aio.Producer(bootstrap_servers=cluster.bootstrap_servers) as producer:
            await producer.partitions_for(topic)
            sending = asyncio.create_task(producer.send_batch(topic, table, partition=0))
            turns = 0
            while not sending.done():
                turns += 1
                await asyncio.sleep(0)
            return turns, len(await (await sending))

    turns, batches = asyncio.run(run())
    assert turns >= batches > 10
    assert [record.value for record in stored(cluster, topic, 0)] == values


def test_what_is_wrong_with_columns_is_said_before_anything_is_sent(
    cluster: LocalCluster, producer: Producer, topic: str
) -> None:
    nullable = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
    headers = [[{"key": "k", "value": b"x"}]] * 20_000 + [[{"key": None, "value": b"x"}]]
    table = pa.table({"value": [b"v" * 100] * 20_001, "headers": pa.array(headers, nullable)})
    with pytest.raises(ApiError, match="a header has no key"):
        producer.send_batch(topic, table, partition=0)
    producer.flush()
    assert stored(cluster, topic, 0) == []


def test_what_cannot_be_sent_is_said_where_it_is_sent(producer: Producer, topic: str) -> None:
    with pytest.raises(SerializationError, match="value of a record of topic"):
        producer.send(topic, 7)
    with pytest.raises(ValueError, match="negative"):
        producer.send(topic, b"v", timestamp=-5)
    with pytest.raises(ValueError, match="partition -1"):
        producer.send(topic, b"v", partition=-1)
    with pytest.raises(TypeError, match="a header is a text and bytes"):
        producer.send(topic, b"v", headers={"h": 1})
    with pytest.raises(ApiError) as refused:
        producer.send("not a topic!", b"v")
    assert refused.value.code is ErrorCode.INVALID_TOPIC_EXCEPTION
    with pytest.raises(IllegalState, match=r"transactional\.id"):
        producer.init_transactions()


def test_a_producer_that_cannot_be_made_leaves_no_thread() -> None:
    before = threading.active_count()
    with pytest.raises(ConfigError, match="SASL"):
        Producer(bootstrap_servers="localhost:1", security_protocol="SASL_SSL")
    assert threading.active_count() == before


# -- transactions


def test_a_transaction_is_visible_as_a_whole_or_not_at_all(cluster: LocalCluster, topic: str) -> None:
    with Producer(bootstrap_servers=cluster.bootstrap_servers, transactional_id=topic) as producer:
        with pytest.raises(IllegalState, match="init_transactions"):
            producer.begin_transaction()
        producer.init_transactions()
        with pytest.raises(IllegalState, match="begin_transaction"):
            producer.send(topic, b"v")
        producer.begin_transaction()
        futures = [producer.send(topic, b"yes", partition=partition) for partition in range(3)]
        group = GroupMetadata(f"{topic}-group")
        producer.send_offsets_to_transaction({TopicPartition(topic, 0): OffsetAndMetadata(1, "note")}, group)
        producer.commit_transaction()
        assert all(future.result(0).offset == 0 for future in futures)
        producer.begin_transaction()
        producer.send(topic, b"no", partition=0).result(10)
        producer.abort_transaction()
        producer.begin_transaction()
        producer.commit_transaction()  # an empty one
    assert [record.value for record in stored(cluster, topic, 0, committed=True)] == [b"yes"]


def test_what_waits_when_its_transaction_is_aborted_was_never_sent(cluster: LocalCluster, topic: str) -> None:
    with Producer(bootstrap_servers=cluster.bootstrap_servers, transactional_id=topic, linger_ms=5000) as producer:
        producer.init_transactions()
        producer.begin_transaction()
        future = producer.send(topic, b"v")
        producer.abort_transaction()
        assert isinstance(future.exception(0), TransactionAborted)
        producer.begin_transaction()
        again = producer.send(topic, b"v")
        producer.commit_transaction()
        assert again.result(0).offset == 0


def test_a_second_producer_of_the_same_id_fences_the_first(cluster: LocalCluster, topic: str) -> None:
    settings = {"bootstrap.servers": cluster.bootstrap_servers, "transactional.id": topic}
    with Producer(settings) as old, Producer(settings) as new:
        old.init_transactions()
        old.begin_transaction()
        old.send(topic, b"old").result(10)
        new.init_transactions()
        with pytest.raises(ProducerFenced):
            old.commit_transaction()
        with pytest.raises(ProducerFenced):
            old.begin_transaction()
        new.begin_transaction()
        new.send(topic, b"new", partition=0)
        new.commit_transaction()
    values = [r.value for partition in range(3) for r in stored(cluster, topic, partition, committed=True)]
    assert values == [b"new"]


def test_close_aborts_an_open_transaction(cluster: LocalCluster, topic: str) -> None:
    with Producer(bootstrap_servers=cluster.bootstrap_servers, transactional_id=topic) as producer:
        producer.init_transactions()
        producer.begin_transaction()
        producer.send(topic, b"v", partition=0).result(10)
    assert stored(cluster, topic, 0, committed=True) == []
    with pytest.raises(ClientClosed):
        producer.begin_transaction()
