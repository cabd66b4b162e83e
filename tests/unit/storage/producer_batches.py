"""Batches of producers, and a partition that appends them: offsets, producer state, and nothing else."""

from __future__ import annotations

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError
from moldau.records.batch import Producer, RecordBatch
from moldau.records.builder import build_batch
from moldau.records.control import ControlRecordType, EndTransactionMarker, build_end_transaction_marker
from moldau.storage.producer_append import AppendOrigin, CompletedTransaction, PreparedAppend
from moldau.storage.producer_entry import AppendedBatch
from moldau.storage.producer_state import ProducerState
from moldau.storage.producer_verification import VerificationGuard

NOW_MS = 1_700_000_000_000


def records_batch(
    producer_id: int,
    producer_epoch: int,
    base_sequence: int,
    count: int = 1,
    *,
    base_offset: int = 0,
    transactional: bool = False,
    timestamp_ms: int = NOW_MS,
) -> RecordBatch:
    producer = Producer(producer_id, producer_epoch, base_sequence)
    rows = [(base_offset + index, timestamp_ms, None, b"", ()) for index in range(count)]
    data = build_batch(rows, base_offset=base_offset, producer=producer, transactional=transactional)
    return RecordBatch(bytearray(data))


def marker_batch(
    producer_id: int,
    producer_epoch: int,
    *,
    commit: bool = True,
    coordinator_epoch: int = 0,
    base_offset: int = 0,
    timestamp_ms: int = NOW_MS,
) -> RecordBatch:
    kind = ControlRecordType.COMMIT if commit else ControlRecordType.ABORT
    marker = EndTransactionMarker(kind, coordinator_epoch)
    data = build_end_transaction_marker(marker, producer_id, producer_epoch, timestamp_ms, base_offset=base_offset)
    return RecordBatch(bytearray(data))


class Partition:
    """Appends one after the other, at offsets of its own, and keeps what it has written."""

    def __init__(self, end_offset: int = 0) -> None:
        self.state = ProducerState("t-0", end_offset)
        self.end_offset = end_offset
        self.written: list[RecordBatch] = []

    def append(
        self,
        *batches: RecordBatch,
        origin: AppendOrigin = AppendOrigin.CLIENT,
        guard: VerificationGuard | None = None,
        verification_required: bool = False,
        transaction_version: int = 0,
    ) -> PreparedAppend:
        next_offset = self.end_offset
        for batch in batches:
            batch.assign(next_offset, 0)
            next_offset = batch.next_offset
        prepared = self.state.prepare(
            batches,
            origin,
            guard=guard,
            verification_required=verification_required,
            transaction_version=transaction_version,
        )
        if prepared.duplicate is None:
            self.end_offset = next_offset
            self.written += batches
            self.state.commit(prepared, next_offset)
        return prepared

    def send(
        self, producer_id: int, producer_epoch: int, base_sequence: int, count: int = 1, *, transactional: bool = False
    ) -> AppendedBatch | None:
        """What a client gets: None for an append, the original for a duplicate."""
        batch = records_batch(producer_id, producer_epoch, base_sequence, count, transactional=transactional)
        return self.append(batch).duplicate

    def end(
        self,
        producer_id: int,
        producer_epoch: int,
        *,
        commit: bool = True,
        coordinator_epoch: int = 0,
        transaction_version: int = 0,
    ) -> list[CompletedTransaction]:
        batch = marker_batch(producer_id, producer_epoch, commit=commit, coordinator_epoch=coordinator_epoch)
        prepared = self.append(batch, origin=AppendOrigin.COORDINATOR, transaction_version=transaction_version)
        return prepared.completed

    def refusal(self, producer_id: int, producer_epoch: int, base_sequence: int, *, transactional: bool = False) -> str:
        """The name of the error that a batch is refused with, or what became of it."""
        try:
            duplicate = self.send(producer_id, producer_epoch, base_sequence, transactional=transactional)
        except ApiError as error:
            return error.code.name
        return "DUPLICATE" if duplicate else ErrorCode.NONE.name
