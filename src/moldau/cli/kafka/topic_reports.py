"""What `kafka-topics --describe` prints: a line for each topic, and one for each of its partitions."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterable
from dataclasses import dataclass

from moldau.base.errors import ApiError
from moldau.base.ids import uuid_to_text
from moldau.cli.kafka.connecting import Connection
from moldau.cli.kafka.failures import ToolFailed
from moldau.cli.kafka.topics import existing, listings
from moldau.clients.admin.cluster_operations import ClusterOperations
from moldau.clients.admin.config_entries import Config, ConfigEntry, ConfigResource, ConfigSource
from moldau.clients.admin.configs import ConfigOperations
from moldau.clients.admin.reassignments import PartitionReassignment, ReassignmentOperations
from moldau.clients.admin.topic_descriptions import (
    PARTITIONS_PER_PAGE,
    TopicDescription,
    TopicDescriptionOperations,
    TopicPartitionInfo,
)
from moldau.clients.records import TopicPartition

NO_ID = uuid_to_text(bytes(16))


@dataclass(frozen=True, slots=True)
class Partition:
    """A partition with what decides whether it is reported."""

    info: TopicPartitionInfo
    config: Config
    reassignment: PartitionReassignment | None

    @property
    def replication_factor(self) -> int:
        """The number of replicas it is to have; those that a reassignment adds do not count yet."""
        moving = self.reassignment
        if moving is None or not {*moving.adding_replicas, *moving.removing_replicas} & {*self.info.replicas}:
            return len(self.info.replicas)
        return len(moving.replicas) - len(moving.adding_replicas)

    @property
    def in_sync_replicas_min(self) -> int:
        return int(self.config["min.insync.replicas"].value or 1)

    def is_reported(self, options: Namespace, living: Iterable[int]) -> bool:
        in_sync, leader = len(self.info.isr), self.info.leader
        reports = [
            (options.under_replicated_partitions, in_sync < self.replication_factor),
            (options.unavailable_partitions, leader is None or leader not in living),
            (options.under_min_isr_partitions, leader is None or in_sync < self.in_sync_replicas_min),
            (options.at_min_isr_partitions, in_sync == self.in_sync_replicas_min),
        ]
        asked = [applies for wanted, applies in reports if wanted]
        return not asked or any(asked)


async def describe(connection: Connection, options: Namespace) -> None:
    descriptions = await _descriptions(connection, options)
    names = [each.name for each in descriptions]
    configs = await connection.use(ConfigOperations).describe_configs(map(ConfigResource.topic, names))
    living = {node.id for node in await connection.use(ClusterOperations).list_nodes()}
    moving = await _reassignments(connection, descriptions)
    shows_topics = not (
        options.under_replicated_partitions
        or options.unavailable_partitions
        or options.under_min_isr_partitions
        or options.at_min_isr_partitions
    )
    old_format = options.zookeeper is not None
    for topic in descriptions:
        config = configs[ConfigResource.topic(topic.name)]
        partitions = [
            Partition(info, config, moving.get(TopicPartition(topic.name, info.partition))) for info in topic.partitions
        ]
        overrides = ",".join(f"{each.name}={each.value}" for each in config.values() if _is_shown(each, old_format))
        if shows_topics and (overrides or not options.topics_with_overrides):
            print(_topic_line(topic, partitions[0].replication_factor, overrides, old_format))
        if not options.topics_with_overrides:
            for partition in partitions:
                if partition.is_reported(options, living):
                    print(_partition_line(topic.name, partition, old_format))


async def _descriptions(connection: Connection, options: Namespace) -> list[TopicDescription]:
    operations = connection.use(TopicDescriptionOperations)
    if options.topic_id and options.topic_id != NO_ID:
        known = {each.topic_id for each in (await listings(connection, _any_name(options))).values()}
        if options.topic_id not in known:
            if options.if_exists:
                return []
            raise ToolFailed(f"TopicId '{options.topic_id}' does not exist as expected")
        return list((await operations.describe_topics(topic_ids=[options.topic_id])).values())
    names = await existing(connection, options)
    limit = options.partition_size_limit_per_response or PARTITIONS_PER_PAGE
    return list((await operations.describe_topics(names, partition_size_limit_per_response=limit)).values())


def _is_shown(setting: ConfigEntry, old_format: bool) -> bool:
    """All that is not default; in older days only what had been set for the topic itself."""
    return setting.source is ConfigSource.DYNAMIC_TOPIC_CONFIG if old_format else not setting.is_default


def _any_name(options: Namespace) -> Namespace:
    return Namespace(topic=None, exclude_internal=options.exclude_internal)


async def _reassignments(
    connection: Connection, topics: Iterable[TopicDescription]
) -> dict[TopicPartition, PartitionReassignment]:
    partitions = [TopicPartition(topic.name, info.partition) for topic in topics for info in topic.partitions]
    try:
        return dict(await connection.use(ReassignmentOperations).list_partition_reassignments(partitions))
    except ApiError:  # a broker that does not know the question, or a user who may not ask it
        return {}


def _topic_line(topic: TopicDescription, replication_factor: int, overrides: str, old_format: bool) -> str:
    count = len(topic.partitions)
    if old_format:
        counts = f"PartitionCount:{count}\tReplicationFactor:{replication_factor}"
        return f"Topic:{topic.name}\t{counts}\tConfigs:{overrides}"
    topic_id = "" if topic.topic_id == NO_ID else f"\tTopicId: {topic.topic_id}"
    counts = f"PartitionCount: {count}\tReplicationFactor: {replication_factor}"
    return f"Topic: {topic.name}{topic_id}\t{counts}\tConfigs: {overrides}"


def _partition_line(topic: str, partition: Partition, old_format: bool) -> str:
    info = partition.info
    leader = "none" if info.leader is None else info.leader
    line = f"\tTopic: {topic}\tPartition: {info.partition}\tLeader: {leader}"
    line += f"\tReplicas: {_listed(info.replicas)}\tIsr: {_listed(info.isr)}"
    if old_format:
        return line
    if (moving := partition.reassignment) is not None:
        line += f"\tAdding Replicas: {_listed(moving.adding_replicas)}"
        line += f"\tRemoving Replicas: {_listed(moving.removing_replicas)}"
    return f"{line}\tElr: {_listed(info.eligible_leader_replicas)}\tLastKnownElr: {_listed(info.last_known_elr)}"


def _listed(brokers: Iterable[int] | None) -> str:
    return "N/A" if brokers is None else ",".join(map(str, brokers))
