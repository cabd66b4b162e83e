"""Records written by real clients are read by us, and ours by them: five codecs, headers, nulls, large values."""

from __future__ import annotations

import asyncio
import random
import warnings
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from moldau.records.builder import build_batch
from moldau.records.compression import CompressionType
from moldau.records.record import Record
from tests.compat.record_server import RecordServer
from tests.java_tools import fetch_jars, require_java, run_java

CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]
JARS = [
    "org.apache.kafka:kafka-clients:3.9.1",
    "org.slf4j:slf4j-api:1.7.36",
    "org.slf4j:slf4j-nop:1.7.36",
    "org.xerial.snappy:snappy-java:1.1.10.5",
    "org.lz4:lz4-java:1.8.0",
    "com.github.luben:zstd-jni:1.5.6-4",
]
PATIENCE_S = 30.0

Row = tuple[int, bytes | None, bytes | None, tuple[tuple[str, bytes | None], ...]]


def some_rows() -> list[Row]:
    """Records with all that can be in them: nulls, empties, headers, text that compresses, noise that does not."""
    rng = random.Random(5)
    rows: list[Row] = [
        (1_700_000_000_000, None, b"no key", ()),
        (1_700_000_000_005, b"key", None, ()),
        (1_700_000_000_003, b"", b"", ()),
        (1_700_000_000_009, b"k", b"v", (("name", b"value"), ("name", b"again"), ("null", None), ("größe", b""))),
        (1_700_000_000_010, b"large", rng.randbytes(40_000), ()),
    ]
    rows += [
        (1_700_000_000_020 + n, b"key-%d" % n, b"the same words again and again " * (n % 9), ()) for n in range(200)
    ]
    return rows


def rows_of(records: list[Record]) -> list[Row]:
    return [(record.timestamp, record.key, record.value, record.headers) for record in records]


@pytest.fixture(scope="module")
def server() -> Iterator[RecordServer]:
    with RecordServer() as running:
        yield running


def put_ours(server: RecordServer, topic: str, codec: str) -> None:
    """A topic with batches of ours, several of them."""
    records = [Record(offset, *row) for offset, row in enumerate(some_rows())]
    server.logs[topic] = bytearray()
    for start in range(0, len(records), 60):
        part = records[start : start + 60]
        server.logs[topic] += build_batch(part, CompressionType[codec.upper()], base_offset=start)


# -- the clients: each produces rows to a topic, and consumes rows from one


def confluent_produce(address: str, topic: str, codec: str, rows: list[Row]) -> None:
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": address, "compression.type": codec, "linger.ms": 50, "acks": "all"})
    for timestamp, key, value, headers in rows:
        producer.produce(topic, value, key, 0, timestamp=timestamp, headers=list(headers))
    assert producer.flush(PATIENCE_S) == 0


def confluent_consume(address: str, topic: str, count: int) -> list[Row]:
    from confluent_kafka import Consumer, TopicPartition

    consumer = Consumer(
        {"bootstrap.servers": address, "group.id": "g", "check.crcs": True, "enable.auto.commit": False}
    )
    consumer.assign([TopicPartition(topic, 0, 0)])
    rows: list[Row] = []
    while len(rows) < count:
        messages = consumer.consume(count, PATIENCE_S)
        assert messages, "the consumer got nothing"
        for message in messages:
            assert message.error() is None, message.error()
            headers = tuple((name, value) for name, value in message.headers() or ())
            rows.append((message.timestamp()[1], message.key(), message.value(), headers))
    consumer.close()
    return rows


def kafka_python_produce(address: str, topic: str, codec: str, rows: list[Row]) -> None:
    from kafka import KafkaProducer

    producer = KafkaProducer(
        bootstrap_servers=address,
        compression_type=None if codec == "none" else codec,
        linger_ms=50,
        acks="all",
        enable_idempotence=False,
    )
    with closing(producer):
        sent = [
            producer.send(topic, value, key, list(headers), 0, timestamp) for timestamp, key, value, headers in rows
        ]
        for future in sent:
            future.get(PATIENCE_S)


