"""A consumer without a group: it reads all partitions of a topic that it finds, and commits under a name of its own."""

from __future__ import annotations

import sys

from moldau import Consumer, TopicPartition

TOPIC = "my-topic"


def main(bootstrap_servers: str = "localhost:9092", records: str = "1000000") -> None:
    # Nobody joins a group here; its name is only where the offsets are kept.
    settings = {"group.id": "standalone", "enable.auto.commit": False, "auto.offset.reset": "earliest"}
    left = int(records)
    with Consumer(settings, bootstrap_servers=bootstrap_servers) as consumer:
        consumer.assign([TopicPartition(TOPIC, each.partition) for each in consumer.partitions_for(TOPIC)])
        try:
            while left > 0:
                for record in consumer.poll(1.0):
                    print(f"topic={record.topic}, partition={record.partition}, offset={record.offset}")
                    left -= 1
                consumer.commit()
        finally:
            consumer.commit()


if __name__ == "__main__":
    main(*sys.argv[1:])
