"""What the controller orders: partitions to lead, to follow, to stop and to delete (LeaderAndIsr, StopReplica).

Orders are carried out one after the other, since making and deleting logs waits for disks. Within one, the logs that
are missing are made first, as many at a time as the disks take; then each partition changes its state in one step.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import NamedTuple, Protocol

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError
from moldau.base.ids import uuid_to_text
from moldau.replication.partition_state import NO_LEADER, LeaderAndIsr
from moldau.replication.replicas import LogPartition, Replicas
from moldau.storage.log import Log
from moldau.storage.log_creation import LogCreation
from moldau.storage.log_directory import TopicPartition
from moldau.storage.log_settings import LogSettings

logger = logging.getLogger(__name__)

CREATING_MAX = 64  # logs that are being made at the same time


class PartitionSettings(NamedTuple):
    """What a partition obeys, of its topic's configuration and of the broker's."""

    log: LogSettings
    min_insync_replicas: int
    replica_lag_time_max_ms: int


class Order(NamedTuple):
    """The controller's word about one partition."""

    state: LeaderAndIsr
    topic_id: bytes | None
    is_new: bool


class Stop(NamedTuple):
    """A replica to stop; -1 as an epoch obeys in any epoch, -2 is that of a topic that is being deleted."""

    leader_epoch: int
    delete: bool


class Fetchers(Protocol):
    """Who copies partitions from their leaders."""

    def follow(self, key: TopicPartition, partition: LogPartition) -> None: ...
    def stop(self, keys: Iterable[TopicPartition]) -> None: ...


class Cleaner(Protocol):
    """Who must not work on logs that are about to go."""

    def abort_and_pause(self, log: Log) -> None: ...
    def resume(self, log: Log) -> None: ...
    async def stopped(self, log: Log) -> None: ...
    def deleted(self, log: Log) -> None: ...


