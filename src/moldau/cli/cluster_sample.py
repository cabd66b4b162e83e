"""A cluster at one moment, as far as its admin operations tell, and what happened between two moments."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from moldau.base.clock import SystemClock
from moldau.cli.kafka.connecting import Connection
from moldau.clients.admin.cluster_operations import ClusterDescription, ClusterOperations
from moldau.clients.admin.group_offsets import GroupOffsetOperations
from moldau.clients.admin.groups import GroupOperations
from moldau.clients.admin.partitions import OffsetSpec, PartitionOperations
from moldau.clients.admin.topic_descriptions import TopicDescription, TopicDescriptionOperations
from moldau.clients.admin.topics import TopicOperations
from moldau.clients.records import TopicPartition

# A person looks on: what is not answered by then is told, or left out.
ASKING_S = 10.0


@dataclass(frozen=True, slots=True)
class GroupNow:
    """A group: what it has committed, and the ends of those partitions that could be asked."""

    name: str
    state: str
    members: int
    committed: Mapping[TopicPartition, int]
    ends: Mapping[TopicPartition, int]

    @property
    def lag(self) -> int:
        return sum(max(0, self.ends[each] - offset) for each, offset in self.committed.items() if each in self.ends)


@dataclass(frozen=True, slots=True)
class ClusterNow:
    """A cluster; `at_ms` is monotonic."""

    at_ms: float
    cluster: ClusterDescription
    topics: tuple[TopicDescription, ...]
    ends: Mapping[TopicPartition, int]
    groups: tuple[GroupNow, ...]


async def cluster_now(connection: Connection, *, with_groups: bool = True) -> ClusterNow:
    cluster = await connection.use(ClusterOperations).describe_cluster(timeout_s=ASKING_S)
    names = sorted(await connection.use(TopicOperations).list_topics(timeout_s=ASKING_S))
    # What is deleted between two questions is left out.
    described = await connection.use(TopicDescriptionOperations).describe_topics(
        names, timeout_s=ASKING_S, raise_errors=False
    )
    topics = tuple(described.succeeded.values())
    led = [
        TopicPartition(topic.name, info.partition)
        for topic in topics
        for info in topic.partitions
        if info.leader is not None
    ]
    ends = await end_offsets(connection, led)
    groups = await groups_now(connection) if with_groups else []
    return ClusterNow(SystemClock().monotonic_ms(), cluster, topics, ends, tuple(groups))


async def groups_now(connection: Connection, wanted: Callable[[str], bool] = lambda _name: True) -> list[GroupNow]:
    """Consumer groups, by name."""
    operations = connection.use(GroupOperations)
    names = [
        each.group_id for each in await operations.list_consumer_groups(timeout_s=ASKING_S) if wanted(each.group_id)
    ]
    described = (await operations.describe_consumer_groups(names, timeout_s=ASKING_S, raise_errors=False)).succeeded
    listed = await connection.use(GroupOffsetOperations).list_consumer_group_offsets(
        list(described), timeout_s=ASKING_S, raise_errors=False
    )
    committed = {
        name: {partition: each.offset for partition, each in offsets.items() if each is not None}
        for name, offsets in listed.succeeded.items()
    }
    ends = await end_offsets(connection, {each for offsets in committed.values() for each in offsets})
    return [
        GroupNow(name, group.state, len(group.members), committed.get(name, {}), ends)
        for name, group in sorted(described.items())
    ]


async def end_offsets(connection: Connection, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
    """The ends of those partitions that can be asked: a topic may be gone while its offsets are still there."""
    results = await connection.use(PartitionOperations).list_offsets(
        dict.fromkeys(partitions, OffsetSpec.LATEST), timeout_s=ASKING_S, raise_errors=False
    )
    return {partition: found.offset for partition, found in results.succeeded.items()}


def rate(before: int | None, after: int | None, seconds: float) -> float | None:
    """Records a second between two moments; None if one of them is not known."""
    if before is None or after is None or seconds <= 0:
        return None
    return round((after - before) / seconds, 1)
