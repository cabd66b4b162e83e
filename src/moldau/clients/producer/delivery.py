"""What becomes of a batch: written, to be sent again, to be split, or given up.

No I/O: it is told what a broker answered, or that nothing came, and settles the batch with the accumulator, the
sequences and the transaction.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from moldau.base.clock import Clock
from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError
from moldau.clients.errors import ProducerFenced, RecordTooLarge, TimedOut
from moldau.clients.producer.accumulator import PartitionQueue, RecordAccumulator
from moldau.clients.producer.batch import FULL, ProducerBatch
from moldau.clients.producer.sequences import Sequences
from moldau.net.backoff import Backoff
from moldau.protocol.messages.produce import PartitionProduceResponse
from moldau.records.batch import HEADER_BYTES, RecordBatch
from moldau.records.reader import read_batch
from moldau.records.record import NO_TIMESTAMP

logger = logging.getLogger(__name__)

OF_THE_SEQUENCE: Final = frozenset({ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, ErrorCode.UNKNOWN_PRODUCER_ID})
FENCED: Final = frozenset({ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH})
# Refusals that say that metadata is out of date.
OF_METADATA: Final = frozenset(
    {
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.REPLICA_NOT_AVAILABLE,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.NETWORK_EXCEPTION,
    }
)


@dataclass(slots=True)
class DeliveryCounts:
    """Plain numbers that metrics are made of."""

    records: int = 0
    record_bytes: int = 0
    batches: int = 0
    record_errors: int = 0
    record_retries: int = 0
    splits: int = 0
    batch_bytes_max: int = 0
    records_in_batch_max: int = 0


class Deliveries:
    """Decides; `on_lost` is told of what fails in a transaction, since that one cannot be committed any more.

    `may_send` says whether records are sent at all: those of a transaction that is being aborted are not.
    """

    def __init__(
        self,
        accumulator: RecordAccumulator,
        clock: Clock,
        backoff: Backoff,
        *,
        retries: int,
        timeout_ms: int,
        sequences: Sequences | None = None,
        on_lost: Callable[[Exception], None] | None = None,
        may_send: Callable[[], bool] = lambda: True,
    ) -> None:
        self.counts = DeliveryCounts()
        self._accumulator = accumulator
        self._clock = clock
        self._backoff = backoff
        self._retries = retries
        self._timeout_ms = timeout_ms
        self._sequences = sequences
        self._on_lost = on_lost
        self._may_send = may_send

    def written(self, batch: ProducerBatch, base_offset: int, log_append_time_ms: int = NO_TIMESTAMP) -> None:
        """The broker has it, or with acks=0 it is on its way."""
        if batch.done:
            return  # it was given up meanwhile
        counts = self.counts
        records, size_bytes = batch.count, batch.size_bytes
        counts.records += records
        counts.record_bytes += size_bytes
        counts.batches += 1
        if size_bytes > counts.batch_bytes_max:
            counts.batch_bytes_max = size_bytes
        if records > counts.records_in_batch_max:
            counts.records_in_batch_max = records
        if self._sequences is not None:
            self._sequences.acknowledged(batch)
        self._finish(batch, base_offset, log_append_time_ms, None)

    def answered(
        self, queue: PartitionQueue, batch: ProducerBatch, answer: PartitionProduceResponse, code: ErrorCode
    ) -> None:
        """A broker's word on a batch."""
        if batch.done:
            return
        if code is ErrorCode.NONE or code is ErrorCode.DUPLICATE_SEQUENCE_NUMBER:
            self.written(batch, answer.base_offset, answer.log_append_time_ms)
        else:
            self.refused(queue, batch, code, _why(answer), at_once=answer.current_leader is not None)

    def refused(
        self, queue: PartitionQueue, batch: ProducerBatch, code: ErrorCode, why: str, *, at_once: bool = False
    ) -> None:
        """It was not written, or nobody knows; send it again if that can help."""
        if batch.done:
            return
        if code in (ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.RECORD_LIST_TOO_LARGE) and batch.count > 1:
            self._split(queue, batch)
        elif self._may_retry(batch, code):
            batch.retry_at_ms = self._clock.monotonic_ms()
            if not at_once:
                batch.retry_at_ms += self._backoff.delay_ms(batch.attempts)
            batch.attempts += 1
            self.counts.record_retries += batch.count
            self._accumulator.put_back(queue, batch)
        else:
            self.give_up(batch, _error(batch, code, why), known=code is not ErrorCode.NETWORK_EXCEPTION)

    def give_up(self, batch: ProducerBatch, error: Exception, *, known: bool) -> None:
        """It fails for good; `known` says that the broker has certainly not written it."""
        if batch.done:
            return
        self.counts.record_errors += batch.count
        if self._sequences is not None:
            self._sequences.given_up(batch, known=known)
        if self._on_lost is not None:
            self._on_lost(error)
        self._finish(batch, -1, NO_TIMESTAMP, error)

    def expire(self, now_ms: float) -> bool:
        """Give up what is older than `delivery.timeout.ms`, waiting or in flight; whether there was any."""
        overdue = self._accumulator.overdue(now_ms - self._timeout_ms)
        for batch in overdue:
            if batch.done:
                continue
            self._accumulator.withdraw(batch)
            what = f"Expiring {batch.count} record(s) for {batch.topic_partition}"
            self.give_up(
                batch,
                TimedOut(
                    f"{what}: {self._timeout_ms} ms (delivery.timeout.ms) has passed since batch creation, "
                    f"after {batch.attempts} retries; see whether the partition has a leader that can be reached"
                ),
                known=False,
            )
        return bool(overdue)

    def next_expiry_ms(self, now_ms: float) -> float:
        """When something may run out of time next; what is not there yet takes the whole time from now on."""
        return min(self._accumulator.oldest_ms(), now_ms) + self._timeout_ms

    def _may_retry(self, batch: ProducerBatch, code: ErrorCode) -> bool:
        if not self._may_send() or batch.attempts >= self._retries:
            return False
        if self._clock.monotonic_ms() - batch.created_ms >= self._timeout_ms:
            return False
        if self._sequences is not None and code in OF_THE_SEQUENCE:
            return self._sequences.may_retry(batch, code)
        return code.retriable

    def _split(self, queue: PartitionQueue, batch: ProducerBatch) -> None:
        """Smaller batches of the same records: as many as `batch.size` says, or halves if it was that small."""
        self.counts.splits += 1
        limits = self._accumulator.limits
        topic = self._accumulator.topics[batch.topic_partition.topic]
        topic.ratio = max(1.0, batch.compression_ratio)
        limit_bytes = limits.batch_bytes
        if batch.size_bytes <= 2 * limit_bytes:
            limit_bytes = HEADER_BYTES + batch.records_bytes // 2
        pieces: list[ProducerBatch] = []
        for record in read_batch(RecordBatch(batch.build(), 0)):
            if (
                not pieces
                or self._append(pieces[-1], record.timestamp, record.key, record.value, record.headers) == FULL
            ):
                piece = ProducerBatch(
                    batch.topic_partition,
                    limit_bytes,
                    batch.created_ms,
                    batch.compression_type,
                    batch.level,
                    topic.ratio,
                    awaitable=limits.awaitable,
                )
                pieces.append(piece)
                self._append(piece, record.timestamp, record.key, record.value, record.headers)
        for piece in pieces:
            piece.closed = True
        logger.info(
            "A batch of %d records for %s is too large: split in %d", batch.count, queue.topic_partition, len(pieces)
        )
        if self._sequences is not None:
            self._sequences.split(batch, pieces)
        self._accumulator.put_split(queue, batch, pieces)
        batch.split_into(pieces)

    _append = staticmethod(ProducerBatch.append)

    def _finish(self, batch: ProducerBatch, offset: int, log_append_time_ms: int, error: Exception | None) -> None:
        self._accumulator.done(batch)
        batch.complete(offset, log_append_time_ms, error)


def _why(answer: PartitionProduceResponse) -> str:
    details = [each.batch_index_error_message for each in answer.record_errors if each.batch_index_error_message]
    return "; ".join([answer.error_message or "", *details]).strip("; ")


def _error(batch: ProducerBatch, code: ErrorCode, why: str) -> Exception:
    where = f"{batch.topic_partition}: {why}" if why else str(batch.topic_partition)
    match code:
        case ErrorCode.MESSAGE_TOO_LARGE | ErrorCode.RECORD_LIST_TOO_LARGE:
            return RecordTooLarge(f"{where}: larger than the topic allows (max.message.bytes)")
        case ErrorCode.REQUEST_TIMED_OUT:
            return TimedOut(f"{where}: the broker did not answer within request.timeout.ms")
        case ErrorCode.PRODUCER_FENCED | ErrorCode.INVALID_PRODUCER_EPOCH:
            return ProducerFenced(f"{where}: a newer producer has taken over; close this one")
    return ApiError(code, where)
