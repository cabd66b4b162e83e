"""The six steps of a consumer: settings, consumer, subscribe, poll, process, close."""

from __future__ import annotations

import sys

from moldau import Consumer
from moldau.clients.serialization import StringDeserializer

TOPIC = "my-topic"


def main(bootstrap_servers: str = "localhost:9092", records: str = "1000000") -> None:
    consumer = Consumer(
        bootstrap_servers=bootstrap_servers,
        group_id="test-group",
        key_deserializer=StringDeserializer,
        value_deserializer=StringDeserializer,
        auto_offset_reset="earliest",
    )
    left = int(records)
    try:
        consumer.subscribe([TOPIC])
        while left > 0:
            for record in consumer.poll(1.0):
                print(f"offset = {record.offset}, key = {record.key}, value = {record.value}")
                left -= 1
    finally:
        consumer.close()  # commits, and the group need not wait for the session to expire


if __name__ == "__main__":
    main(*sys.argv[1:])
