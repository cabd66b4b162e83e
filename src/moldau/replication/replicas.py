"""The partitions that this broker has a replica of, and the requests that wait for something to happen to them.

An append goes from here into the log of a partition, and what it brings about goes out from here, in this order (A20):

    append ─► followers' parked fetches ─► high watermark ─► produces, consumers' fetches and deletions that wait for it

Whoever asks for a partition that is not here hears why: it never was (UNKNOWN_TOPIC_OR_PARTITION), it is elsewhere
(NOT_LEADER_OR_FOLLOWER), or its directory has failed (KAFKA_STORAGE_ERROR).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple, TypeAlias

from moldau.base.clock import Clock
from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError
from moldau.records.batch import Buffer
from moldau.replication.delayed import Purgatory, Timers
from moldau.replication.in_sync_replicas import IsrProposal
from moldau.replication.partition import Partition
from moldau.replication.partition_state import Moved
from moldau.storage.log import AppendResult, Log
from moldau.storage.log_directories import LogDirectories
from moldau.storage.log_directory import TopicPartition
from moldau.storage.producer_append import AppendOrigin
from moldau.storage.producer_verification import VerificationGuard

LogPartition: TypeAlias = Partition[Log]
ACKS_ALL = -1


class Surroundings(NamedTuple):
    """What is known of the rest of the cluster."""

    is_alive: Callable[[int], bool]
    """Whether a broker is registered."""
    is_known: Callable[[TopicPartition], bool]
    """Whether the cluster has a partition of this name."""


class TransactionalAppend(NamedTuple):
    """What an append in a transaction has to show (KIP-890), and of which version a marker is (KIP-1228)."""

    guard: VerificationGuard | None = None
    is_verification_required: bool = False
    transaction_version: int = 0


NO_TRANSACTION = TransactionalAppend()


class Replicas:
    """Every partition of this broker; keys are (topic, partition)."""

    def __init__(
        self, broker_id: int, directories: LogDirectories, timers: Timers, clock: Clock, surroundings: Surroundings
    ) -> None:
        self.broker_id = broker_id
        self.directories = directories
        self.clock = clock
        self.partitions: dict[TopicPartition, LogPartition] = {}
        self.topic_ids: dict[str, bytes] = {}
        self.produces = Purgatory(timers)
        self.fetches = Purgatory(timers)
        self.deletions = Purgatory(timers)
        self.on_proposal: Callable[[TopicPartition, IsrProposal], None] = lambda _key, _proposal: None
        self._is_alive, self._is_known = surroundings

    # -- which partitions there are

    def partition(self, key: TopicPartition) -> LogPartition:
        """The partition, whoever leads it."""
        found = self.partitions.get(key)
        if found is not None:
            return found
        if self._is_known(key):
            raise ApiError(ErrorCode.NOT_LEADER_OR_FOLLOWER, f"{key[0]}-{key[1]} has no replica on {self.broker_id}")
        raise ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no partition {key[0]}-{key[1]}")

    def log(self, key: TopicPartition, current_leader_epoch: int = -1, *, only_leader: bool = True) -> Log:
        return self.partition(key).require_log(current_leader_epoch, only_leader=only_leader)

    def add(self, key: TopicPartition, log: Log | None, min_insync_replicas: int, lag_time_max_ms: int) -> LogPartition:
        name = f"{key[0]}-{key[1]}"
        partition: LogPartition = Partition(
            name,
            self.broker_id,
            log,
            min_insync_replicas=min_insync_replicas,
            replica_lag_time_max_ms=lag_time_max_ms,
            is_alive=self._is_alive,
        )
        self.partitions[key] = partition
        return partition

    def remove(self, key: TopicPartition) -> LogPartition | None:
        """Know no more of a partition; whoever waits for it is told so."""
        partition = self.partitions.pop(key, None)
        if partition is not None:
            partition.go_offline()
            self.touch(key)
        return partition

    def go_offline(self, keys: Iterable[TopicPartition]) -> None:
        """The directory with these logs has failed."""
        for key in keys:
            partition = self.partitions.get(key)
            if partition is not None:
                partition.go_offline()
                self.touch(key)

    # -- appending

    def append(
        self,
        key: TopicPartition,
        records: Buffer,
        acks: int,
        origin: AppendOrigin = AppendOrigin.CLIENT,
        transaction: TransactionalAppend = NO_TRANSACTION,
    ) -> AppendResult:
        """Append as leader. What waits for the new records hears of them before this returns."""
        partition = self.partitions.get(key) or self.partition(key)
        log = partition.require_log()
        if acks == ACKS_ALL:
            partition.require_min_isr()
        try:
            if transaction is NO_TRANSACTION:
                result = log.append_as_leader(records, partition.leader_epoch, origin)
            else:
                guard, is_required, version = transaction
                result = log.append_as_leader(
                    records,
                    partition.leader_epoch,
                    origin,
                    guard=guard,
                    verification_required=is_required,
                    transaction_version=version,
                )
        except OSError as error:
            raise self.directories.failed(log, error) from error
        if partition.remote_replicas:
            self.fetches.touch(key)
        if partition.advance_high_watermark(self.clock.monotonic_ms()):
            self.high_watermark_moved(key)
        return result

    def replicated_to(self, key: TopicPartition, offset: int) -> ErrorCode | None:
        """How a record with acks=all that ends at an offset fares; None if it has to wait."""
        partition = self.partitions.get(key)
        return ErrorCode.NOT_LEADER_OR_FOLLOWER if partition is None else partition.replicated_to(offset)

    # -- what follows

    def high_watermark_moved(self, key: TopicPartition) -> None:
        self.produces.touch(key)
        self.fetches.touch(key)

    def moved(self, key: TopicPartition, moved: Moved) -> None:
        """The effects of a follower's fetch, or of the controller's word."""
        if moved.high_watermark:
            self.high_watermark_moved(key)
        if moved.low_watermark:
            self.deletions.touch(key)
        if moved.proposal is not None:
            self.on_proposal(key, moved.proposal)

    def touch(self, key: TopicPartition) -> None:
        """Something fundamental has changed: its leader, its epoch, or whether it is here at all."""
        self.high_watermark_moved(key)
        self.deletions.touch(key)
