"""A chain of interceptors: the first puts the time before each value, the second counts and prints at the end."""

from __future__ import annotations

import sys
import time

from moldau import Producer
from moldau.clients.producer.interceptors import ProducerRecord
from moldau.clients.records import RecordMetadata
from moldau.clients.serialization import StringSerializer

TOPIC = "test-topic-intercepted"


class TimestampPrepender:
    """Sees a record before it is serialized, and may give another in its place."""

    def on_send(self, record: ProducerRecord) -> ProducerRecord:
        return record._replace(value=f"{int(time.time() * 1000)},{record.value}")


class Counter:
    """Hears what became of each record, in the producer's own thread."""

    def __init__(self) -> None:
        self.successes = 0
        self.failures = 0

    def on_acknowledgement(self, _metadata: RecordMetadata | None, error: Exception | None) -> None:
        if error is None:
            self.successes += 1
        else:
            self.failures += 1

    def close(self) -> None:
        print(f"Successful sent: {self.successes}")
        print(f"Failed sent: {self.failures}")


def main(bootstrap_servers: str = "localhost:9092") -> None:
    producer = Producer(
        bootstrap_servers=bootstrap_servers,
        value_serializer=StringSerializer,
        interceptor_classes=[TimestampPrepender, Counter],
    )
    for number in range(10):
        producer.send(TOPIC, f"message{number}")
    producer.close()  # without it no interceptor is closed, and nothing is printed


if __name__ == "__main__":
    main(*sys.argv[1:])
