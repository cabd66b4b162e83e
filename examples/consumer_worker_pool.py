"""One consumer that polls, and a pool of workers that process; what they have finished is committed by the consumer.

More threads than partitions can work. The price: two workers may have records of one partition at the same time, so the
order is lost; and if the later one finishes first, its offset is committed although earlier records are not done. Who
crashes then loses these. A queue for each partition would cure both.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import groupby
from threading import BoundedSemaphore, Lock, Timer

from moldau import Consumer, OffsetAndMetadata, TopicPartition
from moldau.clients.consumer.consumer_record import ConsumerRecord
from moldau.clients.consumer.errors import WakeUp
from moldau.clients.consumer.listener import RebalanceListener

TOPIC = "test-topic"
QUEUED_MAX = 1000


class FinishedOffsets:
    """How far each partition is processed; workers write, the consumer takes."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._offsets: dict[TopicPartition, OffsetAndMetadata] = {}

    def finished(self, partition: TopicPartition, last: int) -> None:
        with self._lock:
            known = self._offsets.get(partition)
            if known is None or known.offset <= last + 1:
                self._offsets[partition] = OffsetAndMetadata(last + 1)

    def take(self) -> dict[TopicPartition, OffsetAndMetadata]:
        with self._lock:
            taken, self._offsets = self._offsets, {}
            return taken


def work(records: list[ConsumerRecord], offsets: FinishedOffsets) -> None:
    for place, of_one in groupby(records, lambda record: (record.topic, record.partition)):
        last = -1
        for record in of_one:
            print(f"topic={record.topic}, partition={record.partition}, offset={record.offset}")
            last = record.offset
        offsets.finished(TopicPartition(*place), last)


class ConsumerHandler(RebalanceListener):
    """Polls, hands over and commits; everything that touches the consumer is in one thread."""

    def __init__(self, bootstrap_servers: str, workers: int) -> None:
        settings = {"enable.auto.commit": False, "auto.offset.reset": "earliest", "group.id": "with-workers"}
        self.consumer = Consumer(settings, bootstrap_servers=bootstrap_servers)
        self._offsets = FinishedOffsets()
        self._pool = ThreadPoolExecutor(workers)
        self._room = BoundedSemaphore(QUEUED_MAX)

    def on_partitions_revoked(self, _partitions: Sequence[TopicPartition]) -> None:
        self._commit()

    def on_partitions_assigned(self, _partitions: Sequence[TopicPartition]) -> None:
        self._offsets.take()

    def run(self) -> None:
        self.consumer.subscribe([TOPIC], self)
        try:
            while True:
                records = self.consumer.poll(1.0)
                if records:
                    self._hand_over(records)
                self._commit()
        except WakeUp:
            pass
        finally:
            self._pool.shutdown()
            self._commit()
            self.consumer.close()

    def _hand_over(self, records: list[ConsumerRecord]) -> None:
        if not self._room.acquire(blocking=False):
            work(records, self._offsets)  # the pool is full: whoever brings more work does it
            return
        done: Future[None] = self._pool.submit(work, records, self._offsets)
        done.add_done_callback(lambda _done: self._room.release())

    def _commit(self) -> None:
        offsets = self._offsets.take()
        if offsets:
            self.consumer.commit(offsets)


def close(handler: ConsumerHandler) -> None:
    print("Starting to close the consumer...")
    handler.consumer.wakeup()


def main(bootstrap_servers: str = "localhost:9092", seconds: str = "20") -> None:
    handler = ConsumerHandler(bootstrap_servers, os.cpu_count() or 1)
    Timer(float(seconds), close, [handler]).start()
    handler.run()


if __name__ == "__main__":
    main(*sys.argv[1:])
