"""The consumer beside aiokafka and confluent-kafka: the same records of the same broker, each in turn.

A run reads a topic of one partition from its beginning, by assignment, in polls of up to 500 records, and looks at each
value. All check the batches' checksums, as ours and aiokafka do by default. Clients are started before the clock is;
rates are medians of runs that alternate.

`a_bare_socket` tells how much there is to gain: it makes the same fetches, and throws the records away.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

import aiokafka
import confluent_kafka

from bench.bench_broker_process import BrokerProcess
from bench.load.wire import Wire, request_frame
from bench.measure import Row, paired_row
from moldau import Consumer, Producer
from moldau.protocol.codec import decode
from moldau.protocol.headers import decode_response_header
from moldau.protocol.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from moldau.records.batch import RecordBatch
from moldau.records.walk import boundaries

REPETITIONS = 5
RECORDS = {100: 1_500_000, 1000: 300_000}
POLL_RECORDS = 500
POLL_S = 5.0
FETCH_BYTES = 1 << 20  # max.partition.fetch.bytes, with every client
FETCH_VERSION = 12

Read = Callable[[str, str, int], float]


def ours(bootstrap: str, topic: str, count: int) -> float:
    """Records per second."""
    with Consumer(bootstrap_servers=bootstrap, auto_offset_reset="earliest", max_poll_records=POLL_RECORDS) as consumer:
        consumer.assign([(topic, 0)])
        read = size = 0
        started_s = time.perf_counter()
        while read < count:
            for record in consumer.poll(POLL_S):
                size += len(record.value)
                read += 1
        return read / (time.perf_counter() - started_s)


def ours_in_columns(bootstrap: str, topic: str, count: int) -> float:
    with Consumer(bootstrap_servers=bootstrap, auto_offset_reset="earliest") as consumer:
        consumer.assign([(topic, 0)])
        read = 0
        started_s = time.perf_counter()
        while read < count:
            read += sum(batch.columns.num_rows for batch in consumer.poll_batches(POLL_S))
        return read / (time.perf_counter() - started_s)


def _confluent_consumer(bootstrap: str, topic: str) -> confluent_kafka.Consumer:
    settings: dict[str, object] = {"group.id": "bench", "enable.auto.commit": False, "check.crcs": True, "log_level": 0}
    consumer = confluent_kafka.Consumer({"bootstrap.servers": bootstrap, **settings})
    consumer.assign([confluent_kafka.TopicPartition(topic, 0, 0)])
    return consumer


def confluents(bootstrap: str, topic: str, count: int) -> float:
    consumer = _confluent_consumer(bootstrap, topic)
    read = size = 0
    started_s = time.perf_counter()
    while read < count:
        message = consumer.poll(POLL_S)
        if message is not None:
            size += len(message.value() or b"")
            read += 1
    took_s = time.perf_counter() - started_s
    consumer.close()
    return read / took_s


def confluents_in_batches(bootstrap: str, topic: str, count: int) -> float:
    consumer = _confluent_consumer(bootstrap, topic)
    read = size = 0
    started_s = time.perf_counter()
    while read < count:
        for message in consumer.consume(POLL_RECORDS, POLL_S):
            size += len(message.value() or b"")
            read += 1
    took_s = time.perf_counter() - started_s
    consumer.close()
    return read / took_s


def aiokafkas(bootstrap: str, topic: str, count: int) -> float:
    async def run() -> float:
        consumer = aiokafka.AIOKafkaConsumer(bootstrap_servers=bootstrap, auto_offset_reset="earliest")
        await consumer.start()
        consumer.assign([aiokafka.TopicPartition(topic, 0)])
        await consumer.seek_to_beginning()
        read = size = 0
        started_s = time.perf_counter()
        while read < count:
            polled = await consumer.getmany(timeout_ms=int(POLL_S * 1000), max_records=POLL_RECORDS)
            for records in polled.values():
                for record in records:
                    size += len(record.value or b"")
                    read += 1
        took_s = time.perf_counter() - started_s
        await consumer.stop()
        return read / took_s

    return asyncio.run(run())


def a_bare_socket(bootstrap: str, topic: str, count: int) -> float:
    """One fetch after the other into the same memory; only where the next one begins is looked up."""
    memory = memoryview(bytearray(2 * FETCH_BYTES))
    with Wire(int(bootstrap.rsplit(":", 1)[1])) as broker:
        read = 0
        started_s = time.perf_counter()
        while read < count:
            partition = FetchPartition(partition=0, fetch_offset=read, partition_max_bytes=FETCH_BYTES)
            topics = [FetchTopic(topic=topic, partitions=[partition])]
            request = FetchRequest(max_wait_ms=int(POLL_S * 1000), min_bytes=1, topics=topics)
            frame = broker.exchange_into(request_frame(request, FETCH_VERSION, 1), memory)
            _, position = decode_response_header(frame, FetchResponse, FETCH_VERSION)
            records = decode(FetchResponse, FETCH_VERSION, frame, position).responses[0].partitions[0].records
            assert records, "the broker has records"
            read = RecordBatch(records, boundaries(records)[-2]).next_offset
        return read / (time.perf_counter() - started_s)


def _rates(server: BrokerProcess, size: int, *reads: Read) -> list[list[float]]:
    topic = server.new_topic(1)
    count = RECORDS[size]
    with Producer(bootstrap_servers=server.bootstrap, linger_ms=5) as producer:
        for _ in range(count):
            producer.send(topic, b"v" * size)
    samples: list[list[float]] = [[] for _ in reads]
    for _ in range(REPETITIONS):
        for index, read in enumerate(reads):
            samples[index].append(read(server.bootstrap, topic, count))
    return samples


def consumer_rows(server: BrokerProcess) -> list[Row]:
    rows = []
    for size in RECORDS:
        mine, columns, confluent, batches, aio, bare = _rates(
            server, size, ours, ours_in_columns, confluents, confluents_in_batches, aiokafkas, a_bare_socket
        )
        rows.append(paired_row(f"consumer, {size} B", mine, aio, "records/s", "aiokafka", "≥1.2"))
        rows.append(paired_row(f"consumer, {size} B", mine, confluent, "records/s", "confluent-kafka poll", "≥0.6"))
        rows.append(paired_row(f"consumer, {size} B", mine, batches, "records/s", "confluent-kafka consume"))
        rows.append(
            paired_row(f"poll_batches, {size} B", columns, batches, "records/s", "confluent-kafka consume", "≥1.5")
        )
        rows.append(
            paired_row(f"fetched and thrown away, {size} B", bare, batches, "records/s", "confluent-kafka consume")
        )
    return rows
