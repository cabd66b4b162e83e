"""The shortest consumer: member of group test, reads two topics, commits by itself every second."""

from __future__ import annotations

import sys

from moldau import Consumer

TOPICS = ["foo", "bar"]


def main(bootstrap_servers: str = "localhost:9092", records: str = "1000000") -> None:
    settings = {
        "bootstrap.servers": bootstrap_servers,
        "group.id": "test",
        "enable.auto.commit": True,
        "auto.commit.interval.ms": 1000,
        "auto.offset.reset": "earliest",
        "key.deserializer": "org.apache.kafka.common.serialization.StringDeserializer",
        "value.deserializer": "org.apache.kafka.common.serialization.StringDeserializer",
    }
    left = int(records)
    with Consumer(settings) as consumer:
        consumer.subscribe(TOPICS)
        while left > 0:
            for record in consumer.poll(0.1):
                print(f"offset = {record.offset}, key = {record.key}, value = {record.value}")
                left -= 1


if __name__ == "__main__":
    main(*sys.argv[1:])
