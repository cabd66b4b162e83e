"""A topic with all that a cluster tells of it: settings, places, offsets, sizes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypedDict

from moldau.cli.kafka.connecting import Connection
from moldau.cli.terminal.tables import Column, count, size
from moldau.clients.admin.config_entries import ConfigResource, ConfigSource
from moldau.clients.admin.configs import ConfigOperations
from moldau.clients.admin.log_dirs import LogDirOperations
from moldau.clients.admin.partitions import OffsetSpec, PartitionOperations
from moldau.clients.admin.topic_descriptions import TopicDescriptionOperations
from moldau.clients.records import TopicPartition

PARTITION_COLUMNS = (
    Column("partition", "PARTITION", count),
    Column("leader", "LEADER", style=lambda value: "bold red" if value is None else ""),
    Column("replicas", "REPLICAS"),
    Column("isr", "ISR"),
    Column("start", "START", count),
    Column("end", "END", count),
    Column("records", "RECORDS", count),
    Column("bytes", "SIZE", size),
)


class TopicDetails(TypedDict):
    """`config` has the settings of its own; offsets are None where there is no leader to ask."""

    topic: str
    id: str
    config: dict[str, str | None]
    partitions: list[dict[str, Any]]


async def details_of(connection: Connection, names: Sequence[str]) -> list[TopicDetails]:
    topics = await connection.use(TopicDescriptionOperations).describe_topics(names)
    configs = await connection.use(ConfigOperations).describe_configs(map(ConfigResource.topic, topics))
    partitions = [
        TopicPartition(topic.name, info.partition)
        for topic in topics.values()
        for info in topic.partitions
        if info.leader is not None
    ]
    starts = await _offsets(connection, partitions, OffsetSpec.EARLIEST)
    ends = await _offsets(connection, partitions, OffsetSpec.LATEST)
    sizes = await _sizes(connection, {info.leader for topic in topics.values() for info in topic.partitions})
    found = []
    for topic in topics.values():
        rows = []
        for info in topic.partitions:
            partition = TopicPartition(topic.name, info.partition)
            start, end = starts.get(partition), ends.get(partition)
            rows.append(
                {
                    "partition": info.partition,
                    "leader": info.leader,
                    "replicas": list(info.replicas),
                    "isr": list(info.isr),
                    "start": start,
                    "end": end,
                    "records": None if start is None or end is None else end - start,
                    "bytes": sizes.get(partition, {}).get(info.leader),
                }
            )
        config = configs[ConfigResource.topic(topic.name)].values()
        changed = {each.name: each.value for each in config if each.source is ConfigSource.DYNAMIC_TOPIC_CONFIG}
        found.append(TopicDetails(topic=topic.name, id=topic.topic_id, config=changed, partitions=rows))
    return found


async def _offsets(
    connection: Connection, partitions: Sequence[TopicPartition], spec: OffsetSpec
) -> dict[TopicPartition, int]:
    results = await connection.use(PartitionOperations).list_offsets(
        dict.fromkeys(partitions, spec), raise_errors=False
    )
    return {partition: each.offset for partition, each in results.succeeded.items()}


async def _sizes(connection: Connection, brokers: set[int | None]) -> dict[TopicPartition, dict[int | None, int]]:
    """How large each replica's log is, by broker."""
    asked = [each for each in brokers if each is not None]
    results = await connection.use(LogDirOperations).describe_log_dirs(asked, raise_errors=False)
    sizes: dict[TopicPartition, dict[int | None, int]] = {}
    for broker, directories in results.succeeded.items():
        for directory in directories.values():
            for partition, replica in directory.replica_infos.items():
                if not replica.is_future:
                    sizes.setdefault(partition, {})[broker] = replica.size
    return sizes
