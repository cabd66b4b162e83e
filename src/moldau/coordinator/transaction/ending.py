"""EndTxn, and the ends that nobody asked for: timeouts, and transactional ids that are not used any more.

What EndTxn answers, by the state it finds. A producer that hears nothing asks again, so the same question must have the
same answer once it is carried out:

                       commit                        abort
    ONGOING            PREPARE_COMMIT is written     PREPARE_ABORT is written
    PREPARE_COMMIT     CONCURRENT_TRANSACTIONS       INVALID_TXN_STATE
    PREPARE_ABORT      INVALID_TXN_STATE             CONCURRENT_TRANSACTIONS
    COMPLETE_COMMIT    NONE                          INVALID_TXN_STATE
    COMPLETE_ABORT     INVALID_TXN_STATE             NONE
    EMPTY              INVALID_TXN_STATE             INVALID_TXN_STATE
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError
from moldau.coordinator.runtime.result import Result
from moldau.coordinator.transaction.shard import TransactionShard
from moldau.coordinator.transaction.states import IDLE, TransactionState
from moldau.coordinator.transaction.transaction import ProducerIdAndEpoch, Transaction
from moldau.coordinator.transaction.transaction_records import tombstone

# What is forgotten at once goes into one batch.
EXPIRED_AT_ONCE_MAX: Final = 1_000
EXPIRED_LENGTH_MAX: Final = 100_000

SAME_QUESTION: Final = {
    (TransactionState.PREPARE_COMMIT, True): ErrorCode.CONCURRENT_TRANSACTIONS,
    (TransactionState.PREPARE_ABORT, False): ErrorCode.CONCURRENT_TRANSACTIONS,
    (TransactionState.COMPLETE_COMMIT, True): ErrorCode.NONE,
    (TransactionState.COMPLETE_ABORT, False): ErrorCode.NONE,
}


def end_transaction(
    shard: TransactionShard, transactional_id: str, producer: ProducerIdAndEpoch, committed: bool
) -> Result[ErrorCode]:
    """Decide; the answer does not wait for the markers."""
    transaction = shard.transaction(transactional_id)
    transaction.check_producer(*producer)
    if transaction.state is TransactionState.ONGOING:
        return shard.prepare(transaction.prepared(committed, shard.now_ms), ErrorCode.NONE)
    answer = SAME_QUESTION.get((transaction.state, committed))
    if answer is ErrorCode.NONE:
        return Result(response=answer)
    wanted = "committed" if committed else "aborted"
    raise ApiError(
        answer or ErrorCode.INVALID_TXN_STATE,
        f"the transaction of {transactional_id!r} cannot be {wanted}: it is {transaction.state.title}",
    )


def timed_out(shard: TransactionShard) -> list[Transaction]:
    """The open transactions that take longer than their producers wanted."""
    now_ms = shard.now_ms
    found = (shard.transactions[transactional_id] for transactional_id in shard.ongoing)
    return [transaction for transaction in found if transaction.started_ms + transaction.timeout_ms < now_ms]


def abort_timed_out(shard: TransactionShard, transaction: Transaction) -> Result[None]:
    """Abort, and fence the producer: it hears of it with its next request."""
    if shard.transactions.get(transaction.transactional_id) is not transaction:
        return Result()  # it has moved on meanwhile
    return shard.prepare(transaction.fenced(shard.now_ms), None)


def expired(shard: TransactionShard, expiration_ms: int) -> list[str]:
    """Transactional ids that nobody has used for so long, as many as are removed at once."""
    limit_ms = shard.now_ms - expiration_ms
    found: list[str] = []
    length = 0
    for transactional_id, transaction in shard.transactions.items():
        if transaction.state in IDLE and transaction.updated_ms <= limit_ms:
            found.append(transactional_id)
            length += len(transactional_id)
            if len(found) >= EXPIRED_AT_ONCE_MAX or length >= EXPIRED_LENGTH_MAX:
                break
    return found


def forget(_shard: TransactionShard, transactional_ids: Iterable[str]) -> Result[None]:
    """Write tombstones; whoever comes back begins anew, with another producer id."""
    return Result([tombstone(transactional_id) for transactional_id in transactional_ids])
