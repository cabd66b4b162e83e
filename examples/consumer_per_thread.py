"""A consumer for each of three threads: the group gives every one of them its own partitions."""

from __future__ import annotations

import sys
from threading import Event, Thread, current_thread

from moldau import Consumer

TOPIC = "test-topic"
GROUP = "testGroup1"
THREADS = 3


class ConsumerThread(Thread):
    """A consumer belongs to the thread that uses it; they share nothing."""

    def __init__(self, bootstrap_servers: str, number: int, stop: Event) -> None:
        super().__init__(name=f"Thread-{number}")
        self._settings = {
            "bootstrap.servers": bootstrap_servers,
            "group.id": GROUP,
            "enable.auto.commit": True,
            "auto.commit.interval.ms": 1000,
            "session.timeout.ms": 30000,
            "auto.offset.reset": "earliest",
        }
        self._stop_asked = stop

    def run(self) -> None:
        with Consumer(self._settings) as consumer:
            consumer.subscribe([TOPIC])
            while not self._stop_asked.is_set():
                for record in consumer.poll(0.2):
                    name = current_thread().name
                    print(f"{name} consumed {record.partition}th message with offset: {record.offset}")


def main(bootstrap_servers: str = "localhost:9092", seconds: str = "20") -> None:
    stop = Event()
    threads = [ConsumerThread(bootstrap_servers, number, stop) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    stop.wait(float(seconds))
    stop.set()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main(*sys.argv[1:])