class StateChanges:
    """`settings_of` gives what a topic's partitions obey, read anew for a topic whose log is made.

    `on_led` hears of every partition that is led from here, with the leader epoch, `on_left` of every one that is not
    any more: coordinators come and go with them.
    """

    def __init__(
        self,
        replicas: Replicas,
        creation: LogCreation,
        settings_of: Callable[[str], Awaitable[PartitionSettings]],
        fetchers: Fetchers,
        cleaner: Cleaner,
    ) -> None:
        self._replicas = replicas
        self._creation = creation
        self._settings_of = settings_of
        self._fetchers = fetchers
        self._cleaner = cleaner
        self.on_led: Callable[[TopicPartition, int], None] = lambda _key, _epoch: None
        self.on_left: Callable[[TopicPartition], None] = lambda _key: None
        self._turn = asyncio.Lock()
        self._making = asyncio.Semaphore(CREATING_MAX)

    # -- to lead and to follow

    async def obey(self, orders: Mapping[TopicPartition, Order]) -> dict[TopicPartition, ErrorCode]:
        """Lead and follow from now on; the outcome for each partition."""
        async with self._turn:
            # Only for logs that are to be made: who leads must change also while the coordination store is away.
            missing = dict.fromkeys(key[0] for key in orders if not self._has_log(key))
            settings = {topic: await self._settings_of(topic) for topic in missing}
            made = await asyncio.gather(
                *(self._prepare(key, order, settings.get(key[0])) for key, order in orders.items()),
                return_exceptions=True,
            )
            outcomes = {}
            for (key, order), outcome in zip(orders.items(), made, strict=True):
                try:
                    if isinstance(outcome, BaseException):
                        raise outcome
                    self._change(key, order, outcome)
                    outcomes[key] = ErrorCode.NONE
                except ApiError as error:
                    logger.warning("%s-%d: the controller's order is not carried out: %s", *key, error)
                    outcomes[key] = error.code
            return outcomes

    def _has_log(self, key: TopicPartition) -> bool:
        partition = self._replicas.partitions.get(key)
        return partition is not None and partition.log is not None

    async def _prepare(self, key: TopicPartition, order: Order, settings: PartitionSettings | None) -> LogPartition:
        """The partition that an order is about, with its log."""
        replicas = self._replicas
        if replicas.broker_id not in order.state.replicas:
            raise ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"not one of the replicas {order.state.replicas}")
        known_id = replicas.topic_ids.get(key[0])
        partition = replicas.partitions.get(key)
        if partition is not None and partition.log is not None:
            if known_id is not None and order.topic_id is not None and known_id != order.topic_id:
                text = f"known with topic id {uuid_to_text(known_id)}, not {uuid_to_text(order.topic_id)}"
                raise ApiError(ErrorCode.INCONSISTENT_TOPIC_ID, text)
            return partition
        if settings is None:
            raise ApiError(ErrorCode.KAFKA_STORAGE_ERROR, "the log directory has failed just now")
        async with self._making:
            existed = key in replicas.directories.logs
            log = await self._creation.get_or_create(*key, settings.log, order.topic_id, is_new=order.is_new)
            if existed and order.topic_id is not None:
                await self._creation.check_topic_id(log, order.topic_id)
        if order.topic_id is not None:
            replicas.topic_ids[key[0]] = order.topic_id
        return replicas.add(key, log, settings.min_insync_replicas, settings.replica_lag_time_max_ms)

    def _change(self, key: TopicPartition, order: Order, partition: LogPartition) -> None:
        replicas, state = self._replicas, order.state
        if state.leader == replicas.broker_id:
            self._fetchers.stop([key])
            try:
                partition.become_leader(state, replicas.clock.monotonic_ms())
            except OSError as error:
                assert partition.log is not None
                raise replicas.directories.failed(partition.log, error) from error
            self.on_led(key, state.leader_epoch)
        elif partition.become_follower(state):
            self.on_left(key)
            self._fetchers.stop([key])
            if state.leader != NO_LEADER:
                self._fetchers.follow(key, partition)
        replicas.touch(key)

    # -- to stop and to delete

    async def stop(self, stops: Mapping[TopicPartition, Stop]) -> dict[TopicPartition, ErrorCode]:
        """Lead and follow no more, and delete what is to be deleted; the outcome for each partition."""
        async with self._turn:
            outcomes = {key: self._may_stop(key, stop) for key, stop in stops.items()}
            stopping = [key for key, error in outcomes.items() if error is ErrorCode.NONE]
            self._fetchers.stop(stopping)
            for key in stopping:
                self.on_left(key)
                self._replicas.remove(key)
            deleting = [key for key in stopping if stops[key].delete]
            try:
                await self._delete(deleting)
            except ApiError as error:
                logger.error("logs could not be deleted: %s", error)  # noqa: TRY400  # the directory said why
                outcomes |= dict.fromkeys(deleting, error.code)
            return outcomes

    def _may_stop(self, key: TopicPartition, stop: Stop) -> ErrorCode:
        partition = self._replicas.partitions.get(key)
        if partition is None:
            return ErrorCode.NONE
        if partition.log is None:
            return ErrorCode.KAFKA_STORAGE_ERROR
        is_old = 0 <= stop.leader_epoch < partition.leader_epoch
        return ErrorCode.FENCED_LEADER_EPOCH if is_old else ErrorCode.NONE

    async def _delete(self, keys: list[TopicPartition]) -> None:
        logs = [log for key in keys if (log := self._replicas.directories.logs.get(key)) is not None]
        for log in logs:
            self._cleaner.abort_and_pause(log)
        try:
            for log in logs:
                await self._cleaner.stopped(log)
            await self._creation.delete(keys)
        finally:
            for log in logs:
                self._cleaner.resume(log)
                self._cleaner.deleted(log)
        remaining = {topic for topic, _ in self._replicas.partitions}
        for topic in {topic for topic, _ in keys} - remaining:
            self._replicas.topic_ids.pop(topic, None)
