"""How the last batch of each partition was sent by itself: the next one goes the same way while nothing has changed."""

from __future__ import annotations

from dataclasses import dataclass, field

from moldau.clients.network.cluster import Cluster
from moldau.clients.network.metadata import ClusterMetadata
from moldau.clients.producer.accumulator import PartitionQueue
from moldau.clients.producer.single_produce import SingleProduce
from moldau.net.client import ClientConnection


@dataclass(slots=True)
class SentTo:
    """What the sender knows of a broker."""

    node_id: int
    in_flight: int = 0
    connecting: bool = False
    ready: list[PartitionQueue] = field(default_factory=list)


@dataclass(slots=True)
class Way:
    """To whom and how a batch is sent, and the metadata by which that is right."""

    metadata: ClusterMetadata
    broker: SentTo
    connection: ClientConnection
    single: SingleProduce


class Ways:
    """One for each partition that a batch has been sent to by itself."""

    def __init__(self, cluster: Cluster, acks: int, request_timeout_ms: int) -> None:
        self._cluster = cluster
        self._acks = acks
        self._request_timeout_ms = request_timeout_ms
        self._known: dict[PartitionQueue, Way] = {}

    def open(self, queue: PartitionQueue) -> Way | None:
        """The way of a partition's last batch, if it can be gone again."""
        way = self._known.get(queue)
        if way is None or way.metadata is not self._cluster.metadata or not way.connection.can_send:
            return None
        return way

    def of(self, queue: PartitionQueue, broker: SentTo, connection: ClientConnection, version: int) -> Way:
        """The way that a batch goes now."""
        metadata, way = self._cluster.metadata, self._known.get(queue)
        if way is not None and way.single.version == version:
            if way.metadata is metadata and way.connection is connection:
                return way
            single = way.single
        else:
            of, client_id = queue.topic_partition, connection.client_id
            single = SingleProduce(of, version, self._acks, self._request_timeout_ms, client_id)
        way = self._known[queue] = Way(metadata, broker, connection, single)
        return way
