"""Which partition is copied by which fetcher: one for each leader and number below `num.replica.fetchers`.

A partition's number is Kafka's: of its topic's hash and its index, so that it stays with one fetcher as long as their
count does. A fetcher is made for its first partition, and ends when it has none.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from dataclasses import replace

from moldau.base.hashing import java_hash
from moldau.base.supervision import OnFailure, Supervisor
from moldau.net.client_options import ClientOptions
from moldau.protocol.schema import ZERO_UUID
from moldau.replication.followers.fetcher import Fetcher, FollowerSurroundings
from moldau.replication.followers.following import Following, Throttle
from moldau.replication.followers.local_replica import DiskDuties, LocalReplica
from moldau.replication.followers.settings import FollowerSettings
from moldau.replication.replicas import LogPartition, Replicas
from moldau.storage.log_directory import TopicPartition

logger = logging.getLogger(__name__)

FetcherId = tuple[int, int]  # leader, number


def fetcher_number(key: TopicPartition, fetchers: int) -> int:
    """Kafka's: the absolute value of Java's 31 * hash + partition, in 32 bits, modulo the count."""
    value = (31 * java_hash(key[0]) + key[1]) & 0xFFFFFFFF
    value = value - (1 << 32) if value >= 1 << 31 else value
    return (0 if value == -(1 << 31) else abs(value)) % fetchers


class ReplicaFetchers:
    """Follows partitions as the controller says; see `moldau.replication.state_changes.Fetchers`."""

    def __init__(
        self,
        replicas: Replicas,
        settings: FollowerSettings,
        throttle: Throttle,
        options: ClientOptions,
        surroundings: FollowerSurroundings,
        supervisor: Supervisor,
    ) -> None:
        self._replicas = replicas
        self._settings = settings
        self._throttle = throttle
        self._options = options
        self._surroundings = surroundings
        self._supervisor = supervisor
        self._fetchers: dict[FetcherId, Fetcher] = {}
        self._running: dict[FetcherId, asyncio.Task[None]] = {}
        self._by_partition: dict[TopicPartition, FetcherId] = {}
        self._is_closed = False

    def follow(self, key: TopicPartition, partition: LogPartition) -> None:
        """Copy a partition from its leader, from now on."""
        if self._is_closed:
            return
        self.stop([key])
        fetcher_id = partition.leader, fetcher_number(key, self._settings.fetchers)
        fetcher = self._fetchers.get(fetcher_id)
        if fetcher is None:
            fetcher = self._fetchers[fetcher_id] = self._make(fetcher_id)
        self._by_partition[key] = fetcher_id
        replica = LocalReplica(self._replicas, key, partition, fetcher.duties)
        topic_id = self._replicas.topic_ids.get(key[0], ZERO_UUID)
        fetcher.following.add(key, topic_id, partition.leader_epoch, replica)
        fetcher.hurry()
        running = self._running.get(fetcher_id)
        if running is None or running.done():
            name = f"ReplicaFetcherThread-{fetcher_id[1]}-{fetcher_id[0]}"
            self._running[fetcher_id] = self._supervisor.start(name, fetcher.run, OnFailure.RESTART)

    def stop(self, keys: Iterable[TopicPartition]) -> None:
        """Copy these no more: when it returns, nothing more is written to them."""
        for key in keys:
            fetcher_id = self._by_partition.pop(key, None)
            if fetcher_id is not None:
                fetcher = self._fetchers[fetcher_id]
                fetcher.following.remove(key)
                fetcher.wake()

    def configure(self, settings: FollowerSettings) -> None:
        """Obey other settings: with another number of fetchers, partitions change places."""
        if settings == self._settings:
            return
        logger.info("partitions are followed anew, with %d fetchers for each leader", settings.fetchers)
        self._settings = settings
        keys = list(self._by_partition)
        self.stop(keys)
        self._fetchers.clear()
        self._running.clear()  # the old ones end by themselves
        for key in keys:
            partition = self._replicas.partitions.get(key)
            if partition is not None:
                self.follow(key, partition)

    def close(self) -> None:
        """Follow nothing any more."""
        self._is_closed = True
        self.stop(list(self._by_partition))
        for fetcher in self._fetchers.values():
            fetcher.close()

    @property
    def failed_partitions(self) -> int:
        return sum(len(fetcher.following.failed) for fetcher in self._fetchers.values())

    @property
    def lag_max(self) -> int:
        """How far the partition that is furthest behind is behind its leader's high watermark."""
        return max(
            (one.lag or 0 for fetcher in self._fetchers.values() for one in fetcher.following.partitions.values()),
            default=0,
        )

    def _make(self, fetcher_id: FetcherId) -> Fetcher:
        leader, number = fetcher_id
        surroundings, settings = self._surroundings, self._settings
        options = replace(
            self._options,
            client_id=f"broker-{surroundings.broker_id}-fetcher-{number}",
            request_timeout_ms=settings.socket_timeout_ms,
            receive_buffer_bytes=settings.socket_receive_buffer_bytes,
        )
        duties = DiskDuties(self._replicas.directories)
        following = Following(surroundings.broker_id, settings, self._throttle)
        return Fetcher(leader, following, duties, settings, options, surroundings)
