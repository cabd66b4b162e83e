"""Parts of Metadata answers, made when first asked for and kept until what they say has changed.

A client asks for the same few topics again and again, and some ask for all of them: with thousands of topics, making
the answer costs more than sending it. What a topic looks like depends on the listener that the client came by, on how
old its version is, and on what it may do with the topic, if it wants to know.

Old versions: 0 leaves replicas out whose broker it cannot name and says REPLICA_NOT_AVAILABLE; up to 5 a leader
without the client's listener is LEADER_NOT_AVAILABLE, after that LISTENER_NOT_FOUND, so that a wrong configuration is
told from a dead broker.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from enum import Enum, auto
from typing import TYPE_CHECKING, Final, NamedTuple

from moldau.base.error_codes import ErrorCode
from moldau.base.ids import ZERO_UUID
from moldau.cluster.internal_topics import INTERNAL_TOPICS
from moldau.protocol.messages.metadata import MetadataResponseBroker, MetadataResponsePartition, MetadataResponseTopic

if TYPE_CHECKING:
    from moldau.cluster.metadata_cache import MetadataCache, PartitionMetadata

OPERATIONS_NOT_ASKED: Final = -(2**31)
_NO_LEADER: Final = -1


class Era(Enum):
    """How much a version of Metadata can say of brokers that are not there."""

    FILTERED_REPLICAS = auto()
    LEADER_NOT_AVAILABLE = auto()
    LISTENER_NOT_FOUND = auto()

    @classmethod
    def of(cls, version: int) -> Era:
        if version == 0:
            return cls.FILTERED_REPLICAS
        return cls.LEADER_NOT_AVAILABLE if version <= 5 else cls.LISTENER_NOT_FOUND


class View(NamedTuple):
    """What, beside the cluster's state, decides how a topic looks."""

    listener: str
    era: Era
    operations: int = OPERATIONS_NOT_ASKED
    """What the client may do with the topic, a bit for each operation (KIP-430)."""


class MetadataAnswers:
    """Nobody changes what comes from here: it may be part of many answers."""

    def __init__(self, cache: MetadataCache) -> None:
        self._cache = cache
        self._topics: dict[View, dict[str, MetadataResponseTopic]] = {}  # bounded by listeners × eras × topics
        self._all_topics: dict[View, list[MetadataResponseTopic]] = {}
        self._brokers: dict[str, list[MetadataResponseBroker]] = {}

    def brokers(self, listener: str) -> list[MetadataResponseBroker]:
        """The live brokers that can be reached on a listener."""
        found = self._brokers.get(listener)
        if found is None:
            found = self._brokers[listener] = [
                MetadataResponseBroker(
                    node_id=broker.broker_id, host=endpoint.host, port=endpoint.port, rack=broker.rack
                )
                for broker in self._cache.brokers.values()
                if (endpoint := broker.endpoints.get(listener)) is not None
            ]
        return found

    def topic(self, name: str, view: View) -> MetadataResponseTopic | None:
        made = self._topics.get(view)
        if made is None:
            made = self._topics[view] = {}
        found = made.get(name)
        if found is None and name in self._cache.topics:
            found = made[name] = self._make(name, view)
        return found

    def all_topics(self, view: View) -> list[MetadataResponseTopic]:
        found = self._all_topics.get(view)
        if found is None:
            topics = (self.topic(name, view) for name in self._cache.topics)
            found = self._all_topics[view] = [topic for topic in topics if topic is not None]
        return found

    def forget(self, topics: Collection[str]) -> None:
        """These have changed."""
        if topics:
            self._all_topics.clear()
            for made in self._topics.values():
                for topic in topics:
                    made.pop(topic, None)

    def forget_all(self) -> None:
        """The brokers have changed, and with them what is said of every partition."""
        self._topics.clear()
        self._all_topics.clear()
        self._brokers.clear()

    def _make(self, name: str, view: View) -> MetadataResponseTopic:
        partitions = self._cache.topics[name].items()
        return MetadataResponseTopic(
            name=name,
            topic_id=self._cache.topic_ids.get(name, ZERO_UUID),
            is_internal=name in INTERNAL_TOPICS,
            partitions=[self._partition(index, partition, view) for index, partition in partitions],
            topic_authorized_operations=view.operations,
        )

    def _partition(self, index: int, partition: PartitionMetadata, view: View) -> MetadataResponsePartition:
        replicas, isr = list(partition.replicas), list(partition.isr)
        if view.era is Era.FILTERED_REPLICAS:
            replicas, isr = self._reachable(replicas, view.listener), self._reachable(isr, view.listener)
        leader, error = partition.leader, ErrorCode.NONE
        if self._cache.endpoint(leader, view.listener) is None:
            knows_listeners = view.era is Era.LISTENER_NOT_FOUND and leader in self._cache.brokers
            error = ErrorCode.LISTENER_NOT_FOUND if knows_listeners else ErrorCode.LEADER_NOT_AVAILABLE
            leader = _NO_LEADER
        elif len(replicas) < len(partition.replicas) or len(isr) < len(partition.isr):
            error = ErrorCode.REPLICA_NOT_AVAILABLE
        return MetadataResponsePartition(
            error_code=error,
            partition_index=index,
            leader_id=leader,
            leader_epoch=partition.leader_epoch,
            replica_nodes=replicas,
            isr_nodes=isr,
            offline_replicas=list(partition.offline_replicas),
        )

    def _reachable(self, replicas: Iterable[int], listener: str) -> list[int]:
        return [broker_id for broker_id in replicas if self._cache.endpoint(broker_id, listener) is not None]
