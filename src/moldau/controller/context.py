"""What the controller knows: brokers, topics, who leads, in which state everything is, and what is to be deleted.

Read from the store when a term begins, and kept in step by the events of the queue, which alone may touch it. Plain
data and questions about it; decisions are made elsewhere.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

from moldau.cluster.znodes.brokers import BrokerRegistration
from moldau.controller.assignment import ReplicaAssignment
from moldau.controller.leadership import Leadership
from moldau.controller.partition_states import PartitionState
from moldau.controller.replica_states import ReplicaState

Partition = tuple[str, int]
ReplicasByBroker = dict[int, list[Partition]]
"""Replicas, grouped by where they are: that is how they change their state and how brokers are told."""


class LiveBroker(NamedTuple):
    epoch: int
    """The czxid of its registration: a broker that comes back has another."""
    registration: BrokerRegistration


class ControllerContext:
    def __init__(self, epoch: int) -> None:
        self.epoch = epoch
        self.brokers: dict[int, LiveBroker] = {}
        """Those that are registered, also while they shut down."""
        self.shutting_down: set[int] = set()
        self.offline_replicas: dict[int, set[Partition]] = {}
        """Replicas on directories that failed, on brokers that live."""
        self.topics: dict[str, dict[int, ReplicaAssignment]] = {}
        self.topic_ids: dict[str, bytes] = {}
        self.topic_names: dict[bytes, str] = {}
        self.leadership: dict[Partition, Leadership] = {}
        self.partition_states: dict[Partition, PartitionState] = {}
        self.replica_states: dict[Partition, dict[int, ReplicaState]] = {}
        self.being_reassigned: dict[Partition, None] = {}
        self.topics_to_delete: dict[str, None] = {}
        self.deletion_ineligible: set[str] = set()

    # -- brokers

    @property
    def live_brokers(self) -> list[int]:
        """Those that can be asked to lead."""
        return [broker for broker in self.brokers if broker not in self.shutting_down]

    def is_online(self, partition: Partition, replica: int, *, or_shutting_down: bool = False) -> bool:
        if replica not in self.brokers or (replica in self.shutting_down and not or_shutting_down):
            return False
        offline = self.offline_replicas.get(replica)
        return offline is None or partition not in offline

    def online(self, partition: Partition, *, or_shutting_down: bool = False) -> tuple[int, ...]:
        """The replicas of a partition that are online, in their order."""
        replicas = self.replicas(partition)
        return tuple(each for each in replicas if self.is_online(partition, each, or_shutting_down=or_shutting_down))

    # -- topics and partitions

    def assignment(self, partition: Partition) -> ReplicaAssignment:
        """The replicas of a partition; none if it is unknown."""
        return self.topics.get(partition[0], {}).get(partition[1], _NOWHERE)

    def replicas(self, partition: Partition) -> tuple[int, ...]:
        return self.assignment(partition).replicas

    def assign(self, partition: Partition, assignment: ReplicaAssignment) -> None:
        self.topics.setdefault(partition[0], {})[partition[1]] = assignment

    def knows(self, partition: Partition) -> bool:
        return partition[1] in self.topics.get(partition[0], {})

    def partitions(self) -> Iterator[Partition]:
        return ((topic, index) for topic, assignments in self.topics.items() for index in assignments)

    def partitions_of(self, topics: Iterable[str]) -> list[Partition]:
        return [(topic, index) for topic in topics for index in self.topics.get(topic, ())]

    def add_topic(self, topic: str, topic_id: bytes, assignments: dict[int, ReplicaAssignment]) -> None:
        self.topics[topic] = assignments
        self.topic_ids[topic] = topic_id
        self.topic_names[topic_id] = topic

    def remove_topic(self, topic: str) -> None:
        for partition in self.partitions_of([topic]):
            self.leadership.pop(partition, None)
            self.partition_states.pop(partition, None)
            self.replica_states.pop(partition, None)
            self.being_reassigned.pop(partition, None)
            for offline in self.offline_replicas.values():
                offline.discard(partition)
        self.topics.pop(topic, None)
        self.topic_names.pop(self.topic_ids.pop(topic, b""), None)
        self.topics_to_delete.pop(topic, None)
        self.deletion_ineligible.discard(topic)

    def is_to_be_deleted(self, topic: str) -> bool:
        return topic in self.topics_to_delete

    def is_given_up(self, partition: Partition) -> bool:
        """Whether it needs no leader any more: its topic is to be deleted, and it need not arrive anywhere before."""
        return partition[0] in self.topics_to_delete and partition not in self.being_reassigned

    def partition_state(self, partition: Partition) -> PartitionState:
        return self.partition_states.get(partition, PartitionState.NON_EXISTENT)

    def partitions_with_offline_leader(self) -> list[Partition]:
        """Those whose leader cannot lead any more, unless they need none."""
        return [
            partition
            for partition, leadership in self.leadership.items()
            if not self.is_online(partition, leadership.leader) and not self.is_given_up(partition)
        ]

    # -- replicas

    def replica_state(self, partition: Partition, replica: int) -> ReplicaState:
        return self.replica_states.get(partition, _NO_STATES).get(replica, ReplicaState.NON_EXISTENT)

    def put_replica_state(self, partition: Partition, replica: int, state: ReplicaState) -> None:
        states = self.replica_states.setdefault(partition, {})
        if state is ReplicaState.NON_EXISTENT:
            states.pop(replica, None)
        else:
            states[replica] = state

    def replicas_on(self, brokers: Collection[int]) -> ReplicasByBroker:
        return self.replicas_of(self.partitions(), brokers)

    def replicas_of(self, partitions: Iterable[Partition], brokers: Collection[int] | None = None) -> ReplicasByBroker:
        """The replicas of partitions: all, or those on some brokers."""
        found: ReplicasByBroker = {}
        for partition in partitions:
            for replica in self.replicas(partition):
                if brokers is None or replica in brokers:
                    found.setdefault(replica, []).append(partition)
        return found

    def states_of_topic(self, topic: str) -> Iterator[tuple[Partition, int, ReplicaState]]:
        for partition in self.partitions_of([topic]):
            for replica in self.replicas(partition):
                yield partition, replica, self.replica_state(partition, replica)


_NOWHERE = ReplicaAssignment(())
_NO_STATES: dict[int, ReplicaState] = {}
