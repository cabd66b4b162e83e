"""The markers that are still to be written: for each prepared transaction one in each of its partitions. No I/O.

    add ─► the leader of each partition is known?   yes ─► in the queue of that broker ─► taken, in one request
                                                    no  ─► set aside, and looked at again later
                                                    the partition is still unknown then: nothing to write

When no partition of a transaction is left, it is complete. What a broker says of a partition decides what follows:
written, to be sent again (perhaps to another broker), or the whole transaction is given up, because another coordinator
has taken over and a partition has heard of it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from moldau.base.error_codes import ErrorCode
from moldau.cluster.metadata_cache import NO_LEADER
from moldau.coordinator.transaction.states import TransactionState
from moldau.coordinator.transaction.transaction import Transaction
from moldau.protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from moldau.storage.log_directory import TopicPartition

logger = logging.getLogger(__name__)

TRANSACTIONS_PER_REQUEST_MAX: Final = 1_000

WRITTEN: Final = frozenset((ErrorCode.NONE, ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT, ErrorCode.UNSUPPORTED_VERSION))
"""There is a marker now, or there never can be one."""
FENCED: Final = frozenset((ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.TRANSACTION_COORDINATOR_FENCED))
"""Somebody else ends the transaction, or has done so."""
EXPECTED: Final = frozenset(
    (
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.KAFKA_STORAGE_ERROR,
    )
)
"""What passes; anything else is logged, and tried again all the same."""


class Ending:
    """A prepared transaction, and the partitions that have no marker yet."""

    __slots__ = ("coordinator_epoch", "remaining", "shard", "transaction")

    def __init__(self, shard: int, transaction: Transaction, coordinator_epoch: int) -> None:
        self.shard = shard
        self.transaction = transaction
        self.coordinator_epoch = coordinator_epoch
        self.remaining = set(transaction.partitions)

    def marker(self, partitions: Iterable[TopicPartition]) -> WritableTxnMarker:
        topics: dict[str, list[int]] = {}
        for topic, partition in partitions:
            topics.setdefault(topic, []).append(partition)
        return WritableTxnMarker(
            producer_id=self.transaction.producer_id,
            producer_epoch=self.transaction.producer_epoch,
            transaction_result=self.transaction.state is TransactionState.PREPARE_COMMIT,
            topics=[WritableTxnMarkerTopic(name=topic, partition_indexes=ids) for topic, ids in topics.items()],
            coordinator_epoch=self.coordinator_epoch,
        )


Sent = list[tuple[Ending, list[TopicPartition]]]
"""What one request asks for."""
LeaderOf = Callable[[TopicPartition], int | None]
"""The broker that leads a partition, -1 if none does, None if there is no such partition any more."""


class Markers:
    """`on_complete` is called for each transaction that has all of its markers."""

    def __init__(self, leader_of: LeaderOf, on_complete: Callable[[int, Transaction], None]) -> None:
        self._leader_of = leader_of
        self._on_complete = on_complete
        self._endings: dict[str, Ending] = {}
        self._queues: dict[int, dict[Ending, list[TopicPartition]]] = {}
        self._aside: dict[Ending, list[TopicPartition]] = {}

    def __len__(self) -> int:
        """How many transactions are not complete."""
        return len(self._endings)

    @property
    def has_aside(self) -> bool:
        """Whether something waits for a leader, or for a while."""
        return bool(self._aside)

    @property
    def brokers(self) -> list[int]:
        """Those with something to do."""
        return [broker_id for broker_id, queue in self._queues.items() if queue]

    def add(self, shard: int, transaction: Transaction, coordinator_epoch: int) -> None:
        """Have all markers of a transaction written, unless that is under way."""
        known = self._endings.get(transaction.transactional_id)
        if known is not None and known.transaction is transaction:
            return
        ending = self._endings[transaction.transactional_id] = Ending(shard, transaction, coordinator_epoch)
        self._route(ending, sorted(ending.remaining), is_retry=False)

    def forget(self, shard: int) -> None:
        """Another broker coordinates these transactions."""
        for transactional_id, ending in list(self._endings.items()):
            if ending.shard == shard:
                del self._endings[transactional_id]
                self._unqueue(ending)

    def take(self, broker_id: int) -> tuple[WriteTxnMarkersRequest, Sent] | None:
        """The next request for a broker, with everything that waits for it; None if nothing does."""
        queue = self._queues.pop(broker_id, None)
        if not queue:
            return None
        sent = list(queue.items())
        if len(sent) > TRANSACTIONS_PER_REQUEST_MAX:
            self._queues[broker_id] = dict(sent[TRANSACTIONS_PER_REQUEST_MAX:])
            del sent[TRANSACTIONS_PER_REQUEST_MAX:]
        return WriteTxnMarkersRequest(markers=[ending.marker(partitions) for ending, partitions in sent]), sent

    def answered(self, sent: Sent, response: WriteTxnMarkersResponse | None) -> None:
        """What came of a request; None if nobody knows, and it has to be sent again."""
        codes = {} if response is None else _codes(response)
        for ending, partitions in sent:
            if self._is_current(ending):
                self._obey(ending, partitions, codes.get(ending.transaction.producer_id, {}))

    def retry(self) -> None:
        """Look again for the leaders of what was set aside."""
        aside, self._aside = self._aside, {}
        for ending, partitions in aside.items():
            self._route(ending, partitions, is_retry=True)

    # -- within

    def _is_current(self, ending: Ending) -> bool:
        return self._endings.get(ending.transaction.transactional_id) is ending

    def _obey(
        self, ending: Ending, partitions: list[TopicPartition], codes: Mapping[TopicPartition, ErrorCode]
    ) -> None:
        again: list[TopicPartition] = []
        for key in partitions:
            code = codes.get(key, ErrorCode.REQUEST_TIMED_OUT)
            if code in WRITTEN:
                ending.remaining.discard(key)
            elif code in FENCED:
                logger.warning("%r is ended by another coordinator: %s-%d says %s", ending.transaction, *key, code.name)
                del self._endings[ending.transaction.transactional_id]
                self._unqueue(ending)
                return
            else:
                if code not in EXPECTED:
                    logger.error("%r: %s-%d refuses the marker: %s", ending.transaction, *key, code.name)
                again.append(key)
        if again:
            self._aside.setdefault(ending, []).extend(again)
        self._complete_if_done(ending)

    def _route(self, ending: Ending, partitions: list[TopicPartition], *, is_retry: bool) -> None:
        for key in partitions:
            leader = self._leader_of(key)
            if leader is None and is_retry:
                logger.info("%r: %s-%d is gone, and needs no marker", ending.transaction, *key)
                ending.remaining.discard(key)
            elif leader is None or leader == NO_LEADER:
                self._aside.setdefault(ending, []).append(key)
            else:
                self._queues.setdefault(leader, {}).setdefault(ending, []).append(key)
        self._complete_if_done(ending)

    def _complete_if_done(self, ending: Ending) -> None:
        if not ending.remaining:
            del self._endings[ending.transaction.transactional_id]
            self._on_complete(ending.shard, ending.transaction)

    def _unqueue(self, ending: Ending) -> None:
        self._aside.pop(ending, None)
        for queue in self._queues.values():
            queue.pop(ending, None)


def _codes(response: WriteTxnMarkersResponse) -> dict[int, dict[TopicPartition, ErrorCode]]:
    """By producer id."""
    return {
        marker.producer_id: {
            (topic.name, partition.partition_index): ErrorCode(partition.error_code)
            for topic in marker.topics
            for partition in topic.partitions
        }
        for marker in response.markers
    }
