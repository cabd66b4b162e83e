"""The shortest producer: a hundred records with keys, acknowledged by all in-sync replicas, never sent twice."""

from __future__ import annotations

import sys

from moldau import Producer

TOPIC = "my-topic"


def main(bootstrap_servers: str = "localhost:9092") -> None:
    settings = {
        "bootstrap.servers": bootstrap_servers,
        "acks": "all",
        "retries": 0,
        "enable.idempotence": False,  # it would need retries
        "key.serializer": "org.apache.kafka.common.serialization.StringSerializer",
        "value.serializer": "org.apache.kafka.common.serialization.StringSerializer",
    }
    with Producer(settings) as producer:
        for number in range(100):
            producer.send(TOPIC, key=str(number), value=str(number))


if __name__ == "__main__":
    main(*sys.argv[1:])