def kafka_python_consume(address: str, topic: str, count: int) -> list[Row]:
    from kafka import KafkaConsumer, TopicPartition

    rows: list[Row] = []
    with closing(KafkaConsumer(bootstrap_servers=address, check_crcs=True)) as consumer:
        consumer.assign([TopicPartition(topic, 0)])
        consumer.seek(TopicPartition(topic, 0), 0)
        while len(rows) < count:
            for records in consumer.poll(1000).values():
                rows += [(r.timestamp, r.key, r.value, tuple(r.headers)) for r in records]
    return rows


def aiokafka_produce(address: str, topic: str, codec: str, rows: list[Row]) -> None:
    from aiokafka import AIOKafkaProducer

    async def run() -> None:
        compression = None if codec == "none" else codec
        async with AIOKafkaProducer(
            bootstrap_servers=address, compression_type=compression, linger_ms=50, acks="all"
        ) as producer:
            sent = [
                await producer.send(topic, value, key, 0, timestamp, list(headers))
                for timestamp, key, value, headers in rows
            ]
            await asyncio.wait_for(asyncio.gather(*sent), PATIENCE_S)

    asyncio.run(run())


def aiokafka_consume(address: str, topic: str, count: int) -> list[Row]:
    from aiokafka import AIOKafkaConsumer, TopicPartition

    async def run() -> list[Row]:
        rows: list[Row] = []
        async with AIOKafkaConsumer(bootstrap_servers=address, check_crcs=True) as consumer:
            consumer.assign([TopicPartition(topic, 0)])
            consumer.seek(TopicPartition(topic, 0), 0)
            while len(rows) < count:
                for records in (await consumer.getmany(timeout_ms=1000)).values():
                    rows += [(r.timestamp, r.key, r.value, tuple(r.headers)) for r in records]
        return rows

    return asyncio.run(run())


def java_produce(address: str, topic: str, codec: str, rows: list[Row]) -> None:
    lines = "\n".join(
        " ".join([str(timestamp), _hex(key), _hex(value), *(_hex(part) for pair in headers for part in pair)])
        for timestamp, key, value, headers in rows
    )
    _java("produce", address, topic, codec, stdin=lines)


def java_consume(address: str, topic: str, count: int) -> list[Row]:
    rows: list[Row] = []
    for line in _java("consume", address, topic, str(count)).splitlines():
        timestamp, key, value, *headers = line.split(" ")
        named = [
            ((_bytes(name) or b"").decode(), _bytes(text))
            for name, text in zip(headers[::2], headers[1::2], strict=True)
        ]
        rows.append((int(timestamp), _bytes(key), _bytes(value), tuple(named)))
    return rows


def _java(*arguments: str, stdin: str = "") -> str:
    require_java()
    return run_java(Path(__file__).with_name("ClientRoundTrip.java"), fetch_jars(*JARS), *arguments, stdin=stdin)


def _hex(data: str | bytes | None) -> str:
    return "-" if data is None else "x" + (data.encode() if isinstance(data, str) else data).hex()


def _bytes(text: str) -> bytes | None:
    return None if text == "-" else bytes.fromhex(text[1:])


Produce = Callable[[str, str, str, list[Row]], None]
Consume = Callable[[str, str, int], list[Row]]
CLIENTS: list[tuple[str, Produce, Consume]] = [
    ("librdkafka", confluent_produce, confluent_consume),
    ("kafka-python", kafka_python_produce, kafka_python_consume),
    ("aiokafka", aiokafka_produce, aiokafka_consume),
]
JAVA = pytest.param("java", java_produce, java_consume, marks=[pytest.mark.java])


@pytest.mark.slow
@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize(("name", "produce", "consume"), [*CLIENTS, JAVA])
def test_their_records_are_read_by_us_and_ours_by_them(
    server: RecordServer, name: str, produce: Produce, consume: Consume, codec: str
) -> None:
    rows = some_rows()
    # kafka-python cannot send a header whose value is null; it reads them.
    sent = [(*row[:3], tuple(pair for pair in row[3] if pair[1] is not None or name != "kafka-python")) for row in rows]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        produce(server.address, f"{name}-{codec}", codec, sent)
        assert rows_of(server.records(f"{name}-{codec}")) == sent
        written = {batch.compression_type for batch in server.batches(f"{name}-{codec}")}
        assert CompressionType[codec.upper()] in written
        put_ours(server, f"ours-{name}-{codec}", codec)
        assert consume(server.address, f"ours-{name}-{codec}", len(rows)) == rows
