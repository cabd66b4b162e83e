"""AddPartitionsToTxn and AddOffsetsToTxn: which partitions the open transaction has; and whether it has them."""

from __future__ import annotations

from collections.abc import Collection

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError
from moldau.coordinator.runtime.result import Result
from moldau.coordinator.transaction.shard import TransactionShard
from moldau.coordinator.transaction.states import PREPARED, TransactionState
from moldau.coordinator.transaction.transaction import ProducerIdAndEpoch, Transaction
from moldau.storage.log_directory import TopicPartition


def add_partitions(
    shard: TransactionShard, transactional_id: str, producer: ProducerIdAndEpoch, partitions: frozenset[TopicPartition]
) -> Result[ErrorCode]:
    """Make partitions part of the transaction; the first ones begin it."""
    transaction = _of_producer(shard, transactional_id, producer)
    if transaction.state is TransactionState.ONGOING and partitions <= transaction.partitions:
        return Result(response=ErrorCode.NONE)
    return shard.decide(transaction.with_partitions(partitions, shard.now_ms), ErrorCode.NONE)


def verify_partitions(
    shard: TransactionShard, transactional_id: str, producer: ProducerIdAndEpoch, partitions: Collection[TopicPartition]
) -> Result[dict[TopicPartition, ErrorCode]]:
    """Whether each partition is part of the open transaction: TRANSACTION_ABORTABLE if not (KIP-890)."""
    has = _of_producer(shard, transactional_id, producer).partitions
    outcomes = {key: ErrorCode.NONE if key in has else ErrorCode.TRANSACTION_ABORTABLE for key in partitions}
    return Result(response=outcomes)


def _of_producer(shard: TransactionShard, transactional_id: str, producer: ProducerIdAndEpoch) -> Transaction:
    transaction = shard.transaction(transactional_id)
    transaction.check_producer(*producer)
    if transaction.state in PREPARED:
        raise ApiError(
            ErrorCode.CONCURRENT_TRANSACTIONS, f"the last transaction of {transactional_id!r} is being ended"
        )
    return transaction
