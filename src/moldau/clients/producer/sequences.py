"""Idempotence: a number for every record of a partition, so that the broker writes each once and in order (KIP-98).

Theory of operation. A batch gets its first number when it is first sent and keeps it through all retries; the broker
takes only the next one, knows the last five batches again, and refuses a gap. So after a failure only the oldest
batch in flight of a partition is sent again, and the others behind it in their order.

Of a producer that it does not know a broker takes any number as the first one. Were the first batch refused and the
second one taken, the first could never be written any more (KAFKA-14359); so until one is acknowledged only one flies.

When the chain is broken (a batch is given up, or the broker has forgotten the producer), the epoch is raised and the
numbers of that partition begin at zero again (KIP-360), also those of batches that are still to be answered: what
the broker has not taken of them it will refuse, and they are sent with their new numbers. In a transaction that would
hide a lost record, so there the transaction fails instead.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from moldau.base.error_codes import ErrorCode
from moldau.clients.producer.batch import ProducerBatch
from moldau.clients.records import TopicPartition
from moldau.records.batch import NO_PRODUCER_ID, NO_SEQUENCE, Producer, add_to_sequence

EPOCH_MAX: Final = 32767


class _PartitionSequence:
    __slots__ = ("acked", "epoch", "in_flight", "next", "producer_id", "unresolved")

    def __init__(self) -> None:
        # Not always the producer's own: a partition goes over to a new epoch when nothing of the old one is in flight.
        self.producer_id = NO_PRODUCER_ID
        self.epoch = -1
        self.next = 0
        self.acked = NO_SEQUENCE  # the last number that the broker has confirmed
        self.in_flight: deque[ProducerBatch] = deque()  # sent and without a fate, in the order of their numbers
        self.unresolved = False  # a batch was given up without knowing whether it was written


class Sequences:
    """Who the producer is, and what number comes next in each partition. Without an id nothing can be sent."""

    def __init__(self, *, transactional: bool = False) -> None:
        self.producer_id = NO_PRODUCER_ID
        self.epoch = -1
        self.needs_new_epoch = False  # in a transaction only the coordinator raises the epoch
        self._transactional = transactional
        self._partitions: dict[TopicPartition, _PartitionSequence] = {}

    @property
    def has_id(self) -> bool:
        return self.producer_id != NO_PRODUCER_ID

    def begin(self, producer_id: int, epoch: int) -> None:
        """Take a producer id and an epoch from a broker; every partition will start at zero."""
        self.producer_id = producer_id
        self.epoch = epoch
        self.needs_new_epoch = False

    def forget_id(self) -> None:
        """A new one is needed: no epoch is left, or the old id is of no use."""
        self.producer_id = NO_PRODUCER_ID
        self.epoch = -1

    def may_send(self, batch: ProducerBatch) -> bool:
        """Whether it is this batch's turn: while an older one is to be sent again, no other may go before it."""
        state = self._partitions.get(batch.topic_partition)
        if state is None or not state.in_flight:
            return True
        oldest = state.in_flight[0]
        if state.acked == NO_SEQUENCE:
            return batch is oldest
        if batch.base_sequence == NO_SEQUENCE:
            # Nothing new while old ones are sent again, nor while it is open what became of one.
            return not state.unresolved and not any(each.attempts for each in state.in_flight)
        return batch is oldest or not oldest.attempts

    def assign(self, batch: ProducerBatch) -> Producer:
        """The producer's place in a batch that is about to be sent."""
        state = self._partitions.get(batch.topic_partition)
        if state is None:
            state = self._partitions[batch.topic_partition] = _PartitionSequence()
        stale = (state.producer_id, state.epoch) != (self.producer_id, self.epoch)
        if stale and (not state.in_flight or state.producer_id == NO_PRODUCER_ID):
            self._restart(state)
        if batch.base_sequence == NO_SEQUENCE:
            self._number(batch, state)
            state.in_flight.append(batch)
        return Producer(batch.producer_id, batch.producer_epoch, batch.base_sequence)

    def acknowledged(self, batch: ProducerBatch) -> None:
        """The broker has it."""
        state = self._removed(batch)
        if state is not None and batch.producer_epoch == state.epoch:
            state.acked = max(state.acked, add_to_sequence(batch.base_sequence, batch.count - 1))
            batch.sequence_was_reset = False
            self._settle(batch.topic_partition, state)

    def given_up(self, batch: ProducerBatch, *, known: bool) -> None:
        """It has failed for good; `known` says that the broker has certainly not written it."""
        state = self._removed(batch)
        if state is None:
            return
        if known or not batch.sent:
            self.raise_epoch(batch.topic_partition)
        else:
            state.unresolved = True
            self._settle(batch.topic_partition, state)

    def split(self, batch: ProducerBatch, pieces: list[ProducerBatch]) -> None:
        """It was refused as too large and comes again in pieces, which have its numbers among them."""
        state = self._partitions.get(batch.topic_partition)
        if state is None or batch not in state.in_flight:
            return
        place = state.in_flight.index(batch)
        state.in_flight.remove(batch)
        sequence = batch.base_sequence
        for piece in pieces:
            piece.producer_id, piece.producer_epoch = batch.producer_id, batch.producer_epoch
            piece.base_sequence = sequence
            piece.sequence_was_reset = batch.sequence_was_reset
            sequence = add_to_sequence(sequence, piece.count)
            state.in_flight.insert(place, piece)
            place += 1

    def may_retry(self, batch: ProducerBatch, code: ErrorCode) -> bool:
        """Whether a refusal that is about the sequence itself can be mended by sending again."""
        state = self._partitions.get(batch.topic_partition)
        if state is None:
            return False
        if batch.sequence_was_reset:
            return True
        if code is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER and not state.unresolved:
            expected = 0 if state.acked == NO_SEQUENCE else add_to_sequence(state.acked, 1)
            if batch.base_sequence != expected:
                return True  # it came before one that is to be sent again
        if self._transactional:
            return False
        self.raise_epoch(batch.topic_partition)
        return True

    def raise_epoch(self, of: TopicPartition) -> None:
        """Begin anew in a partition, under the next epoch."""
        if self._transactional:
            self.needs_new_epoch = True
            return
        if not self.has_id:
            return
        if self.epoch >= EPOCH_MAX:
            self.forget_id()
        else:
            self.epoch += 1
        self._restart(self._partitions[of])

    def _restart(self, state: _PartitionSequence) -> None:
        state.producer_id = self.producer_id
        state.epoch = self.epoch
        state.next = 0
        state.acked = NO_SEQUENCE
        state.unresolved = False
        for batch in state.in_flight:
            self._number(batch, state)
            batch.sequence_was_reset = True

    @staticmethod
    def _number(batch: ProducerBatch, state: _PartitionSequence) -> None:
        batch.producer_id = state.producer_id
        batch.producer_epoch = state.epoch
        batch.base_sequence = state.next
        state.next = add_to_sequence(state.next, batch.count)

    def _removed(self, batch: ProducerBatch) -> _PartitionSequence | None:
        state = self._partitions.get(batch.topic_partition)
        if state is None or batch not in state.in_flight:
            return None
        state.in_flight.remove(batch)
        return state

    def _settle(self, of: TopicPartition, state: _PartitionSequence) -> None:
        """Once nothing is in flight it shows whether a batch that was given up is missing."""
        if state.unresolved and not state.in_flight:
            expected = 0 if state.acked == NO_SEQUENCE else add_to_sequence(state.acked, 1)
            if expected == state.next:
                state.unresolved = False
            else:
                self.raise_epoch(of)
