"""What a consumer with `isolation.level=read_committed` sees, through librdkafka."""

from __future__ import annotations

import time

from confluent_kafka import Consumer, TopicPartition

PATIENCE_S = 30.0


def committed_values(bootstrap_servers: str, topic: str, partitions: int = 1, expected: int = 0) -> list[bytes]:
    """The committed values of a topic up to its ends as they are now; waits until there are as many as expected."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap_servers,
            "group.id": "unused",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
        }
    )
    values: list[bytes] = []
    at_end: set[int | None] = set()
    try:
        consumer.assign([TopicPartition(topic, number, 0) for number in range(partitions)])
        deadline = time.monotonic() + PATIENCE_S
        while (len(at_end) < partitions or len(values) < expected) and time.monotonic() < deadline:
            message = consumer.poll(0.2)
            if message is None:
                continue
            if message.error() is not None:
                at_end.add(message.partition())
            else:
                at_end.discard(message.partition())
                values.append(message.value() or b"")
    finally:
        consumer.close()
    return values
