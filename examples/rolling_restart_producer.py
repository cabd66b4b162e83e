"""A producer to watch while brokers are restarted one after the other: it counts, and nothing may fail."""

from __future__ import annotations

import sys
import time
from threading import Lock

from moldau import Producer
from moldau.clients.records import RecordMetadata

TOPIC = "test"


class Counts:
    """Of acknowledged and failed records."""

    def __init__(self) -> None:
        self._lock = Lock()
        self.success = 0
        self.failed = 0

    def delivered(self, _metadata: RecordMetadata | None, error: Exception | None) -> None:
        with self._lock:
            if error is None:
                self.success += 1
                print(f"Current success count: {self.success}, failed: {self.failed}")
            else:
                self.failed += 1
                print(f"Current failed count: {self.failed}")


def main(bootstrap_servers: str = "localhost:9092", records: str = "1000000", pause_s: str = "1") -> None:
    counts = Counts()
    with Producer(bootstrap_servers=bootstrap_servers, acks="all") as producer:
        for _ in range(int(records)):
            producer.send(TOPIC, b"a message", on_delivery=counts.delivered)
            time.sleep(float(pause_s))


if __name__ == "__main__":
    main(*sys.argv[1:])
