"""Produce as clients of all ages send it, and every refusal that it has."""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable

import pytest

from moldau.base.clock import SystemClock
from moldau.base.error_codes import ErrorCode
from moldau.protocol.codec import encode
from moldau.protocol.headers import encode_request_header
from moldau.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from moldau.records.batch import Producer
from moldau.records.builder import build_batch
from moldau.records.compression import CompressionType
from moldau.records.legacy import build_message_set
from moldau.records.reader import read_batch
from moldau.records.record import Record
from moldau.records.walk import batches
from moldau.testing.local_cluster import LocalCluster
from tests.broker.requests_to_broker import NOW_MS, Broker, records

VALUES = [b"one", b"two", b"three"]


def values_of(data: bytes | memoryview | None) -> list[bytes | None]:
    assert data is not None
    return [record.value for batch in batches(data) for record in read_batch(batch)]


@pytest.mark.parametrize("version", range(14))
def test_every_version_appends_and_tells_the_offset(broker: Broker, moldau_topic: str, version: int) -> None:
    rows = [Record(n, NOW_MS, b"k", value) for n, value in enumerate(VALUES)]
    data = build_batch(rows) if version >= 3 else build_message_set(rows, 0 if version < 2 else 1)
    first = broker.produce(moldau_topic, bytes(data), version)
    again = broker.produce(moldau_topic, bytes(data), version)
    assert (first.error_code, first.base_offset, again.base_offset) == (0, 0, 3)
    assert values_of(broker.fetch(moldau_topic).records) == VALUES * 2


@pytest.mark.parametrize("acks", [1, -1])
def test_what_is_acknowledged_can_be_fetched_at_once(broker: Broker, moldau_topic: str, acks: int) -> None:
    assert broker.produce(moldau_topic, records(b"x"), acks=acks).error_code == 0
    answer = broker.fetch(moldau_topic)
    assert (answer.high_watermark, values_of(answer.records)) == (1, [b"x"])


@pytest.mark.parametrize("codec", list(CompressionType))
def test_compressed_batches_stay_as_they_are(broker: Broker, moldau_topic: str, codec: CompressionType) -> None:
    data = records(*VALUES, compression_type=codec)
    assert broker.produce(moldau_topic, data).error_code == 0
    fetched = bytes(broker.fetch(moldau_topic).records or b"")
    assert fetched[21:] == data[21:]  # all but offset, length and epoch


def two_batches() -> bytes:
    return records(b"x") * 2


def bad_checksum() -> bytes:
    return records(b"x")[:-1] + b"!"


def cut_short() -> bytes:
    return records(b"x" * 100)[:-10]


def message_set() -> bytes:
    return bytes(build_message_set([Record(0, NOW_MS, None, b"x")], 1))


def zstd() -> bytes:
    return records(b"x" * 100, compression_type=CompressionType.ZSTD)


@pytest.mark.parametrize(
    ("data", "version", "code"),
    [
        (bad_checksum, 9, ErrorCode.CORRUPT_MESSAGE),
        (cut_short, 9, ErrorCode.CORRUPT_MESSAGE),
        (two_batches, 9, ErrorCode.INVALID_RECORD),
        (message_set, 9, ErrorCode.INVALID_RECORD),
        (bytes, 9, ErrorCode.INVALID_RECORD),
        (zstd, 6, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE),
    ],
)
def test_records_that_are_not_as_they_should_be_are_refused(
    broker: Broker, moldau_topic: str, data: Callable[[], bytes], version: int, code: ErrorCode
) -> None:
    outcome = broker.produce(moldau_topic, data(), version)
    assert (ErrorCode(outcome.error_code), outcome.base_offset) == (code, -1)
    assert broker.offset(moldau_topic, -1).offset == 0


def test_no_records_at_all_are_refused(broker: Broker, moldau_topic: str) -> None:
    assert broker.produce(moldau_topic, None).error_code == ErrorCode.INVALID_RECORD


def test_an_unknown_topic_and_an_unknown_partition(broker: Broker, moldau_topic: str) -> None:
    assert broker.produce("no-such-topic", records(b"x")).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    outcome = broker.produce(moldau_topic, records(b"x"), partition=9)
    assert outcome.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_an_unknown_topic_id(broker: Broker) -> None:
    one = PartitionProduceData(index=0, records=records(b"x"))
    request = ProduceRequest(acks=1, topic_data=[TopicProduceData(topic_id=b"?" * 16, partition_data=[one])])
    answer = broker.cluster.request(request, 13)
    assert answer.responses[0].partition_responses[0].error_code == ErrorCode.UNKNOWN_TOPIC_ID


@pytest.mark.parametrize("acks", [-2, 2, 7])
def test_acks_that_nobody_knows_are_refused(broker: Broker, moldau_topic: str, acks: int) -> None:
    assert broker.produce(moldau_topic, records(b"x"), acks=acks).error_code == ErrorCode.INVALID_REQUIRED_ACKS


def test_a_batch_larger_than_the_topic_allows(broker: Broker) -> None:
    broker.cluster.create_topic("small-messages", config={"max.message.bytes": "100"})
    outcome = broker.produce("small-messages", records(b"x" * 200))
    assert outcome.error_code == ErrorCode.MESSAGE_TOO_LARGE
    assert "max.message.bytes" in (outcome.error_message or "")


