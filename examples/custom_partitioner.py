"""A partitioner of one's own: audit records have the last partition to themselves. Then prints where records went."""

from __future__ import annotations

import random
import sys

from moldau import Admin, Producer, TopicPartition
from moldau.clients.admin import NewTopic, OffsetSpec
from moldau.clients.network.metadata import ClusterMetadata
from moldau.clients.serialization import StringSerializer

TOPIC = "test-topic"


class AuditPartitioner:
    """Keys with "audit" in them to the last partition, all others anywhere else."""

    def partition(
        self,
        topic: str,
        key: str | None,
        _key_bytes: bytes | None,
        _value: str,
        _value_bytes: bytes | None,
        cluster: ClusterMetadata,
    ) -> int:
        partitions = len(cluster.available_partitions(topic))
        if not key or "audit" not in key:
            return random.randrange(partitions - 1)
        return partitions - 1


def main(bootstrap_servers: str = "localhost:9092") -> None:
    with Admin(bootstrap_servers=bootstrap_servers) as admin:
        admin.create_topics([NewTopic(TOPIC, 3)])
        with Producer(
            bootstrap_servers=bootstrap_servers,
            key_serializer=StringSerializer,
            value_serializer=StringSerializer,
            partitioner_class=AuditPartitioner,
        ) as producer:
            for key, value in (
                (None, "non-key record"),
                ("other", "other record"),
                ("audit", "audit record"),
                (None, "non-key record"),
                ("other", "other record"),
            ):
                producer.send(TOPIC, key=key, value=value)
        ends = admin.list_offsets({TopicPartition(TOPIC, number): OffsetSpec.LATEST for number in range(3)})
        for partition, end in ends.items():
            print(f"{partition.topic}:{partition.partition}:{end.offset}")


if __name__ == "__main__":
    main(*sys.argv[1:])
