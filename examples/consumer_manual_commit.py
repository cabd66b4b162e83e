"""At least once into a database: five hundred records at a time are inserted, and only then committed.

Who crashes between the two reads the records again and inserts them twice; none is lost.
"""

from __future__ import annotations

import sqlite3
import sys

from moldau import Consumer
from moldau.clients.consumer.consumer_record import ConsumerRecord

TOPIC = "my-topic"
BATCH_SIZE_MIN = 500


def insert(database: sqlite3.Connection, records: list[ConsumerRecord]) -> None:
    with database:
        database.executemany(
            "INSERT INTO records VALUES (?, ?, ?)", [(each.partition, each.offset, each.value) for each in records]
        )


def main(
    bootstrap_servers: str = "localhost:9092", file: str = "records.db", records: str = "1000000", crash_at: str = "0"
) -> None:
    database = sqlite3.connect(file)
    database.execute("CREATE TABLE IF NOT EXISTS records (partition INTEGER, offset INTEGER, value TEXT)")
    settings = {"enable.auto.commit": False, "auto.offset.reset": "earliest", "group.id": "into-a-database"}
    inserted = 0
    with Consumer(settings, bootstrap_servers=bootstrap_servers) as consumer:
        consumer.subscribe([TOPIC])
        buffer: list[ConsumerRecord] = []
        while inserted < int(records):
            buffer += consumer.poll(1.0)
            if len(buffer) >= BATCH_SIZE_MIN:
                insert(database, buffer)
                inserted += len(buffer)
                if int(crash_at) and inserted >= int(crash_at):
                    break  # inserted, and not committed
                consumer.commit()
                buffer.clear()
    database.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
