"""Three ways to send: forget it, be called back, wait for it. Prints where each record went."""

from __future__ import annotations

import sys

from moldau import Producer
from moldau.clients.records import RecordMetadata

TOPIC = "my-topic"


def place(metadata: RecordMetadata) -> str:
    return f"{metadata.topic}-{metadata.partition}@{metadata.offset}"


def delivered(metadata: RecordMetadata | None, error: Exception | None) -> None:
    """Exactly one of the two is None."""
    if metadata is not None:
        print(f"called back: {place(metadata)}")
    else:
        print(f"failed: {error}")


def main(bootstrap_servers: str = "localhost:9092") -> None:
    with Producer(bootstrap_servers=bootstrap_servers) as producer:
        producer.send(TOPIC, b"forgotten")
        producer.send(TOPIC, b"called back", on_delivery=delivered)
        producer.flush()
        print(f"waited: {place(producer.send(TOPIC, b'waited').result(10))}")


if __name__ == "__main__":
    main(*sys.argv[1:])
