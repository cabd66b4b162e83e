"""How long a record is on its way: confluent-kafka produces at a steady rate and consumes in the same process.

The time of a record runs from before `produce` to after `poll`, on one clock. The producer has no linger, unless said;
the consumer waits at the end of the partition with the client's own settings, so every record ends a long poll.
"""

from __future__ import annotations

import statistics
import struct
import threading
import time

from confluent_kafka import OFFSET_BEGINNING, Consumer, Producer, TopicPartition

from bench.load.program import Figures, answer

PARTITION = 0
WAIT_S_MAX = 30
FLUSH_S_MAX = 30
RECORD_BYTES = 100
SETTLED_SHARE = 10  # the first tenth is not counted: connections are made and paths become warm

_INDEX = struct.Struct(">q")


def latency(bootstrap: str, topic: str, records: int, per_s: int, acks: int = 1, linger_ms: int = 0) -> Figures:
    """The topic is empty."""
    received_s = [0.0] * records
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "bench", "enable.auto.commit": False})
    consumer.assign([TopicPartition(topic, PARTITION, OFFSET_BEGINNING)])
    consumer.poll(0.5)  # connected, and waiting at the end
    reader = threading.Thread(target=receive, args=(consumer, received_s), daemon=True)
    reader.start()
    producer = Producer({"bootstrap.servers": bootstrap, "acks": acks, "linger.ms": linger_ms})
    sent_s = send(producer, topic, records, per_s)
    reader.join(WAIT_S_MAX)
    consumer.close()
    assert all(received_s), f"{received_s.count(0.0)} of {records} records did not arrive"
    counted = slice(records // SETTLED_SHARE, records)
    took_s = [after - before for before, after in zip(sent_s[counted], received_s[counted], strict=True)]
    percentiles = statistics.quantiles(took_s, n=100)
    return {"p50_ms": percentiles[49] * 1e3, "p99_ms": percentiles[98] * 1e3}


def send(producer: Producer, topic: str, records: int, per_s: int) -> list[float]:
    """When each record was handed over."""
    sent_s = []
    padding = bytes(RECORD_BYTES - _INDEX.size)
    start_s = time.perf_counter()
    for index in range(records):
        wait_s = start_s + index / per_s - time.perf_counter()
        if wait_s > 0:
            time.sleep(wait_s)
        sent_s.append(time.perf_counter())
        producer.produce(topic, _INDEX.pack(index) + padding, partition=PARTITION)
        producer.poll(0)
    assert producer.flush(FLUSH_S_MAX) == 0
    return sent_s


def receive(consumer: Consumer, received_s: list[float]) -> None:
    for _ in received_s:
        message = consumer.poll(WAIT_S_MAX)
        now_s = time.perf_counter()
        assert message is not None, f"nothing arrived in {WAIT_S_MAX} s"
        assert message.error() is None, message.error()
        (index,) = _INDEX.unpack_from(message.value())
        assert not received_s[index], f"record {index} came twice"
        received_s[index] = now_s


if __name__ == "__main__":
    answer(latency)
