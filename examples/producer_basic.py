"""The five steps of a producer: settings, producer, record, send, close."""

from __future__ import annotations

import sys

from moldau import Producer
from moldau.clients.serialization import StringSerializer

TOPIC = "my-topic"


def main(bootstrap_servers: str = "localhost:9092") -> None:
    producer = Producer(
        bootstrap_servers=bootstrap_servers,
        key_serializer=StringSerializer,
        value_serializer=StringSerializer,
        acks="-1",
        retries=3,
        batch_size=323840,
        linger_ms=10,
        buffer_memory=33554432,
        max_block_ms=3000,
    )
    try:
        for number in range(100):
            producer.send(TOPIC, key=str(number), value=str(number))
    finally:
        producer.close()  # or what was taken last may never be sent


if __name__ == "__main__":
    main(*sys.argv[1:])
