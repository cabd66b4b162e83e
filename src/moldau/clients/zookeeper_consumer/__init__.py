"""The consumer of Kafka 0.8 to 0.11, whose group lives in ZooKeeper: for those who follow the old documents.

    with ZookeeperConsumer({"zookeeper.connect": "localhost:2181", "group.id": "g"}) as consumer:
        (stream,) = consumer.create_streams({"topic": 1})
        for record in stream:
            print(record.value)

New programs use `moldau.Consumer`, whose group the brokers coordinate. Nouns, bottom-up: `settings` (the old names),
`znodes` (paths and JSON below /consumers), `sharing` (partitions to threads), `group` (registration, rebalances, owners
and offsets, on the seam of the coordination store), `streams` (what a thread iterates over), `consumer` (all together).
Invariants: nobody reads a partition without its owner's znode; an offset is written for what a stream has handed out,
and before the partition is given up.
May import: what clients may, and cluster.
"""

from moldau.clients.zookeeper_consumer.consumer import ZookeeperConsumer
from moldau.clients.zookeeper_consumer.streams import ConsumerTimeout, Stream

__all__ = ["ConsumerTimeout", "Stream", "ZookeeperConsumer"]
