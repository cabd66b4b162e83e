"""What a partition remembers of one producer: its epoch, its last five batches and its open transaction (KIP-98).

Five batches, because an idempotent producer has at most five requests in flight: whichever of them it sends again, the
answer is still known. Entries are values: an append makes a new entry and the old one stays as it was, so that an
append that fails has changed nothing and a snapshot can be encoded in another thread.

There may be a million of these, most of them idle, so the batches are packed into one bytes object, 24 bytes each,
oldest first: an entry with five takes 280 bytes instead of 1280.
"""

from __future__ import annotations

from struct import Struct
from typing import NamedTuple

from moldau.records.batch import NO_SEQUENCE, RecordBatch
from moldau.records.record import NO_TIMESTAMP

BATCHES_RETAINED = 5
NO_PRODUCER_EPOCH = -1
NO_COORDINATOR_EPOCH = -1
NO_OFFSET = -1

PACKED_BATCH = Struct(">iqiq")  # an `AppendedBatch`, as it is in a snapshot too
_SEQUENCE = Struct(">i")
_SEQUENCE_MASK = (1 << 31) - 1
_EARLIER_BYTES = PACKED_BATCH.size * (BATCHES_RETAINED - 1)
_new_tuple = tuple.__new__


class AppendedBatch(NamedTuple):
    """A batch that is in the log; its sequence wraps from 2^31 - 1 to 0 and is -1 where a coordinator wrote it."""

    last_sequence: int
    last_offset: int
    offset_delta: int
    timestamp: int

    @property
    def base_sequence(self) -> int:
        return self.last_sequence - self.offset_delta & _SEQUENCE_MASK

    @property
    def base_offset(self) -> int:
        return self.last_offset - self.offset_delta


class ProducerEntry(NamedTuple):
    """One producer's state; its last timestamp may be a transaction marker's and so later than its last batch's."""

    producer_epoch: int = NO_PRODUCER_EPOCH
    coordinator_epoch: int = NO_COORDINATOR_EPOCH
    last_timestamp: int = NO_TIMESTAMP
    transaction_first_offset: int = NO_OFFSET
    packed_batches: bytes = b""

    @property
    def batches(self) -> list[AppendedBatch]:
        """The last batches of the current epoch, oldest first."""
        return list(map(AppendedBatch._make, PACKED_BATCH.iter_unpack(self.packed_batches)))

    @property
    def last_batch(self) -> AppendedBatch | None:
        packed = self.packed_batches[-PACKED_BATCH.size :]
        return AppendedBatch._make(PACKED_BATCH.unpack(packed)) if packed else None

    @property
    def last_sequence(self) -> int:
        return self.last_batch.last_sequence if self.last_batch else NO_SEQUENCE

    @property
    def last_data_offset(self) -> int:
        """The offset of the last record, markers aside; the cleaner keeps the batch that holds it."""
        return self.last_batch.last_offset if self.last_batch else NO_OFFSET

    @property
    def next_sequence(self) -> int:
        return self.last_sequence + 1 & _SEQUENCE_MASK

    @property
    def in_transaction(self) -> bool:
        return self.transaction_first_offset >= 0

    def is_expired(self, now_ms: int, expiration_ms: int) -> bool:
        return self.transaction_first_offset < 0 and now_ms - self.last_timestamp >= expiration_ms

    def expects(self, producer_epoch: int, base_sequence: int) -> bool:
        """Whether such a batch comes next, and so is none of the retained ones: 2^31 records lie between."""
        packed = self.packed_batches
        if producer_epoch != self.producer_epoch or not packed:
            return False
        (last_sequence,) = _SEQUENCE.unpack_from(packed, len(packed) - PACKED_BATCH.size)
        return bool(base_sequence == last_sequence + 1 & _SEQUENCE_MASK)

    def find_duplicate(self, batch: RecordBatch) -> AppendedBatch | None:
        """The retained batch of the same epoch and exactly the same sequence numbers."""
        if batch.producer_epoch == self.producer_epoch:
            base_sequence, last_sequence = batch.base_sequence, batch.last_sequence
            for retained in self.batches:
                if retained.last_sequence == last_sequence and retained.base_sequence == base_sequence:
                    return retained
        return None

    def with_batch(
        self,
        producer_epoch: int,
        base_sequence: int,
        last_offset: int,
        offset_delta: int,
        timestamp: int,
        transaction_first_offset: int = NO_OFFSET,
    ) -> ProducerEntry:
        """The entry after a batch of records; those of an older epoch are forgotten with it."""
        last_sequence = base_sequence + offset_delta & _SEQUENCE_MASK if base_sequence >= 0 else NO_SEQUENCE
        packed = PACKED_BATCH.pack(last_sequence, last_offset, offset_delta, timestamp)
        if producer_epoch == self.producer_epoch:
            packed = self.packed_batches[-_EARLIER_BYTES:] + packed
        values = (producer_epoch, self.coordinator_epoch, timestamp, transaction_first_offset, packed)
        return _new_tuple(ProducerEntry, values)  # half the price of the constructor

    def with_marker(self, producer_epoch: int, coordinator_epoch: int, timestamp: int) -> ProducerEntry:
        """The entry after the end of a transaction, which may raise the epoch (KIP-890)."""
        packed = self.packed_batches if producer_epoch == self.producer_epoch else b""
        return ProducerEntry(producer_epoch, coordinator_epoch, timestamp, NO_OFFSET, packed)


UNKNOWN_PRODUCER = ProducerEntry()
