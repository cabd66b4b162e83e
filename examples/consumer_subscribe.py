"""Three ways to say what to read: topics, a pattern, partitions. Prints what is assigned in each case."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence

from moldau import Consumer, TopicPartition
from moldau.clients.consumer.listener import RebalanceListener


class Telling(RebalanceListener):
    """With a pattern nobody knows beforehand which topics it will be."""

    def on_partitions_assigned(self, partitions: Sequence[TopicPartition]) -> None:
        print(f"assigned: {shown(partitions)}")


def shown(partitions: Sequence[TopicPartition] | set[TopicPartition]) -> str:
    return ", ".join(map(str, sorted(partitions)))


def poll_until_assigned(consumer: Consumer) -> set[TopicPartition]:
    while not consumer.assignment():  # empty until the group has met, in poll
        consumer.poll(0.1)
    return consumer.assignment()


def main(bootstrap_servers: str = "localhost:9092") -> None:
    with Consumer(bootstrap_servers=bootstrap_servers, group_id="subscribing") as consumer:
        consumer.subscribe(["kafka-a"])
        consumer.subscribe(["kafka-b"])  # takes the place of the first, and is not added to it
        print(f"topics: {shown(poll_until_assigned(consumer))}")
    with Consumer(bootstrap_servers=bootstrap_servers, group_id="matching") as consumer:
        consumer.subscribe(re.compile("kafka-.*"), Telling())
        poll_until_assigned(consumer)
    with Consumer(bootstrap_servers=bootstrap_servers) as consumer:
        consumer.assign([TopicPartition("kafka-a", 0)])
        print(f"partitions: {shown(consumer.assignment())}")


if __name__ == "__main__":
    main(*sys.argv[1:])
