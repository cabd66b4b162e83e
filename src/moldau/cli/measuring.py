"""What `moldau bench` measures: rates of many records, and latencies of one at a time.

Three latencies: a producer's (sent until acknowledged), a consumer's (acknowledged until a poll that waits gives it),
and end to end (the sum).
"""

from __future__ import annotations

import random
from argparse import Namespace
from collections.abc import Iterator

from moldau.base.clock import SystemClock
from moldau.base.errors import ConfigError
from moldau.cli.terminal.progress import progress
from moldau.cli.terminal.tables import Column, count
from moldau.clients.admin.plain import Admin
from moldau.clients.admin.topics import NewTopic
from moldau.clients.consumer.plain import Consumer
from moldau.clients.producer.plain import Producer
from moldau.clients.records import TopicPartition

MEGABYTE = 1_000_000
SINGLE_RECORDS = 200
NOTHING_S_MAX = 30.0
CHUNK = 1000
POLL_RECORDS = 5000
COLUMNS = (
    Column("what", "MEASURED"),
    Column("records_per_second", "RECORDS/S", count),
    Column("megabytes_per_second", "MB/S", count),
    Column("p50_ms", "P50 MS", count),
    Column("p99_ms", "P99 MS", count),
)

Row = dict[str, object]


def measure(arguments: Namespace, settings: dict[str, object]) -> list[Row]:
    topic = f"moldau-bench-{random.getrandbits(48):012x}"
    with Admin(settings) as admin:
        admin.create_topics([NewTopic(topic, arguments.partitions, arguments.replication_factor)])
        try:
            return list(_measured(arguments, settings, topic))
        finally:
            admin.delete_topics([topic])


def _measured(arguments: Namespace, settings: dict[str, object], topic: str) -> Iterator[Row]:
    payload = random.randbytes(arguments.size)
    producing = settings | {"acks": arguments.acks, "compression.type": arguments.compression}
    yield _rate("write", arguments, _write(producing | {"linger.ms": "5"}, topic, payload, arguments.records))
    partitions = [TopicPartition(topic, number) for number in range(arguments.partitions)]
    with Consumer(settings | {"max.poll.records": str(POLL_RECORDS)}) as consumer:
        consumer.assign(partitions)
        consumer.seek_to_beginning(partitions)
        yield _rate("read", arguments, _read(consumer, arguments.records))
        with Producer(producing) as producer:
            yield from _latencies(consumer, producer, topic, payload)


def _rate(what: str, arguments: Namespace, seconds: float) -> Row:
    records = arguments.records / seconds
    return {
        "what": f"{what}, {arguments.records:,} × {arguments.size} B",
        "records_per_second": round(records),
        "megabytes_per_second": round(records * arguments.size / MEGABYTE, 1),
    }


def _write(settings: dict[str, object], topic: str, payload: bytes, records: int) -> float:
    clock = SystemClock()
    with Producer(settings) as producer, progress("writing", records) as advance:
        producer.send(topic, payload).result(NOTHING_S_MAX)  # metadata and connection are not what is measured
        started_ms = clock.monotonic_ms()
        last = None
        for start in range(1, records, CHUNK):
            many = min(CHUNK, records - start)
            for _ in range(many):
                last = producer.send(topic, payload)
            advance(many)
        producer.flush()
        if last is not None:
            last.result(NOTHING_S_MAX)
        return (clock.monotonic_ms() - started_ms) / 1000


def _read(consumer: Consumer, records: int) -> float:
    clock = SystemClock()
    started_ms = last_ms = clock.monotonic_ms()
    seen = 0
    with progress("reading", records) as advance:
        while seen < records:
            came = len(consumer.poll(1.0))
            seen += came
            advance(came)
            if came:
                last_ms = clock.monotonic_ms()
            elif clock.monotonic_ms() - last_ms > NOTHING_S_MAX * 1000:
                raise ConfigError(f"only {seen:,} of {records:,} records came back; `moldau doctor` may tell why")
    return (clock.monotonic_ms() - started_ms) / 1000


def _latencies(consumer: Consumer, producer: Producer, topic: str, payload: bytes) -> Iterator[Row]:
    producing: list[float] = []
    seeing: list[float] = []
    fetching: list[float] = []
    clock = SystemClock()
    producer.send(topic, payload, partition=0).result(NOTHING_S_MAX)
    _one(consumer)
    with progress("latencies", SINGLE_RECORDS) as advance:
        for _ in range(SINGLE_RECORDS):
            started_ms = clock.monotonic_ms()
            producer.send(topic, payload, partition=0).result(NOTHING_S_MAX)
            acknowledged_ms = clock.monotonic_ms()
            _one(consumer)
            seen_ms = clock.monotonic_ms()
            producing.append(acknowledged_ms - started_ms)
            seeing.append(seen_ms - started_ms)
            fetching.append(seen_ms - acknowledged_ms)
            advance(1)
    for what, samples in (("producer", producing), ("consumer", fetching), ("end to end", seeing)):
        yield {
            "what": f"{what}, one record at a time",
            "p50_ms": round(percentile(samples, 0.5), 2),
            "p99_ms": round(percentile(samples, 0.99), 2),
        }


def _one(consumer: Consumer) -> None:
    for _ in range(int(NOTHING_S_MAX)):
        if consumer.poll(1.0):
            return
    raise ConfigError("a record that was written did not come back; `moldau doctor` may tell why")


def percentile(samples: list[float], share: float) -> float:
    ordered = sorted(samples)
    return ordered[min(int(share * len(ordered)), len(ordered) - 1)]
