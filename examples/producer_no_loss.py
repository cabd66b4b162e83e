"""The producer that loses nothing and keeps the order, whatever brokers do meanwhile. Prints what was acknowledged.

It waits for all in-sync replicas, repeats without end, has one request under way at a time, and closes in the callback
of the first failure, so that nothing behind the failed record is written.
"""

from __future__ import annotations

import sys
from contextlib import suppress

from moldau import Producer
from moldau.clients.errors import ClientClosed
from moldau.clients.records import RecordMetadata

TOPIC = "no-loss"


class Delivery:
    """Counts, and stops everything at the first failure."""

    def __init__(self, producer: Producer) -> None:
        self.acknowledged = 0
        self._producer = producer

    def __call__(self, _metadata: RecordMetadata | None, error: Exception | None) -> None:
        if error is None:
            self.acknowledged += 1
        else:
            self._producer.close(0)


def main(bootstrap_servers: str = "localhost:9092", records: str = "10000") -> None:
    settings = {
        "bootstrap.servers": bootstrap_servers,
        "acks": "all",
        "retries": 2**31 - 1,
        "max.in.flight.requests.per.connection": 1,
        "max.block.ms": 60_000,
    }
    with Producer(settings) as producer:
        delivery = Delivery(producer)
        with suppress(ClientClosed):
            for number in range(int(records)):
                producer.send(TOPIC, b"%d" % number, partition=0, on_delivery=delivery)
            producer.flush()
    print(f"acknowledged: {delivery.acknowledged}")


if __name__ == "__main__":
    main(*sys.argv[1:])
