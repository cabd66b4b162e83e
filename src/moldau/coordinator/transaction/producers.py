"""InitProducerId for a transactional id: who holds it from now on.

    unknown id                                a new producer id, epoch 0
    nothing under way                         the same producer id, the next epoch
      … and the epochs are used up            a new producer id, epoch 0
    a transaction is open                     it is aborted with a raised epoch: CONCURRENT_TRANSACTIONS, ask again
    a transaction is being ended              CONCURRENT_TRANSACTIONS, ask again

A producer that names the id and epoch it has (KIP-360) gets PRODUCER_FENCED if another one came in between.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError
from moldau.coordinator.runtime.result import Result
from moldau.coordinator.transaction.shard import TransactionShard
from moldau.coordinator.transaction.states import PREPARED, TransactionState
from moldau.coordinator.transaction.transaction import ProducerIdAndEpoch, Transaction

NEEDS_PRODUCER_ID: Final = ProducerIdAndEpoch(-1, -1)
"""The answer if a new producer id is needed: get one, and ask again with it. Nothing has changed."""


class Holder(NamedTuple):
    """Who wants a transactional id; `expected` is what a resuming producer believes to have."""

    transactional_id: str
    timeout_ms: int
    expected: ProducerIdAndEpoch | None = None


def init_producer_id(
    shard: TransactionShard, holder: Holder, new_producer_id: int | None = None
) -> Result[ProducerIdAndEpoch | ApiError]:
    transactional_id, timeout_ms, expected = holder
    now_ms = shard.now_ms
    known = shard.transactions.get(transactional_id)
    if known is None:
        if new_producer_id is None:
            return Result(response=NEEDS_PRODUCER_ID)
        known = Transaction.unborn(transactional_id, new_producer_id, now_ms)
    if expected is not None:
        known.check_resuming(expected)
    if known.state in PREPARED:
        raise ApiError(
            ErrorCode.CONCURRENT_TRANSACTIONS, f"the last transaction of {transactional_id!r} is being ended"
        )
    if known.state is TransactionState.ONGOING:
        return shard.prepare(known.fenced(now_ms), _aborting(transactional_id))
    if known.needs_new_producer_id(expected):
        if new_producer_id is None:
            return Result(response=NEEDS_PRODUCER_ID)
        held = known.with_new_producer_id(new_producer_id, timeout_ms, expected, now_ms)
    else:
        held = known.with_next_epoch(timeout_ms, expected, now_ms)
    return shard.decide(held, ProducerIdAndEpoch(held.producer_id, held.producer_epoch))


def _aborting(transactional_id: str) -> ApiError:
    """The epoch that it was fenced with is given to nobody: the next attempt raises it once more."""
    return ApiError(
        ErrorCode.CONCURRENT_TRANSACTIONS, f"a transaction of {transactional_id!r} was open and is aborted: ask again"
    )
