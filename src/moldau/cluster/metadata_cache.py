"""What a broker knows of its cluster: live brokers, topics, and who leads which partition.

Only the controller writes it, by UpdateMetadata, and tells each broker what has changed: a request names some
partitions, and all live brokers. So `apply` adds to what is known. A partition whose leader is `LEADER_DURING_DELETE`
is being deleted and leaves; a topic leaves with its last partition.

Everything that serves clients reads from here, and nobody asks the coordination store for it. The answers to Metadata
are made in `answers`, which keeps what it has made until `apply` says that it is no longer true.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError
from moldau.base.ids import ZERO_UUID
from moldau.cluster.metadata_answers import MetadataAnswers
from moldau.cluster.znodes.brokers import Endpoint
from moldau.protocol.messages.update_metadata import (
    UpdateMetadataBroker,
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
)

NO_CONTROLLER: Final = -1
NO_LEADER: Final = -1
LEADER_DURING_DELETE: Final = -2

_SECURITY_PROTOCOLS: Final = {0: "PLAINTEXT", 1: "SSL", 2: "SASL_PLAINTEXT", 3: "SASL_SSL"}

Listener = Callable[[Collection[str]], None]

logger = logging.getLogger(__name__)


class PartitionMetadata(NamedTuple):
    """What the controller last said of a partition."""

    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    partition_epoch: int
    replicas: tuple[int, ...]
    offline_replicas: tuple[int, ...]
    controller_epoch: int


@dataclass(frozen=True, slots=True)
class BrokerMetadata:
    """A live broker, and where it is reached on each of its listeners."""

    broker_id: int
    rack: str | None
    endpoints: dict[str, Endpoint]


class MetadataCache:
    """To be read freely between two turns of the event loop; changed by `apply` alone."""

    def __init__(self) -> None:
        self.controller_id = NO_CONTROLLER
        self.brokers: dict[int, BrokerMetadata] = {}
        self.topics: dict[str, dict[int, PartitionMetadata]] = {}
        self.topic_ids: dict[str, bytes] = {}
        self.topic_names: dict[bytes, str] = {}
        self.answers = MetadataAnswers(self)
        self._listeners: list[Listener] = []

    def partition(self, topic: str, partition: int) -> PartitionMetadata | None:
        partitions = self.topics.get(topic)
        return None if partitions is None else partitions.get(partition)

    def endpoint(self, broker_id: int, listener: str) -> Endpoint | None:
        """Where a broker is reached on a listener; None if it is not alive or has no such listener."""
        broker = self.brokers.get(broker_id)
        return None if broker is None else broker.endpoints.get(listener)

    def add_listener(self, callback: Listener) -> None:
        """Call `callback` after each change with the topics that changed; with none if only brokers did."""
        self._listeners.append(callback)

    def apply(self, request: UpdateMetadataRequest, version: int) -> list[tuple[str, int]]:
        """Take over what the controller says; the partitions that are gone by it."""
        self._apply_brokers(request.live_brokers, version)
        self.controller_id = max(request.controller_id, NO_CONTROLLER)
        for state in request.topic_states:
            self._set_topic_id(state.topic_name, state.topic_id)
        gone: dict[tuple[str, int], None] = {}
        changed: dict[str, None] = {}
        for topic, partition in _partitions(request):
            changed[topic] = None
            if partition.leader == LEADER_DURING_DELETE:
                self._remove(topic, partition.partition_index)
                gone[topic, partition.partition_index] = None
            else:
                self._put(topic, partition)
                gone.pop((topic, partition.partition_index), None)
        self.answers.forget(changed)
        for callback in self._listeners:
            callback(changed.keys())
        return list(gone)

    def _apply_brokers(self, live: Iterable[UpdateMetadataBroker], version: int) -> None:
        brokers = {broker.id: _broker(broker, version) for broker in live}
        if brokers == self.brokers:
            return
        self.brokers = brokers
        self.answers.forget_all()
        listeners = {frozenset(broker.endpoints) for broker in brokers.values()}
        if len(listeners) > 1:
            logger.error("listeners are not the same on all brokers: %s", brokers)

    def _set_topic_id(self, topic: str, topic_id: bytes) -> None:
        old = self.topic_ids.pop(topic, None)
        if old is not None:
            self.topic_names.pop(old, None)
        if topic_id != ZERO_UUID:
            self.topic_ids[topic] = topic_id
            self.topic_names[topic_id] = topic

    def _put(self, topic: str, state: UpdateMetadataPartitionState) -> None:
        partitions = self.topics.setdefault(topic, {})
        out_of_order = state.partition_index not in partitions and state.partition_index < next(
            reversed(partitions), -1
        )
        partitions[state.partition_index] = PartitionMetadata(
            state.leader,
            state.leader_epoch,
            tuple(state.isr),
            state.zk_version,
            tuple(state.replicas),
            tuple(state.offline_replicas),
            state.controller_epoch,
        )
        if out_of_order:
            self.topics[topic] = dict(sorted(partitions.items()))

    def _remove(self, topic: str, partition: int) -> None:
        partitions = self.topics.get(topic, {})
        partitions.pop(partition, None)
        if not partitions:
            self.topics.pop(topic, None)
            self._set_topic_id(topic, ZERO_UUID)


def _partitions(request: UpdateMetadataRequest) -> Iterator[tuple[str, UpdateMetadataPartitionState]]:
    """All partition states; up to version 4 each names its topic itself."""
    for partition in request.ungrouped_partition_states:
        yield partition.topic_name, partition
    for topic in request.topic_states:
        for partition in topic.partition_states:
            yield topic.topic_name, partition


def _broker(broker: UpdateMetadataBroker, version: int) -> BrokerMetadata:
    """Before version 3 (KIP-103) a listener has no name but that of its protocol; version 0 knows one endpoint."""
    if version == 0:
        found = [Endpoint("PLAINTEXT", broker.v0_host, broker.v0_port, "PLAINTEXT")]
    else:
        found = []
        for endpoint in broker.endpoints:
            protocol = _SECURITY_PROTOCOLS.get(endpoint.security_protocol)
            if protocol is None:
                raise ApiError(
                    ErrorCode.INVALID_REQUEST,
                    f"broker {broker.id} has an endpoint of security protocol {endpoint.security_protocol}, "
                    f"expected one of {sorted(_SECURITY_PROTOCOLS)}",
                )
            found.append(Endpoint(endpoint.listener or protocol, endpoint.host, endpoint.port, protocol))
    return BrokerMetadata(broker.id, broker.rack, {endpoint.listener: endpoint for endpoint in found})
