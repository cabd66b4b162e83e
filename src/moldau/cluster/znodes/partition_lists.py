"""Znodes that hold a list of partitions.

/admin/reassign_partitions and /admin/preferred_replica_election, which tools write and the controller obeys and
deletes, and /isr_change_notification/isr_change_<n>, by which leaders before Kafka 2.7 told the controller of changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from moldau.cluster.znodes.content import JsonObject, encode_json
from moldau.cluster.znodes.layout import REASSIGN_PARTITIONS

VERSION = 1

Partition = tuple[str, int]


def encode_partitions(partitions: Iterable[Partition]) -> bytes:
    listed = [{"topic": topic, "partition": partition} for topic, partition in partitions]
    return encode_json({"version": VERSION, "partitions": listed})


def decode_partitions(path: str, data: bytes | None) -> list[Partition]:
    return [(item.text("topic"), item.integer("partition")) for item in _items(path, data)]


def encode_reassignment(replicas: Mapping[Partition, tuple[int, ...]]) -> bytes:
    listed = [
        {"topic": topic, "partition": partition, "replicas": list(brokers)}
        for (topic, partition), brokers in replicas.items()
    ]
    return encode_json({"version": VERSION, "partitions": listed})


def decode_reassignment(data: bytes | None) -> dict[Partition, tuple[int, ...]]:
    items = _items(REASSIGN_PARTITIONS, data)
    return {(item.text("topic"), item.integer("partition")): item.integers("replicas") for item in items}


def _items(path: str, data: bytes | None) -> list[JsonObject]:
    content = JsonObject.parse(path, data)
    content.expect_version(VERSION)
    return content.objects("partitions")