def test_a_timestamp_out_of_the_topics_bounds(broker: Broker) -> None:
    broker.cluster.create_topic("fresh-only", config={"message.timestamp.before.max.ms": "1000"})
    assert broker.produce("fresh-only", records(b"x", timestamp=5)).error_code == ErrorCode.INVALID_TIMESTAMP


def test_a_compacted_topic_wants_keys(broker: Broker) -> None:
    broker.cluster.create_topic("compacted", config={"cleanup.policy": "compact"})
    outcome = broker.produce("compacted", records(b"x", key=None))
    assert outcome.error_code == ErrorCode.INVALID_RECORD
    assert outcome.record_errors


def test_acks_all_needs_enough_in_sync_replicas_and_acks_1_does_not(broker: Broker) -> None:
    # No more can be needed than there are replicas (KIP-966), so that one replica is always enough.
    broker.cluster.create_topic("two-needed", config={"min.insync.replicas": "2"})
    assert broker.produce("two-needed", records(b"x"), acks=1).error_code == 0


def test_log_append_time_is_told_and_stored(broker: Broker) -> None:
    broker.cluster.create_topic("stamped", config={"message.timestamp.type": "LogAppendTime"})
    outcome = broker.produce("stamped", records(b"x", timestamp=5))
    assert outcome.log_append_time_ms > NOW_MS
    (batch,) = batches(broker.fetch("stamped").records or b"")
    assert batch.max_timestamp == outcome.log_append_time_ms


def idempotent(sequence: int, producer_id: int = 4711, epoch: int = 0) -> bytes:
    return records(b"x", producer=Producer(producer_id, epoch, sequence))


def test_an_idempotent_producer_is_deduplicated_and_kept_in_order(broker: Broker, moldau_topic: str) -> None:
    assert [broker.produce(moldau_topic, idempotent(n)).base_offset for n in (0, 1, 2)] == [0, 1, 2]
    again = broker.produce(moldau_topic, idempotent(1))
    assert (again.error_code, again.base_offset) == (0, 1)
    assert broker.produce(moldau_topic, idempotent(9)).error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert broker.produce(moldau_topic, idempotent(0, epoch=1)).error_code == 0
    assert broker.produce(moldau_topic, idempotent(3)).error_code == ErrorCode.INVALID_PRODUCER_EPOCH
    assert broker.offset(moldau_topic, -1).offset == 4


def test_whatever_was_in_flight_is_known_after_a_restart() -> None:
    def idempotent(sequence: int) -> bytes:
        """Of today: what is older than a day is not remembered."""
        rows = [Record(0, SystemClock().now_ms(), None, b"x")]
        return bytes(build_batch(rows, producer=Producer(4711, 0, sequence)))

    with LocalCluster() as cluster:
        cluster.create_topic("orders")
        broker = Broker(cluster)
        assert [broker.produce("orders", idempotent(n)).base_offset for n in range(6)] == list(range(6))
        cluster.restart()
        broker = Broker(cluster)
        again = [broker.produce("orders", idempotent(n)) for n in range(1, 6)]
        assert [(one.error_code, one.base_offset) for one in again] == [(0, n) for n in range(1, 6)]
        assert broker.produce("orders", idempotent(0)).error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
        assert broker.produce("orders", idempotent(6)).base_offset == 6


def frame_of(topic: str, data: bytes, acks: int, correlation_id: int = 1) -> bytes:
    one = PartitionProduceData(index=0, records=data)
    request = ProduceRequest(acks=acks, topic_data=[TopicProduceData(name=topic, partition_data=[one])])
    frame = encode_request_header(0, 9, correlation_id, "raw") + encode(request, 9)
    return struct.pack(">i", len(frame)) + frame


def connect(cluster: LocalCluster) -> socket.socket:
    host, port = cluster.bootstrap_servers.split(":")
    return socket.create_connection((host, int(port)), timeout=5)


def test_acks_0_is_not_answered(broker: Broker, moldau_topic: str) -> None:
    with connect(broker.cluster) as raw:
        raw.sendall(frame_of(moldau_topic, records(b"x"), 0, 1) + frame_of(moldau_topic, records(b"y"), 1, 2))
        assert struct.unpack(">ii", raw.recv(8, socket.MSG_WAITALL))[1] == 2
    assert broker.offset(moldau_topic, -1).offset == 2


def test_acks_0_that_fails_closes_the_connection(broker: Broker) -> None:
    with connect(broker.cluster) as raw:
        raw.sendall(frame_of("no-such-topic-either", records(b"x"), 0))
        assert raw.recv(1) == b""


def test_flush_messages_acknowledges_what_is_on_disk(broker: Broker) -> None:
    broker.cluster.create_topic("flushed", config={"flush.messages": "1"})
    assert broker.produce("flushed", records(b"x")).error_code == 0
    log = broker.cluster.run_in_loop(lambda node: node.replicas.log(("flushed", 0)))
    assert log.recovery_point == 1
