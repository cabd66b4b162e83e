"""The producers of a partition: no batch twice, none missing, none from a producer that has been replaced (KIP-98).

An append takes two steps. `prepare` checks the batches, which have their offsets by then, and raises an `ApiError` or
works out what they change; it changes nothing itself. The log writes the batches and, for aborted transactions, the
transaction index. Then `commit` puts the change in place. If the write fails, the state is as it was.

    prepare ──► duplicate: answer with the original's offsets, write nothing
       │
       └──────► write the log ──► write the aborted of `completed` to the transaction index ──► commit

State is derived from the log: a snapshot at an offset and the batches after it give the same state as all batches. One
that Kafka wrote has only the last of a producer's last five batches.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from itertools import chain

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError
from moldau.records.batch import CONTROL_FLAG, TRANSACTIONAL_FLAG, RecordBatch
from moldau.records.control import ControlRecordType, read_end_transaction_marker
from moldau.records.reader import read_batch
from moldau.storage.producer_append import (
    NOTHING_PREPARED,
    AppendOrigin,
    CompletedTransaction,
    PreparedAppend,
    check_epoch,
    check_kind,
    check_marker,
    check_sequence,
)
from moldau.storage.producer_entry import UNKNOWN_PRODUCER, ProducerEntry
from moldau.storage.producer_transactions import PartitionTransactions
from moldau.storage.producer_verification import VerificationGuard, Verifications

logger = logging.getLogger(__name__)

LATE_TRANSACTION_BUFFER_MS = 5 * 60 * 1000  # how much longer than the longest timeout a transaction may take to end

_CLIENT = AppendOrigin.CLIENT  # a member of an enum costs 100 ns each time it is looked up
_REPLICATION = AppendOrigin.REPLICATION


class ProducerState:
    """The producers and transactions of one partition, up to `map_end_offset`."""

    __slots__ = ("_partition", "_producers", "_transactions", "_verifications", "map_end_offset")

    def __init__(self, partition: str, map_end_offset: int = 0) -> None:
        """`partition` is its name in log lines."""
        self._partition = partition
        self._producers: dict[int, ProducerEntry] = {}
        self._transactions = PartitionTransactions()
        self._verifications = Verifications()
        self.map_end_offset = map_end_offset

    @property
    def producers(self) -> Mapping[int, ProducerEntry]:
        """By producer id. Entries never change, so a copy of the mapping is a snapshot."""
        return self._producers

    @property
    def first_undecided_offset(self) -> int | None:
        return self._transactions.first_undecided_offset

    @property
    def first_unstable_offset(self) -> int | None:
        """Where the first transaction begins that is undecided or not replicated; it may be before the log's start."""
        return self._transactions.first_unstable_offset

    def last_stable_offset(self, high_watermark: int) -> int:
        first_unstable_offset = self._transactions.first_unstable_offset
        return high_watermark if first_unstable_offset is None else min(high_watermark, first_unstable_offset)

    def has_late_transaction(self, now_ms: int, timeout_max_ms: int) -> bool:
        """Whether a transaction is open for longer than any coordinator would leave it (KIP-664)."""
        producer_id = self._transactions.oldest_producer_id
        if producer_id is None:
            return False
        limit_ms = now_ms - timeout_max_ms - LATE_TRANSACTION_BUFFER_MS
        return 0 < self._producers[producer_id].last_timestamp < limit_ms

    def prepare(
        self,
        batches: Iterable[RecordBatch],
        origin: AppendOrigin,
        *,
        guard: VerificationGuard | None = None,
        verification_required: bool = False,
        transaction_version: int = 0,
    ) -> PreparedAppend:
        """What an append of batches with their offsets changes; nothing has changed yet, and an `ApiError` refuses it.

        `guard` is what `start_verification` gave, `transaction_version` what came with a marker.
        """
        prepared = NOTHING_PREPARED
        for batch in batches:
            producer_id = batch.producer_id
            if producer_id < 0:
                continue
            if prepared is NOTHING_PREPARED:
                prepared = PreparedAppend()
            known = self._producers.get(producer_id, UNKNOWN_PRODUCER)
            current = prepared.entries.get(producer_id, known)
            if batch.attributes & CONTROL_FLAG:
                self._prepare_marker(prepared, batch, current, origin, transaction_version)
                continue
            if origin is _REPLICATION:
                self._warn_of_old_epoch(batch, current)
            else:
                # Nearly always, and then neither duplicate nor out of order.
                is_expected = current.expects(batch.producer_epoch, batch.base_sequence)
                if not is_expected:
                    if origin is _CLIENT and (duplicate := known.find_duplicate(batch)):
                        return PreparedAppend(duplicate)
                    check_epoch(batch, current)
                if verification_required and batch.attributes & TRANSACTIONAL_FLAG:
                    self._check_verified(batch, guard)
                if origin is _CLIENT:
                    self._verifications.check_sequence(batch, is_first=not known.packed_batches)
                    if not is_expected:
                        check_sequence(batch, current)
                check_kind(batch, current)
            _prepare_records(prepared, batch, current)
        return prepared

    def plain_entry(self, producer_id: int) -> ProducerEntry | None:
        """The entry of a producer outside of transactions; None if there is more to check."""
        entry = self._producers.get(producer_id)
        if entry is None or entry.transaction_first_offset >= 0 or self._verifications:
            return None
        return entry

    def commit_plain(self, entries: Mapping[int, ProducerEntry]) -> None:
        """Batches outside of transactions have been written: these are the entries of their producers now."""
        self._producers.update(entries)

    def commit(self, prepared: PreparedAppend, end_offset: int) -> None:
        """The append has been written, up to `end_offset`."""
        assert prepared.duplicate is None, "a duplicate is not written"
        self.map_end_offset = end_offset
        self._producers.update(prepared.entries)
        if prepared.started:
            self._transactions.start(prepared.started)
        for transaction in prepared.completed:
            self._transactions.complete(transaction.first_offset, transaction.last_offset)
        if prepared.settled:
            self._verifications.settle(prepared.settled)

    def replay(self, batch: RecordBatch) -> list[CompletedTransaction]:
        """Take in a batch that is in the log already; the transactions that it ended."""
        prepared = self.prepare((batch,), _REPLICATION)
        self.commit(prepared, batch.next_offset)
        return prepared.completed

    def start_verification(
        self, producer_id: int, producer_epoch: int, sequence: int, now_ms: int, *, supports_epoch_bump: bool
    ) -> VerificationGuard | None:
        """A guard to come back with once the coordinator has answered; None if the transaction is known to be open.

        `supports_epoch_bump` tells a producer whose transactions are of version 2. INVALID_PRODUCER_EPOCH at once for
        an old epoch: the coordinator need not be asked.
        """
        entry = self._producers.get(producer_id, UNKNOWN_PRODUCER)
        if producer_epoch < entry.producer_epoch:
            raise ApiError(
                ErrorCode.INVALID_PRODUCER_EPOCH,
                f"producer {producer_id} has epoch {entry.producer_epoch}, its request has {producer_epoch}",
            )
        if entry.in_transaction and producer_epoch == entry.producer_epoch:
            return None
        return self._verifications.start(producer_id, producer_epoch, sequence, supports_epoch_bump, now_ms)

    def is_verified(self, producer_id: int, producer_epoch: int, guard: VerificationGuard | None) -> bool:
        """Whether a producer's transaction is known to be open, or this is the guard of its open question."""
        entry = self._producers.get(producer_id, UNKNOWN_PRODUCER)
        is_open = entry.in_transaction and producer_epoch == entry.producer_epoch
        return is_open or self._verifications.holds(producer_id, guard)

    def on_high_watermark(self, high_watermark: int) -> None:
        """Transactions whose marker is below it do not hold the last stable offset back any more."""
        self._transactions.replicated_below(high_watermark)

    def on_log_start_offset(self, log_start_offset: int) -> None:
        """Records were deleted; their producers are remembered until they expire."""
        self._transactions.replicated_below(log_start_offset)
        self.map_end_offset = max(self.map_end_offset, log_start_offset)

    def remove_expired(self, now_ms: int, expiration_ms: int) -> None:
        """Forget who has not written for so long; never who has a transaction open."""
        expired = [key for key, entry in self._producers.items() if entry.is_expired(now_ms, expiration_ms)]
        for producer_id in expired:
            del self._producers[producer_id]
        self._verifications.remove_expired(now_ms, expiration_ms)

    def load(self, entries: Mapping[int, ProducerEntry], end_offset: int, now_ms: int, expiration_ms: int) -> None:
        """Become what a snapshot at `end_offset` says; batches from there on are then replayed."""
        self.truncate_fully_and_start_at(end_offset)
        self._producers = {key: entry for key, entry in entries.items() if not entry.is_expired(now_ms, expiration_ms)}
        open_transactions = [
            (entry.transaction_first_offset, key) for key, entry in self._producers.items() if entry.in_transaction
        ]
        self._transactions.start(dict(sorted(open_transactions)))

    def truncate_fully_and_start_at(self, offset: int) -> None:
        """Forget every producer and every transaction: the log is empty, or about to be replayed."""
        self._producers = {}
        self._transactions.clear()
        self.map_end_offset = offset

    def _check_verified(self, batch: RecordBatch, guard: VerificationGuard | None) -> None:
        if not self.is_verified(batch.producer_id, batch.producer_epoch, guard):
            raise ApiError(
                ErrorCode.INVALID_TXN_STATE,
                f"producer {batch.producer_id} sent records that are not part of an open transaction",
            )

    def _prepare_marker(
        self,
        prepared: PreparedAppend,
        batch: RecordBatch,
        current: ProducerEntry,
        origin: AppendOrigin,
        transaction_version: int,
    ) -> None:
        records = read_batch(batch)
        marker = read_end_transaction_marker(records[0]) if records else None
        if marker is None:
            return  # the cleaner has emptied the batch, since nothing of its transaction is left; or another kind
        if origin is _REPLICATION:
            self._warn_of_old_epoch(batch, current)
        else:
            check_marker(batch, marker, current, transaction_version)
        producer_id, offset = batch.producer_id, batch.base_offset
        if current.in_transaction:
            first_offset = current.transaction_first_offset
            over = {first_offset, *(transaction.first_offset for transaction in prepared.completed)}
            still_open = (other for other in chain(self._transactions, prepared.started) if other not in over)
            last_stable_offset = next(still_open, offset + 1)
            aborted = marker.type is ControlRecordType.ABORT
            prepared.completed.append(
                CompletedTransaction(producer_id, first_offset, offset, aborted, last_stable_offset)
            )
        prepared.entries[producer_id] = current.with_marker(
            batch.producer_epoch, marker.coordinator_epoch, records[0].timestamp
        )
        prepared.settled.append(producer_id)

    def _warn_of_old_epoch(self, batch: RecordBatch, current: ProducerEntry) -> None:
        if batch.producer_epoch < current.producer_epoch:
            logger.warning(
                "%s: the batch at offset %d is of epoch %d of producer %d, which had %d before",
                self._partition,
                batch.base_offset,
                batch.producer_epoch,
                batch.producer_id,
                current.producer_epoch,
            )


def _prepare_records(prepared: PreparedAppend, batch: RecordBatch, current: ProducerEntry) -> None:
    producer_id, first_offset = batch.producer_id, current.transaction_first_offset
    if batch.attributes & TRANSACTIONAL_FLAG:
        if first_offset < 0:
            first_offset = batch.base_offset
            prepared.started[first_offset] = producer_id
        prepared.settled.append(producer_id)
    prepared.entries[producer_id] = current.with_batch(
        batch.producer_epoch,
        batch.base_sequence,
        batch.last_offset,
        batch.last_offset_delta,
        batch.max_timestamp,
        first_offset,
    )
