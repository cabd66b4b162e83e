"""A shard at work: operations in, records into the log, answers out when the records are replicated.

What the operations of one turn of the event loop yield is appended together at its end, in as few batches as their
sizes and producers allow. Whoever's records are not written hears why, and the shard is given up: its state is ahead of
the log, and is loaded again from there.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Hashable
from typing import Any, NamedTuple

from moldau.base.clock import Clock
from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError
from moldau.coordinator.runtime.result import Reply, Result
from moldau.coordinator.runtime.shard import Shard
from moldau.records.batch import NO_PRODUCER, NO_PRODUCER_ID, NO_SEQUENCE, Producer
from moldau.records.builder import build_batch
from moldau.records.compression import CompressionType
from moldau.replication.delayed_offsets import DelayedProduce
from moldau.replication.replicas import ACKS_ALL, Replicas
from moldau.storage.log import Log
from moldau.storage.log_directory import TopicPartition
from moldau.storage.producer_append import AppendOrigin

logger = logging.getLogger(__name__)

RECORD_OVERHEAD_BYTES = 40  # more than the lengths and deltas of a record take
BATCH_OVERHEAD_BYTES = 61
NO_EPOCH = -1

# What a client is told of an append that failed, as Kafka's coordinators say it.
TOLD = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.REQUEST_TIMED_OUT: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER: ErrorCode.NOT_COORDINATOR,
    ErrorCode.KAFKA_STORAGE_ERROR: ErrorCode.NOT_COORDINATOR,
    ErrorCode.MESSAGE_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.RECORD_LIST_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
}

Done = Callable[[Any], None]
"""Called once with the response, or with the `ApiError` that is the answer."""


def _nobody(_outcome: Any) -> None:
    """Is told."""


class Written(NamedTuple):
    """A result whose records wait to be appended or replicated, and who is told."""

    result: Result[Any]
    done: Done
    size_bytes: int


class ActiveShard:
    """The shard of a partition that this broker leads, from its loading on."""

    def __init__(
        self,
        key: TopicPartition,
        shard: Shard,
        replicas: Replicas,
        clock: Clock,
        *,
        write_timeout_ms: int,
        compression: CompressionType,
        give_up: Callable[[ErrorCode], None],
        end_offset: int,
    ) -> None:
        self.key = key
        self.shard = shard
        self._replicas = replicas
        self._clock = clock
        self._write_timeout_ms = write_timeout_ms
        self._compression = compression
        self._give_up = give_up
        self._loop = asyncio.get_running_loop()
        self._staged: list[Written] = []
        self._end_offset = end_offset  # of what operations see: what was loaded, and then what was appended
        self._settled_offset = -1  # up to where everything is known to be replicated
        self._is_over = False

    def run(self, operation: Callable[[Any], Result[Any]], done: Done) -> None:
        """Carry out an operation; its refusal, or its answer when the time has come, goes to `done`."""
        try:
            result = operation(self.shard)
        except ApiError as error:
            done(error)
            return
        if result.records:
            try:
                size_bytes = self._check(result)
            except ApiError as error:
                self._fail([Written(result, done, 0)], error.code)
                return
            if result.is_replayed:
                for key, value in result.records:
                    self.shard.replay(key, value, result.producer.producer_id)
            self._stage(Written(result, done, size_bytes))
        elif self._staged:
            self._stage(Written(result, done, 0))
        else:
            self._when_replicated([Written(result, done, 0)])

    def run_now(self, operation: Callable[[Any], Result[Any]]) -> bool:
        """Carry out an operation that only writes records, if they are replicated when they are written.

        False if they would have to wait, for followers or for what was decided before, or if anything is wrong: then
        nothing was done, and `run` finds out the same and says so.
        """
        partition = self._replicas.partitions.get(self.key)
        if self._staged or partition is None or partition.remote_replicas:
            return False
        try:
            result = operation(self.shard)
            assert result.is_replayed
            assert result.on_append is None
            if result.batch is not None and self._compression is CompressionType.NONE:
                self._append(result.batch)  # nothing has been replayed, so whether it can be is found out by doing it
            else:
                self._check(result)
                self._append_together([Written(result, _nobody, 0)])
        except ApiError:
            return False
        for key, value in result.records:
            self.shard.replay(key, value, result.producer.producer_id)
        assert self._replicas.replicated_to(self.key, self._end_offset) is ErrorCode.NONE, "there are no followers"
        return True

    @property
    def is_settled(self) -> bool:
        """Whether nothing that operations have seen is still on its way."""
        if self._staged:
            return False
        end_offset = self._end_offset
        if self._settled_offset != end_offset:  # for as long as it leads, what is replicated stays so
            if self._replicas.replicated_to(self.key, end_offset) is not ErrorCode.NONE:
                return False
            self._settled_offset = end_offset
        return True

    def end_transaction(self, marker: bytes, producer_id: int, committed: bool, done: Done) -> None:
        """Write the marker that ends a producer's transaction in this partition, and obey it."""
        self._flush()
        if self._is_over:
            done(ApiError(ErrorCode.NOT_COORDINATOR))
            return
        try:
            self._append(bytearray(marker))
        except ApiError as error:
            done(error)
            return
        self.shard.end_transaction(producer_id, committed)
        self._when_replicated([Written(Result(response=ErrorCode.NONE), done, 0)])

    def close(self, error: ErrorCode) -> None:
        """No more of it: what is not in the log never will be."""
        self._is_over = True
        staged, self._staged = self._staged, []
        self._fail(staged, error)

    # -- writing

    def _check(self, result: Result[Any]) -> int:
        """Before anything is replayed: whether the records could be appended; how large they are."""
        partition = self._replicas.partition(self.key)
        log = partition.require_log()
        partition.require_min_isr()
        size_bytes = BATCH_OVERHEAD_BYTES
        for key, value in result.records:
            size_bytes += RECORD_OVERHEAD_BYTES + len(key) + (len(value) if value is not None else 0)
        if size_bytes > log.settings.max_message_bytes:
            message = f"records of {size_bytes} bytes are more than the internal topic takes"
            raise ApiError(ErrorCode.MESSAGE_TOO_LARGE, message)
        if result.producer is not NO_PRODUCER:
            self._check_epoch(result.producer, log)
        return size_bytes

    def _check_epoch(self, producer: Producer, log: Log) -> None:
        """A zombie's records are refused before they are replayed: the log would refuse them only after."""
        entry = log.producer_state.producers.get(producer.producer_id)
        epochs = [written.result.producer for written in self._staged]
        newest = max(
            (one.producer_epoch for one in epochs if one.producer_id == producer.producer_id),
            default=NO_EPOCH if entry is None else entry.producer_epoch,
        )
        if producer.producer_epoch < newest:
            raise ApiError(ErrorCode.INVALID_PRODUCER_EPOCH, f"the epoch of the producer is {newest}")

    def _stage(self, written: Written) -> None:
        if not self._staged:
            self._loop.call_soon(self._flush)
        self._staged.append(written)

    def _flush(self) -> None:
        staged, self._staged = self._staged, []
        if not staged or self._is_over:
            return
        limit_bytes = -1
        while staged:
            together = 1
            if len(staged) > 1:  # one alone, as most are, has been found to fit
                if limit_bytes < 0:
                    limit_bytes = self._replicas.log(self.key).settings.max_message_bytes if self._is_led() else 0
                together = self._first_of(staged, limit_bytes)
            try:
                self._append_together(staged[:together])
            except ApiError as error:
                logger.warning("%s-%d: records could not be written: %s", *self.key, error)
                self._fail(staged, error.code)
                self._give_up(error.code)
                return
            done, staged = staged[:together], staged[together:]
            self._when_replicated(done)

    def _is_led(self) -> bool:
        partition = self._replicas.partitions.get(self.key)
        return partition is not None and partition.is_leader and partition.log is not None

    @staticmethod
    def _first_of(staged: list[Written], limit_bytes: int) -> int:
        """How many of them go into one batch: those of the same producer, as long as they fit."""
        producer, size_bytes = None, 0
        for index, written in enumerate(staged):
            if not written.result.records:
                continue
            size_bytes += written.size_bytes
            if producer is not None and (written.result.producer != producer or size_bytes > limit_bytes):
                return index
            producer = written.result.producer
        return len(staged)

    def _append_together(self, together: list[Written]) -> None:
        records = [record for written in together for record in written.result.records]
        if not records:
            return
        producer = next(written.result.producer for written in together if written.result.records)
        is_transactional = producer.producer_id != NO_PRODUCER_ID
        if is_transactional:
            producer = Producer(producer.producer_id, producer.producer_epoch, NO_SEQUENCE)
        now_ms = self._clock.now_ms()
        batch = build_batch(
            [(offset, now_ms, key, value, ()) for offset, (key, value) in enumerate(records)],
            self._compression,
            producer=producer,
            transactional=is_transactional,
        )
        self._append(bytearray(batch))

    def _append(self, batch: bytearray) -> None:
        appended = self._replicas.append(self.key, batch, ACKS_ALL, AppendOrigin.COORDINATOR)
        self._end_offset = appended.last_offset + 1

    # -- answering

    def _when_replicated(self, written: list[Written]) -> None:
        """Answer now, or when everything that operations have seen is replicated."""
        outcome = self._replicas.replicated_to(self.key, self._end_offset)
        if outcome is ErrorCode.NONE:
            self._succeed(written)
        elif outcome is not None:
            self._fail(written, outcome)
        else:

            def send(outcomes: dict[Hashable, ErrorCode]) -> None:
                if outcomes[self.key]:
                    self._fail(written, outcomes[self.key])
                else:
                    self._succeed(written)

            delayed = DelayedProduce(
                self._write_timeout_ms,
                {self.key: self._end_offset},
                self._replicas.replicated_to,  # type: ignore[arg-type]  # its keys are ours
                send,
            )
            self._replicas.produces.try_complete_else_watch(delayed, [self.key])

    @staticmethod
    def _succeed(written: list[Written]) -> None:
        for result, done, _ in written:
            if result.on_append is not None:
                result.on_append(ErrorCode.NONE)
            if isinstance(result.response, Reply):
                result.response.then(done)
            else:
                done(result.response)

    @staticmethod
    def _fail(written: list[Written], error: ErrorCode) -> None:
        told = TOLD.get(error, error)
        for result, done, _ in written:
            if result.on_append is not None:
                result.on_append(told)
            if isinstance(result.response, Reply) and result.response.is_given:
                result.response.then(done)
            else:
                done(ApiError(told, "the coordinator could not write what it decided"))
