"""What a client knows about a cluster, as an immutable snapshot.

Answers may come from brokers that lag behind, so a partition's leader is only replaced by one of the same or a newer
leader epoch (KIP-320), unless the topic was made anew and has another id (KIP-516).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import NamedTuple, Protocol

from moldau.base.error_codes import ErrorCode
from moldau.clients.errors import error_code
from moldau.clients.records import TopicPartition
from moldau.protocol.messages.metadata import MetadataResponse, MetadataResponseTopic
from moldau.protocol.schema import ZERO_UUID, Uuid

NO_LEADER = -1
UNKNOWN_EPOCH = -1


class Node(NamedTuple):
    """A broker."""

    id: int
    host: str
    port: int
    rack: str | None = None

    def __str__(self) -> str:
        return f"{self.host}:{self.port} (id {self.id})"


class NodeEndpoint(Protocol):
    """A broker as answers carry it, some of them with its `rack`."""

    node_id: int
    host: str
    port: int


class PartitionMetadata(NamedTuple):
    """A partition; the leader is -1 while there is none, its epoch -1 where the broker does not tell."""

    topic: str
    partition: int
    leader: int
    leader_epoch: int
    replicas: tuple[int, ...] = ()
    isr: tuple[int, ...] = ()
    offline: tuple[int, ...] = ()
    error: ErrorCode = ErrorCode.NONE


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic, or why it is not known; `partitions` are in the order of their numbers."""

    name: str
    topic_id: Uuid = ZERO_UUID
    is_internal: bool = False
    error: ErrorCode = ErrorCode.NONE
    partitions: tuple[PartitionMetadata, ...] = ()


@dataclass(frozen=True, slots=True)
class ClusterMetadata:
    """Brokers and topics at one moment."""

    cluster_id: str | None = None
    controller_id: int = -1
    nodes: Mapping[int, Node] = field(default_factory=lambda: MappingProxyType({}))
    topics: Mapping[str, Topic] = field(default_factory=lambda: MappingProxyType({}))

    def partitions(self, topic: str) -> tuple[PartitionMetadata, ...]:
        """The partitions of a topic; none if it is not known."""
        known = self.topics.get(topic)
        return known.partitions if known is not None else ()

    def available_partitions(self, topic: str) -> tuple[PartitionMetadata, ...]:
        """Those of them that have a leader."""
        return tuple(each for each in self.partitions(topic) if each.leader in self.nodes)

    def partition(self, topic: str, partition: int) -> PartitionMetadata | None:
        partitions = self.partitions(topic)
        return partitions[partition] if 0 <= partition < len(partitions) else None

    def leader(self, of: TopicPartition) -> PartitionMetadata | None:
        """The partition if it has a leader whose address is known."""
        topic, number = of
        known = self.topics.get(topic)
        if known is None or not 0 <= number < len(known.partitions):
            return None
        partition = known.partitions[number]
        return partition if partition.leader in self.nodes else None

    @property
    def leaderless(self) -> bool:
        """Whether some topic or partition should be asked for again soon."""
        return any(
            topic.error.retriable or any(each.leader not in self.nodes for each in topic.partitions)
            for topic in self.topics.values()
        )

    def with_answer(self, answer: MetadataResponse, kept: Iterable[str] = ()) -> ClusterMetadata:
        """After an answer about some topics; of the others only those in `kept` stay."""
        topics = {name: self.topics[name] for name in kept if name in self.topics}
        for each in answer.topics:
            if each.name is not None:
                topics[each.name] = _topic(each, self.topics.get(each.name))
        nodes = {each.node_id: Node(each.node_id, each.host, each.port, each.rack) for each in answer.brokers}
        return ClusterMetadata(answer.cluster_id, answer.controller_id, nodes or self.nodes, topics)

    def with_nodes(self, endpoints: Iterable[NodeEndpoint]) -> ClusterMetadata:
        """With addresses that came along with another answer."""
        nodes = dict(self.nodes)
        for each in endpoints:
            known = nodes.get(each.node_id)
            rack = getattr(each, "rack", known.rack if known else None)
            nodes[each.node_id] = Node(each.node_id, each.host, each.port, rack)
        return replace(self, nodes=nodes)

    def with_leader(self, of: TopicPartition, leader: int, leader_epoch: int) -> ClusterMetadata:
        """With a leader that a broker named when it refused (KIP-951); unchanged if that is no news."""
        known = self.partition(of.topic, of.partition)
        if known is None or leader_epoch <= known.leader_epoch:
            return self
        topic = self.topics[of.topic]
        partitions = list(topic.partitions)
        partitions[of.partition] = known._replace(leader=leader, leader_epoch=leader_epoch, error=ErrorCode.NONE)
        return replace(self, topics={**self.topics, of.topic: replace(topic, partitions=tuple(partitions))})


def _topic(answer: MetadataResponseTopic, known: Topic | None) -> Topic:
    name = answer.name or ""
    same = known is not None and known.topic_id == answer.topic_id
    partitions = []
    for each in sorted(answer.partitions, key=lambda partition: partition.partition_index):
        fresh = PartitionMetadata(
            name,
            each.partition_index,
            each.leader_id,
            each.leader_epoch,
            tuple(each.replica_nodes),
            tuple(each.isr_nodes),
            tuple(each.offline_replicas),
            error_code(each.error_code),
        )
        if same and known is not None and each.partition_index < len(known.partitions):
            old = known.partitions[each.partition_index]
            if UNKNOWN_EPOCH < fresh.leader_epoch < old.leader_epoch:
                fresh = old
        partitions.append(fresh)
    # A topic whose numbers have gaps cannot be spoken of by number; Kafka has none.
    complete = [each.partition for each in partitions] == list(range(len(partitions)))
    error = error_code(answer.error_code) if complete else ErrorCode.LEADER_NOT_AVAILABLE
    return Topic(name, answer.topic_id, answer.is_internal, error, tuple(partitions) if complete else ())
