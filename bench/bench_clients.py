"""Our clients against kafka-python, aiokafka and confluent-kafka: the same broker, in turn, in one run.

The broker is `moldau serve` in a process of its own, a topic has six partitions, and everybody gets the same settings:
acks from all, batches of up to 256 KiB, 5 ms of linger. A run sends a fixed number of records and ends when the last is
acknowledged. Rates are medians of runs that alternate. A single send is without linger, idempotent as ours is by
default, and is waited for: awaited with `moldau.aio`, by `result()` with the plain producer, which has to wake two
threads, and by `flush` with confluent-kafka.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Callable

import aiokafka
import confluent_kafka
import kafka
import pyarrow as pa
import uvloop

from bench.bench_broker_process import BrokerProcess
from bench.bench_clients_consumer import consumer_rows
from bench.measure import Row, paired_row
from bench.memory import settle
from bench.moldau_server import MoldauServer
from moldau import Producer, aio

PARTITIONS = 6
REPETITIONS = 5
BATCH_BYTES = 262_144
LINGER_MS = 5
ROUND_TRIPS = 1_000
# How many records a run has: so many that it takes about a second.
RECORDS = {100: 500_000, 1000: 300_000}
SLOW_RECORDS = 60_000  # of clients that are slower by a factor of five or more
COLUMN_RECORDS = {100: 600_000, 1000: 300_000}

Run = Callable[[str, str, bytes], float]


def ours(bootstrap: str, topic: str, value: bytes) -> float:
    """Records per second."""
    count = RECORDS[len(value)]
    with Producer(bootstrap_servers=bootstrap, linger_ms=LINGER_MS, batch_size=BATCH_BYTES) as producer:
        producer.partitions_for(topic)
        started_s = time.perf_counter()
        for _ in range(count):
            producer.send(topic, value)
        producer.flush()
        took_s = time.perf_counter() - started_s
        assert producer.metrics()["record-send-total"] == count
    return count / took_s


def ours_in_columns(bootstrap: str, topic: str, value: bytes) -> float:
    count = COLUMN_RECORDS[len(value)]
    columns = pa.table({"value": pa.array([value] * count, pa.binary())})
    with Producer(bootstrap_servers=bootstrap, linger_ms=LINGER_MS, batch_size=BATCH_BYTES) as producer:
        producer.partitions_for(topic)
        started_s = time.perf_counter()
        producer.send_batch(topic, columns).result(60)
        took_s = time.perf_counter() - started_s
    return count / took_s


def confluents(bootstrap: str, topic: str, value: bytes) -> float:
    count = RECORDS[len(value)]
    producer = confluent_kafka.Producer(
        {
            "bootstrap.servers": bootstrap,
            "linger.ms": LINGER_MS,
            "batch.size": BATCH_BYTES,
            "queue.buffering.max.messages": 1_000_000,
            "log_level": 0,
        }
    )
    producer.list_topics(topic)
    started_s = time.perf_counter()
    for _ in range(count):
        producer.produce(topic, value)
    producer.flush()
    return count / (time.perf_counter() - started_s)


def kafka_pythons(bootstrap: str, topic: str, value: bytes) -> float:
    producer = kafka.KafkaProducer(bootstrap_servers=bootstrap, linger_ms=LINGER_MS, batch_size=BATCH_BYTES, acks="all")
    producer.partitions_for(topic)
    started_s = time.perf_counter()
    for _ in range(SLOW_RECORDS):
        producer.send(topic, value)
    producer.flush()
    took_s = time.perf_counter() - started_s
    producer.close()
    return SLOW_RECORDS / took_s


def aiokafkas(bootstrap: str, topic: str, value: bytes) -> float:
    async def run() -> float:
        producer = aiokafka.AIOKafkaProducer(
            bootstrap_servers=bootstrap, linger_ms=LINGER_MS, max_batch_size=BATCH_BYTES, acks="all"
        )
        await producer.start()
        await producer.partitions_for(topic)
        started_s = time.perf_counter()
        for _ in range(SLOW_RECORDS):
            await producer.send(topic, value)
        await producer.flush()
        took_s = time.perf_counter() - started_s
        await producer.stop()
        return SLOW_RECORDS / took_s

    return asyncio.run(run())


def rates(server: BrokerProcess, value: bytes, *runs: Run) -> list[list[float]]:
    """The figures of each, run in turn, each time into a topic that all of them share."""
    samples: list[list[float]] = [[] for _ in runs]
    for _ in range(REPETITIONS):
        topic = server.new_topic(PARTITIONS)
        for index, run in enumerate(runs):
            settle()
            samples[index].append(run(server.bootstrap, topic, value))
    return samples


def our_round_trip_ms(bootstrap: str, topic: str) -> float:
    times = []
    with Producer(bootstrap_servers=bootstrap) as producer:
        for _ in range(ROUND_TRIPS):
            started_s = time.perf_counter()
            producer.send(topic, b"ping").result(10)
            times.append(time.perf_counter() - started_s)
    return statistics.median(times) * 1000


def our_awaited_round_trip_ms(bootstrap: str, topic: str) -> float:
    """In a loop of the caller's own: no thread has to be woken."""

    async def run() -> float:
        times = []
        async with aio.Producer(bootstrap_servers=bootstrap) as producer:
            for _ in range(ROUND_TRIPS):
                started_s = time.perf_counter()
                await (await producer.send(topic, b"ping"))
                times.append(time.perf_counter() - started_s)
        return statistics.median(times) * 1000

    return uvloop.run(run())


def confluents_round_trip_ms(bootstrap: str, topic: str) -> float:
    times = []
    producer = confluent_kafka.Producer(
        {"bootstrap.servers": bootstrap, "linger.ms": 0, "enable.idempotence": True, "log_level": 0}
    )
    for _ in range(ROUND_TRIPS):
        started_s = time.perf_counter()
        producer.produce(topic, b"ping")
        producer.flush(10)
        times.append(time.perf_counter() - started_s)
    return statistics.median(times) * 1000


def producer_rows(server: BrokerProcess) -> list[Row]:
    rows = []
    for size in RECORDS:
        value = b"v" * size
        mine, confluent, python, aio = rates(server, value, ours, confluents, kafka_pythons, aiokafkas)
        name = f"producer, {size} B"
        pure, of = max((python, "kafka-python"), (aio, "aiokafka"), key=lambda each: statistics.median(each[0]))
        rows.append(paired_row(name, mine, pure, "records/s", of, "≥5"))
        rows.append(paired_row(name, mine, confluent, "records/s", "confluent-kafka", "≥0.5"))
    for size in COLUMN_RECORDS:
        mine, confluent = rates(server, b"v" * size, ours_in_columns, confluents)
        rows.append(paired_row(f"send_batch, {size} B", mine, confluent, "records/s", "confluent-kafka", "≥1.5"))
    trips = rates(
        server,
        b"",
        lambda bootstrap, topic, _value: our_awaited_round_trip_ms(bootstrap, topic),
        lambda bootstrap, topic, _value: our_round_trip_ms(bootstrap, topic),
        lambda bootstrap, topic, _value: confluents_round_trip_ms(bootstrap, topic),
    )
    rows.append(paired_row("one awaited send of moldau.aio, p50", trips[0], trips[2], "ms", "confluent-kafka", "≤1.2"))
    rows.append(paired_row("one send().result(), p50", trips[1], trips[2], "ms", "confluent-kafka"))
    return rows


def rows() -> list[Row]:
    with MoldauServer() as server:
        return [*producer_rows(server), *consumer_rows(server)]
