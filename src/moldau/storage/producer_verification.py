"""Proof that a transaction is open, asked for before its first records are written to a partition (KIP-890).

A batch of a zombie that arrives after its transaction's marker would open a transaction that nobody ends, and hold the
last stable offset back for ever. So the first transactional batch of a producer waits until the coordinator has said
that the partition belongs to an open transaction. Meanwhile a marker may be written and make the answer stale:
therefore the question gets a guard, a marker takes the guard away, and only a batch that comes back with the
partition's current guard is written. After that first batch the partition itself knows of the transaction.

While the coordinator cannot be asked, the producer's later batches may arrive before the retry of the first. The
lowest sequence number that was asked for holds them off, else the retry would be out of order for ever.
"""

from __future__ import annotations

from collections.abc import Iterable

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError
from moldau.records.batch import RecordBatch


class VerificationGuard:
    """One question to the coordinator; guards are equal only if they are the same."""

    __slots__ = ()


class _Verification:
    __slots__ = ("guard", "lowest_sequence", "producer_epoch", "started_ms", "supports_epoch_bump")

    def __init__(self, sequence: int, producer_epoch: int, supports_epoch_bump: bool, now_ms: int) -> None:
        self.guard = VerificationGuard()
        self.lowest_sequence = sequence
        self.producer_epoch = producer_epoch
        self.supports_epoch_bump = supports_epoch_bump
        self.started_ms = now_ms


class Verifications:
    """The questions of one partition that no write has settled; whoever writes settles, time forgets the rest."""

    __slots__ = ("_pending",)

    def __init__(self) -> None:
        self._pending: dict[int, _Verification] = {}

    def start(
        self, producer_id: int, producer_epoch: int, sequence: int, supports_epoch_bump: bool, now_ms: int
    ) -> VerificationGuard:
        """The guard of a producer's question; while it is open every further batch shares it."""
        pending = self._pending.get(producer_id)
        if pending is None:
            pending = _Verification(sequence, producer_epoch, supports_epoch_bump, now_ms)
            self._pending[producer_id] = pending
        elif producer_epoch > pending.producer_epoch:
            pending.producer_epoch = producer_epoch
            pending.lowest_sequence = sequence
        elif producer_epoch == pending.producer_epoch:
            pending.lowest_sequence = min(pending.lowest_sequence, sequence)
        return pending.guard

    def holds(self, producer_id: int, guard: VerificationGuard | None) -> bool:
        """Whether this is the guard of the producer's open question."""
        pending = self._pending.get(producer_id)
        return pending is not None and pending.guard is guard

    def check_sequence(self, batch: RecordBatch, is_first: bool) -> None:
        """OUT_OF_ORDER_SEQUENCE_NUMBER for a batch that must let an earlier one pass."""
        pending = self._pending.get(batch.producer_id)
        if pending is None:
            return
        sequence = batch.base_sequence
        if is_first and sequence != 0 and pending.supports_epoch_bump:
            expected = "0, as every transaction starts with a new epoch"
        elif sequence > pending.lowest_sequence:
            expected = f"{pending.lowest_sequence}, which waits to be verified"
        else:
            return
        raise ApiError(
            ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
            f"producer {batch.producer_id} sent sequence {sequence} instead of {expected}",
        )

    def settle(self, producer_ids: Iterable[int]) -> None:
        """Something of these producers' transactions has been written: records, or the end."""
        if self._pending:
            for producer_id in producer_ids:
                self._pending.pop(producer_id, None)

    def remove_expired(self, now_ms: int, expiration_ms: int) -> None:
        limit_ms = now_ms - expiration_ms
        for producer_id in [key for key, pending in self._pending.items() if pending.started_ms <= limit_ms]:
            del self._pending[producer_id]

    def __len__(self) -> int:
        return len(self._pending)
