"""Commits partition by partition: as soon as the records of one are processed, one past the last of them."""

from __future__ import annotations

import sys
from itertools import groupby

from moldau import Consumer, OffsetAndMetadata, TopicPartition

TOPIC = "my-topic"


def main(bootstrap_servers: str = "localhost:9092", records: str = "1000000") -> None:
    settings = {"enable.auto.commit": False, "auto.offset.reset": "earliest", "group.id": "by-partition"}
    left = int(records)
    with Consumer(settings, bootstrap_servers=bootstrap_servers) as consumer:
        consumer.subscribe([TOPIC])
        while left > 0:
            # The records of a partition come together, in their order.
            for place, of_one in groupby(consumer.poll(1.0), lambda record: (record.topic, record.partition)):
                last = -1
                for record in of_one:
                    print(f"{record.offset}: {record.value.decode()}")
                    last = record.offset
                    left -= 1
                consumer.commit({TopicPartition(*place): OffsetAndMetadata(last + 1)})


if __name__ == "__main__":
    main(*sys.argv[1:])
