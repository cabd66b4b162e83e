"""confluent-kafka writes: one producer, one partition, as fast as it takes records; 5 ms of linger.

The clock runs from the first record to the last acknowledgement; the connection is made and the topic known before.
Without a bootstrap address librdkafka's own in-memory broker, inside this process, takes the records.
"""

from __future__ import annotations

import os
import time
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition

from bench.load.program import Figures, answer

FLUSH_S_MAX = 120
PARTITION = 0
QUEUED_MAX = 500_000
REPLICATED_S_MAX = 120
POLL_EVERY = 1_000  # records; so that reports of delivery never pile up


def produce(topic: str, records: int, record_bytes: int, bootstrap: str = "", acks: int = 1) -> Figures:
    producer = Producer({
        **({"bootstrap.servers": bootstrap} if bootstrap else {"test.mock.num.brokers": 1}),
        "acks": acks,
        "linger.ms": 5,
        "log_level": 3,
        "queue.buffering.max.messages": QUEUED_MAX,
    })  # fmt: skip
    value = os.urandom(record_bytes)
    send(producer, topic, value, 1)
    started_s = time.perf_counter()
    send(producer, topic, value, records - 1)
    took_s = time.perf_counter() - started_s
    if bootstrap:
        await_high_watermark(bootstrap, topic, records)
    return {"records_per_s": (records - 1) / took_s, "mb_per_s": (records - 1) * record_bytes / took_s / 1e6}


def send(producer: Any, topic: str, value: bytes, records: int) -> None:
    """Hand over so many records, and wait until all are acknowledged."""
    produce_one, poll = producer.produce, producer.poll
    for batch_start in range(0, records, POLL_EVERY):
        for _ in range(min(POLL_EVERY, records - batch_start)):
            while True:
                try:
                    produce_one(topic, value, partition=PARTITION)
                    break
                except BufferError:
                    poll(0.005)
        poll(0)
    left = producer.flush(FLUSH_S_MAX)
    assert left == 0, f"{left} of {records} records were not acknowledged"


def await_high_watermark(bootstrap: str, topic: str, records: int) -> None:
    """Until all records can be read; with acks=1 followers may be behind."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "bench"})
    deadline = time.monotonic() + REPLICATED_S_MAX
    while True:
        _low, high = consumer.get_watermark_offsets(TopicPartition(topic, PARTITION), timeout=30)
        if high == records:
            break
        assert high < records, (high, records)
        assert time.monotonic() < deadline, (high, records)
        time.sleep(0.05)
    consumer.close()


if __name__ == "__main__":
    answer(produce)
