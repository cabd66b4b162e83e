"""Where partitions are to be: the document that `kafka-reassign-partitions` reads and writes.

{"version":1,"partitions":[{"topic":"orders","partition":0,"replicas":[1,2],"log_dirs":["any","/data/b"]}]}
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from moldau.cli.kafka.documents import read_document, rows_of
from moldau.cli.kafka.failures import ToolFailed
from moldau.clients.admin.log_dirs import TopicPartitionReplica
from moldau.clients.records import TopicPartition

ANY_DIRECTORY = "any"

Replicas = Mapping[TopicPartition, Sequence[int]]


@dataclass(frozen=True, slots=True)
class Plan:
    """Replicas by partition, and the directories of those for which it matters."""

    replicas: dict[TopicPartition, list[int]] = field(default_factory=dict)
    directories: dict[TopicPartitionReplica, str] = field(default_factory=dict)

    @property
    def brokers(self) -> set[int]:
        return {broker for replicas in self.replicas.values() for broker in replicas}

    @property
    def topics(self) -> list[str]:
        return sorted({partition.topic for partition in self.replicas})


def read_plan(path: str) -> Plan:
    """The plan in a file, if it makes sense."""
    document = read_document(path)
    if document.get("version", 1) != 1:
        raise ToolFailed(f"Not supported version field value {document['version']}")
    plan = Plan()
    for row in rows_of(document, path, "partitions", topic=str, partition=int, replicas=list):
        partition = TopicPartition(row["topic"], row["partition"])
        replicas = row["replicas"]
        if partition in plan.replicas:
            raise ToolFailed(f"Partition reassignment contains duplicate topic partitions: {partition}")
        if not replicas:
            raise ToolFailed("Partition replica list cannot be empty")
        if not all(isinstance(each, int) for each in replicas):
            raise ToolFailed(f"{path}: the replicas of {partition} are not ids of brokers: {replicas}")
        if twice := sorted({each for each in replicas if replicas.count(each) > 1}):
            raise ToolFailed(
                "Partition replica lists may not contain duplicate entries: "
                f"{partition} contains multiple entries for {','.join(map(str, twice))}"
            )
        plan.replicas[partition] = replicas
        directories = row.get("log_dirs") or [ANY_DIRECTORY] * len(replicas)
        if len(directories) != len(replicas):
            raise ToolFailed(
                f"Size of replicas list {replicas} is different from size of log dirs list {directories} for "
                f"partition {partition}"
            )
        for broker, directory in zip(replicas, directories, strict=True):
            if directory != ANY_DIRECTORY:
                plan.directories[TopicPartitionReplica(*partition, broker)] = directory
    if not plan.replicas:
        raise ToolFailed("Partition reassignment list cannot be empty")
    return plan


def written(replicas: Replicas) -> str:
    """A plan as a document, for a file."""
    rows = [
        {
            "topic": partition.topic,
            "partition": partition.partition,
            "replicas": list(replicas[partition]),
            "log_dirs": [ANY_DIRECTORY] * len(replicas[partition]),
        }
        for partition in sorted(replicas)
    ]
    return json.dumps({"version": 1, "partitions": rows}, separators=(",", ":"))
