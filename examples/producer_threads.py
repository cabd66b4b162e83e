"""Several threads that send: with one producer for all of them, and with one for each. Prints what that gives."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from threading import Thread

from moldau import Producer

TOPIC = "from-threads"
THREADS = 3


def send(producer: Producer, thread: int, records: int) -> None:
    for number in range(records):
        producer.send(TOPIC, b"thread %d, record %d" % (thread, number))
    producer.flush()


def records_per_s(work: Callable[[int], None], records: int) -> float:
    threads = [Thread(target=work, args=(number,)) for number in range(THREADS)]
    started = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return THREADS * records / (time.monotonic() - started)


def main(bootstrap_servers: str = "localhost:9092", records: str = "100000") -> None:
    each = int(records)

    def with_own(thread: int) -> None:
        with Producer(bootstrap_servers=bootstrap_servers) as producer:
            send(producer, thread, each)

    with Producer(bootstrap_servers=bootstrap_servers) as shared:
        rate = records_per_s(lambda thread: send(shared, thread, each), each)
        print(f"one producer for {THREADS} threads: {rate:,.0f} records/s")
    print(f"a producer for each thread: {records_per_s(with_own, each):,.0f} records/s")


if __name__ == "__main__":
    main(*sys.argv[1:])
