"""An append as producer state sees it: where it comes from, what is refused, what changes once it is written.

The rules for a client's batch, in this order; between the second and the third the guard is checked (KIP-890):

    same epoch, same sequence numbers as one of the last five batches    duplicate
    epoch older than the producer's                                      INVALID_PRODUCER_EPOCH (KIP-588)
    newer epoch, and a sequence that does not start at 0                 OUT_OF_ORDER_SEQUENCE_NUMBER
    same epoch, and not the last sequence + 1 (after 2^31 - 1 comes 0)   OUT_OF_ORDER_SEQUENCE_NUMBER
    not transactional while the producer's transaction is open           INVALID_TXN_STATE

A producer without state may start with any sequence: its state may have expired, or its records been deleted (KIP-360).
One with an epoch but without batches, which only a marker leaves behind, starts with 0.

A marker's epoch is at least the producer's. In transactions of version 2 the coordinator raises the epoch for the
marker: one with the producer's own epoch is late, and refused if it would end a later transaction (KIP-890, KIP-1228).
With no transaction open it is the retry of a marker that has been written, and is written again.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError
from moldau.records.batch import TRANSACTIONAL_FLAG, RecordBatch
from moldau.records.control import EndTransactionMarker
from moldau.storage.producer_entry import NO_PRODUCER_EPOCH, AppendedBatch, ProducerEntry

EPOCH_BUMP_TRANSACTION_VERSION = 2


class AppendOrigin(Enum):
    """Who appends decides what is checked."""

    CLIENT = "client"  # epoch and sequence
    COORDINATOR = "coordinator"  # epoch: a transaction's offset commits have no sequence, nor have markers
    REPLICATION = "replication"  # nothing: the leader has checked, and a log that is read again is what it is


class CompletedTransaction(NamedTuple):
    """A transaction that a marker ended; if it was aborted, this is its entry in the transaction index."""

    producer_id: int
    first_offset: int
    last_offset: int  # the marker's
    aborted: bool
    last_stable_offset: int  # with this transaction over, and everything replicated


class PreparedAppend:
    """The outcome of the checks: the original of a duplicate, or what `ProducerState.commit` will put in place."""

    __slots__ = ("completed", "duplicate", "entries", "settled", "started")

    def __init__(self, duplicate: AppendedBatch | None = None) -> None:
        self.duplicate = duplicate
        self.entries: dict[int, ProducerEntry] = {}
        self.started: dict[int, int] = {}  # first offset → producer id
        self.completed: list[CompletedTransaction] = []
        self.settled: list[int] = []  # producers whose verification is over


NOTHING_PREPARED = PreparedAppend()  # of an append without producer ids; shared, and never changed


def check_epoch(batch: RecordBatch, entry: ProducerEntry) -> None:
    if batch.producer_epoch < entry.producer_epoch:
        raise ApiError(
            ErrorCode.INVALID_PRODUCER_EPOCH,
            f"producer {batch.producer_id} has epoch {entry.producer_epoch}, its batch has {batch.producer_epoch}",
        )


def check_sequence(batch: RecordBatch, entry: ProducerEntry) -> None:
    if entry.producer_epoch == NO_PRODUCER_EPOCH:
        return
    expected = entry.next_sequence if batch.producer_epoch == entry.producer_epoch else 0
    if batch.base_sequence != expected:
        raise ApiError(
            ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
            f"producer {batch.producer_id} sent sequence {batch.base_sequence} of epoch {batch.producer_epoch} "
            f"instead of {expected}; the last was {entry.last_sequence} of epoch {entry.producer_epoch}",
        )


def check_kind(batch: RecordBatch, entry: ProducerEntry) -> None:
    if entry.transaction_first_offset >= 0 and not batch.attributes & TRANSACTIONAL_FLAG:
        raise ApiError(
            ErrorCode.INVALID_TXN_STATE,
            f"producer {batch.producer_id} sent records outside of its transaction, which is open",
        )


def check_marker(
    batch: RecordBatch, marker: EndTransactionMarker, entry: ProducerEntry, transaction_version: int
) -> None:
    check_epoch(batch, entry)
    if (
        transaction_version >= EPOCH_BUMP_TRANSACTION_VERSION
        and entry.in_transaction
        and batch.producer_epoch == entry.producer_epoch
    ):
        raise ApiError(
            ErrorCode.INVALID_PRODUCER_EPOCH,
            f"producer {batch.producer_id} has a transaction with epoch {entry.producer_epoch}, "
            "which a marker of the same epoch cannot end",
        )
    if marker.coordinator_epoch < entry.coordinator_epoch:
        raise ApiError(
            ErrorCode.TRANSACTION_COORDINATOR_FENCED,
            f"producer {batch.producer_id} had a marker of coordinator epoch {entry.coordinator_epoch}, "
            f"this one is of {marker.coordinator_epoch}",
        )
