"""The transactions that this broker coordinates: the shards of `__transaction_state` that it leads.

Every request is about one transactional id, whose hash says which shard is meant. Outcomes come to a function: the
response, or the `ApiError` that is the answer.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection
from concurrent.futures import Executor
from functools import partial
from typing import Any

from moldau.base.clock import Clock
from moldau.base.config.broker_config import BrokerConfig
from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError
from moldau.base.hashing import coordinator_partition
from moldau.base.supervision import Supervisor
from moldau.cluster.internal_topics import TRANSACTION_STATE
from moldau.cluster.metadata_cache import MetadataCache
from moldau.coordinator.runtime.active_shard import Done
from moldau.coordinator.runtime.result import Reply, Result
from moldau.coordinator.runtime.runtime import Runtime, RuntimeSettings
from moldau.coordinator.runtime.shard import ShardContext
from moldau.coordinator.transaction.broker_links import BrokerLinks
from moldau.coordinator.transaction.ending import abort_timed_out, end_transaction, expired, forget, timed_out
from moldau.coordinator.transaction.listing import TransactionFilter
from moldau.coordinator.transaction.marker_sender import MarkerSender
from moldau.coordinator.transaction.partitions import add_partitions, verify_partitions
from moldau.coordinator.transaction.producers import NEEDS_PRODUCER_ID, Holder, init_producer_id
from moldau.coordinator.transaction.shard import TransactionShard
from moldau.coordinator.transaction.transaction import ProducerIdAndEpoch, Transaction
from moldau.replication.delayed import Timers
from moldau.replication.replicas import Replicas
from moldau.storage.log_directory import TopicPartition

logger = logging.getLogger(__name__)

ATTEMPTS_MAX = 3  # to begin with a producer id that was asked for; another request may need one in between


class TransactionCoordinator:
    """`producer_id` gets one that nobody has, from the controller."""

    def __init__(
        self,
        replicas: Replicas,
        metadata: MetadataCache,
        links: BrokerLinks,
        *,
        producer_id: Callable[[], Awaitable[int]],
        config: Callable[[], BrokerConfig],
        timers: Timers,
        clock: Clock,
        supervisor: Supervisor,
        readers: Executor,
    ) -> None:
        self._replicas = replicas
        self._metadata = metadata
        self._partitions: int | None = None  # what the topic had when it was first heard of: it must not change
        self._producer_id = producer_id
        self._config = config
        self._clock = clock
        self._supervisor = supervisor
        self._sender = MarkerSender(metadata, links, timers, self._marked)
        self.runtime: Runtime[TransactionShard] = Runtime(
            TRANSACTION_STATE,
            self._make_shard,
            replicas,
            timers=timers,
            clock=clock,
            supervisor=supervisor,
            readers=readers,
            settings=RuntimeSettings(
                write_timeout_ms=config().integer("request.timeout.ms"),
                load_buffer_bytes=config().integer("transaction.state.log.load.buffer.size"),
            ),
        )

    # -- life

    def start(self) -> None:
        """Look for what takes too long, and for what nobody needs any more, from time to time."""
        config = self._config()
        interval_ms = config.integer("transaction.abort.timed.out.transaction.cleanup.interval.ms")
        self._supervisor.every(interval_ms, "abort timed-out transactions", self.abort_timed_out)
        interval_ms = config.integer("transaction.remove.expired.transaction.cleanup.interval.ms")
        self._supervisor.every(interval_ms, "remove expired transactional ids", self.remove_expired)

    def elected(self, partition: int, leader_epoch: int) -> None:
        self.runtime.elected(partition, leader_epoch)

    def resigned(self, partition: int) -> None:
        self._sender.forget(partition)
        self.runtime.resigned(partition)

    def close(self) -> None:
        self._sender.close()
        self.runtime.close()

    def _make_shard(self, context: ShardContext) -> TransactionShard:
        self._sender.forget(context.partition)
        return TransactionShard(context, self._send_markers)

    # -- requests

    def partition_of(self, transactional_id: str) -> int:
        """The partition of `__transaction_state` that a transactional id belongs to."""
        if self._partitions is None and (known := self._metadata.topics.get(TRANSACTION_STATE)):
            self._partitions = len(known)
        count = self._partitions or self._config().integer("transaction.state.log.num.partitions")
        return coordinator_partition(transactional_id, count)

    async def init_producer_id(self, holder: Holder) -> ProducerIdAndEpoch:
        """Give a transactional id to a producer; raises the refusal."""
        if not holder.transactional_id:
            raise ApiError(ErrorCode.INVALID_REQUEST, "a transactional id cannot be empty")
        timeout_max_ms = self._config().integer("transaction.max.timeout.ms")
        if not 0 < holder.timeout_ms <= timeout_max_ms:
            message = f"a transaction may take 1 to {timeout_max_ms} ms (transaction.max.timeout.ms)"
            raise ApiError(ErrorCode.INVALID_TRANSACTION_TIMEOUT, f"{message}, not {holder.timeout_ms}")
        new_producer_id: int | None = None
        for _ in range(ATTEMPTS_MAX):
            outcome = await self._outcome(holder.transactional_id, holder, new_producer_id)
            if outcome is not NEEDS_PRODUCER_ID:
                return outcome
            new_producer_id = await self._producer_id()
        raise ApiError(ErrorCode.CONCURRENT_TRANSACTIONS, "other producers ask for the same transactional id")

    async def _outcome(self, transactional_id: str, holder: Holder, new_producer_id: int | None) -> ProducerIdAndEpoch:
        answer: asyncio.Future[ProducerIdAndEpoch] = asyncio.get_running_loop().create_future()

        def done(outcome: Any) -> None:
            if answer.done():
                return
            if isinstance(outcome, ApiError):
                answer.set_exception(outcome)
            else:
                answer.set_result(outcome)

        operation = partial(init_producer_id, holder=holder, new_producer_id=new_producer_id)
        self._run_when_complete(transactional_id, operation, done)
        return await answer

    def add_partitions(
        self,
        transactional_id: str,
        producer: ProducerIdAndEpoch,
        partitions: Collection[TopicPartition],
        done: Done,
    ) -> None:
        """Make partitions part of a producer's transaction."""
        operation = partial(
            add_partitions, transactional_id=transactional_id, producer=producer, partitions=frozenset(partitions)
        )
        self._run_when_complete(transactional_id, operation, done)

    def verify_partitions(
        self,
        transactional_id: str,
        producer: ProducerIdAndEpoch,
        partitions: Collection[TopicPartition],
        done: Done,
    ) -> None:
        """Whether partitions are part of a producer's open transaction: an error code for each."""
        operation = partial(
            verify_partitions, transactional_id=transactional_id, producer=producer, partitions=partitions
        )
        self.runtime.run(self.partition_of(transactional_id), operation, done)

    def end(self, transactional_id: str, producer: ProducerIdAndEpoch, committed: bool, done: Done) -> None:
        """Commit or abort."""
        operation = partial(end_transaction, transactional_id=transactional_id, producer=producer, committed=committed)
        self.runtime.run(self.partition_of(transactional_id), operation, done)

    def _run_when_complete(
        self, transactional_id: str, operation: Callable[[TransactionShard], Result[Any]], done: Done
    ) -> None:
        """Run an operation; if it comes while the last transaction is being completed, once more when that is done."""
        partition = self.partition_of(transactional_id)

        def run(shard: TransactionShard) -> Result[Any]:
            try:
                return operation(shard)
            except ApiError as error:
                if error.code is not ErrorCode.CONCURRENT_TRANSACTIONS:
                    raise
                reply: Reply[Any] = Reply()
                if not shard.when_complete(transactional_id, partial(again, reply, error)):
                    raise
                return Result(response=reply)

        def again(reply: Reply[Any], refusal: ApiError, error: ErrorCode) -> None:
            if error is ErrorCode.NONE:
                self.runtime.run(partition, operation, reply.give)
            else:
                reply.give(refusal if error is refusal.code else ApiError(error))

        self.runtime.run(partition, run, done)

    # -- looking

    def transaction(self, transactional_id: str) -> Transaction:
        """What is known of a transactional id."""
        if not transactional_id:
            raise ApiError(ErrorCode.INVALID_REQUEST, "a transactional id cannot be empty")
        found = self.runtime.shard(self.partition_of(transactional_id)).transactions.get(transactional_id)
        if found is None:
            raise ApiError(ErrorCode.TRANSACTIONAL_ID_NOT_FOUND, f"there is no transactional id {transactional_id!r}")
        return found

    def transactions(self, wanted: TransactionFilter) -> list[Transaction]:
        """All that pass a filter; refused while a shard is being loaded."""
        if self.runtime.is_loading:
            raise ApiError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, "the coordinator is loading its state: ask again")
        now_ms = self._clock.now_ms()
        return [
            transaction
            for shard in self.runtime.active.values()
            for transaction in wanted.passing(shard.transactions.values(), now_ms)
        ]

    # -- what nobody asks for

    def abort_timed_out(self) -> None:
        for partition, shard in self.runtime.active.items():
            for transaction in timed_out(shard):
                logger.info("%r is aborted after %d ms", transaction, transaction.timeout_ms)
                self.runtime.run(partition, partial(abort_timed_out, transaction=transaction), _nobody)

    def remove_expired(self) -> None:
        expiration_ms = self._config().integer("transactional.id.expiration.ms")
        for partition, shard in self.runtime.active.items():
            while transactional_ids := expired(shard, expiration_ms):
                logger.info("%d transactional ids of %d have expired", len(transactional_ids), partition)
                self.runtime.run(partition, partial(forget, transactional_ids=transactional_ids), _nobody)
                if transactional_ids[0] in shard.transactions:
                    break  # it cannot be written now

    # -- markers

    def _send_markers(self, partition: int, transaction: Transaction) -> None:
        replica = self._replicas.partitions.get((TRANSACTION_STATE, partition))
        if replica is not None and replica.is_leader:
            self._sender.send(partition, transaction, replica.leader_epoch)

    def _marked(self, partition: int, transaction: Transaction) -> None:
        self.runtime.run(partition, lambda shard: shard.complete(transaction), _nobody)


def _nobody(_outcome: object) -> None:
    """There is nobody to tell; the shard tries again what has to be done."""
