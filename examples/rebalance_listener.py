"""Offsets in a store of one's own: a listener saves them when partitions go, and seeks there when they come.

Kept in the database that the results go to, they change with these or not at all: each record counts exactly once.
Prints how long rebalances took.
"""

from __future__ import annotations

import sqlite3
import sys
import time
from collections.abc import Sequence

from moldau import Consumer, TopicPartition
from moldau.clients.consumer.listener import RebalanceListener

TOPIC = "my-topic"


class OffsetStore:
    """The next offset of each partition."""

    def __init__(self, file: str) -> None:
        # Listeners run in the thread that polls, so one connection will do.
        self._database = sqlite3.connect(file)
        self._database.execute(
            "CREATE TABLE IF NOT EXISTS offsets "
            "(topic TEXT, partition INTEGER, next INTEGER, PRIMARY KEY (topic, partition))"
        )

    def save(self, partition: TopicPartition, offset: int) -> None:
        with self._database:
            self._database.execute("INSERT OR REPLACE INTO offsets VALUES (?, ?, ?)", (*partition, offset))

    def read(self, partition: TopicPartition) -> int:
        found = self._database.execute("SELECT next FROM offsets WHERE topic = ? AND partition = ?", partition)
        row = found.fetchone()
        return 0 if row is None else int(row[0])

    def close(self) -> None:
        self._database.close()


class SavingOffsets(RebalanceListener):
    def __init__(self, consumer: Consumer, store: OffsetStore) -> None:
        self._consumer = consumer
        self._store = store
        self._began = 0.0
        self.total_ms = 0.0

    def on_partitions_revoked(self, partitions: Sequence[TopicPartition]) -> None:
        for partition in partitions:
            self._store.save(partition, self._consumer.position(partition))
        self._began = time.monotonic()

    def on_partitions_assigned(self, partitions: Sequence[TopicPartition]) -> None:
        if self._began:
            self.total_ms += (time.monotonic() - self._began) * 1000
        for partition in partitions:
            self._consumer.seek(partition, self._store.read(partition))


def main(bootstrap_servers: str = "localhost:9092", file: str = "offsets.db", records: str = "1000000") -> None:
    store = OffsetStore(file)
    left = int(records)
    with Consumer(bootstrap_servers=bootstrap_servers, group_id="with-a-store", enable_auto_commit=False) as consumer:
        listener = SavingOffsets(consumer, store)
        consumer.subscribe([TOPIC], listener)
        while left > 0:
            for record in consumer.poll(1.0):
                print(f"topic = {record.topic}, partition = {record.partition}, offset = {record.offset}")
                left -= 1
    print(f"Total rebalance time(ms): {listener.total_ms:.0f}")
    store.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
