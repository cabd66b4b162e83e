"""Sends markers to brokers: one request at a time to each, with everything that waits for that broker by then."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from moldau.base.wheel import Timer
from moldau.cluster.internal_topics import TRANSACTION_STATE
from moldau.cluster.metadata_cache import NO_LEADER, MetadataCache
from moldau.coordinator.transaction.broker_links import BrokerLinks
from moldau.coordinator.transaction.markers import Markers, Sent
from moldau.coordinator.transaction.transaction import Transaction
from moldau.protocol.messages.write_txn_markers import WriteTxnMarkersResponse
from moldau.replication.delayed import Timers
from moldau.storage.log_directory import TopicPartition

RETRY_BACKOFF_MS: Final = 100


class MarkerSender:
    """`on_complete` is called with the shard and the transaction that has all of its markers."""

    def __init__(
        self,
        metadata: MetadataCache,
        links: BrokerLinks,
        timers: Timers,
        on_complete: Callable[[int, Transaction], None],
    ) -> None:
        self._metadata = metadata
        self._links = links
        self._timers = timers
        self._markers = Markers(self._leader_of, on_complete)
        self._in_flight: set[int] = set()
        self._retry: Timer | None = None

    def __len__(self) -> int:
        return len(self._markers)

    def send(self, shard: int, transaction: Transaction, coordinator_epoch: int) -> None:
        """Write the markers of a prepared transaction, however long it takes."""
        self._markers.add(shard, transaction, coordinator_epoch)
        self._go_on()

    def forget(self, shard: int) -> None:
        self._markers.forget(shard)

    def close(self) -> None:
        if self._retry is not None:
            self._retry.cancel()

    def _leader_of(self, key: TopicPartition) -> int | None:
        """A broker that has just started may know no partitions yet, and then cannot say that one is gone."""
        known = self._metadata.partition(*key)
        if known is not None:
            return known.leader
        return None if TRANSACTION_STATE in self._metadata.topics else NO_LEADER

    def _go_on(self) -> None:
        for broker_id in self._markers.brokers:
            if broker_id not in self._in_flight and (taken := self._markers.take(broker_id)) is not None:
                request, sent = taken
                self._in_flight.add(broker_id)
                self._links.send(broker_id, request, partial(self._answered, broker_id, sent))
        if self._markers.has_aside and self._retry is None:
            self._retry = self._timers.add(RETRY_BACKOFF_MS, self._look_again)

    def _answered(self, broker_id: int, sent: Sent, response: WriteTxnMarkersResponse | None) -> None:
        self._in_flight.discard(broker_id)
        self._markers.answered(sent, response)
        self._go_on()

    def _look_again(self) -> None:
        self._retry = None
        self._markers.retry()
        self._go_on()
