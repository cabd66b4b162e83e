"""What is known of one transactional id: who holds it, and how far its transaction is. A value: a step makes another.

A transactional id keeps its producer id for good. Each InitProducerId raises the epoch, so that earlier holders are
fenced. Epochs are 16 bits: the one before the last is the highest that a producer gets, since fencing it needs one
more; after it the next InitProducerId gives a new producer id.

A producer that names its own id and epoch goes on after an error (KIP-360). That request may be a retry whose answer
was lost: `last_producer_epoch` and `previous_producer_id` say what the current ones were made of, if a resuming
producer was the last to change them. Kafka's log does not hold these in its version 0; they are lost with the
coordinator.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError
from moldau.coordinator.transaction.states import IDLE, PREVIOUS_STATES, TransactionState
from moldau.records.batch import NO_PRODUCER_ID
from moldau.storage.log_directory import TopicPartition

NO_PRODUCER_EPOCH = -1
NO_TIMESTAMP = -1
EPOCH_MAX = 0x7FFF
NO_PARTITIONS: frozenset[TopicPartition] = frozenset()


class ProducerIdAndEpoch(NamedTuple):
    producer_id: int
    producer_epoch: int


def is_exhausted(producer_epoch: int) -> bool:
    """Whether no producer can get the next epoch."""
    return producer_epoch >= EPOCH_MAX - 1


@dataclass(frozen=True, slots=True)
class Transaction:
    """`producer_epoch` is -1 as long as no producer has got one."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    timeout_ms: int
    state: TransactionState
    partitions: frozenset[TopicPartition]
    started_ms: int
    updated_ms: int
    previous_producer_id: int = NO_PRODUCER_ID
    last_producer_epoch: int = NO_PRODUCER_EPOCH

    def __repr__(self) -> str:
        who = f"{self.transactional_id}, producer {self.producer_id}, epoch {self.producer_epoch}"
        return f"Transaction({who}, {self.state.name}, {len(self.partitions)} partitions)"

    @classmethod
    def unborn(cls, transactional_id: str, producer_id: int, now_ms: int) -> Transaction:
        """Of an id that was never used, or has expired."""
        return cls(
            transactional_id,
            producer_id,
            NO_PRODUCER_EPOCH,
            timeout_ms=0,
            state=TransactionState.EMPTY,
            partitions=NO_PARTITIONS,
            started_ms=NO_TIMESTAMP,
            updated_ms=now_ms,
        )

    # -- who may

    def check_producer(self, producer_id: int, producer_epoch: int) -> None:
        """Only the current holder of the transactional id may change its transaction."""
        if producer_id != self.producer_id:
            raise ApiError(
                ErrorCode.INVALID_PRODUCER_ID_MAPPING,
                f"{self.transactional_id!r} has producer id {self.producer_id}, not {producer_id}",
            )
        if producer_epoch != self.producer_epoch:
            raise self._fenced(producer_epoch)

    def check_resuming(self, expected: ProducerIdAndEpoch) -> None:
        """A producer that names its id must have had the current one, or the one that was replaced by it."""
        if not (
            self.producer_epoch == NO_PRODUCER_EPOCH
            or expected.producer_id == self.producer_id
            or (expected.producer_id == self.previous_producer_id and is_exhausted(expected.producer_epoch))
        ):
            raise self._fenced(expected.producer_epoch)

    def needs_new_producer_id(self, expected: ProducerIdAndEpoch | None) -> bool:
        return is_exhausted(self.producer_epoch) and (
            expected is None or expected.producer_epoch == self.producer_epoch
        )

    def _fenced(self, producer_epoch: int) -> ApiError:
        return ApiError(
            ErrorCode.PRODUCER_FENCED,
            f"{self.transactional_id!r} is held with epoch {self.producer_epoch}, not {producer_epoch}",
        )

    # -- steps

    def with_next_epoch(self, timeout_ms: int, expected: ProducerIdAndEpoch | None, now_ms: int) -> Transaction:
        """For a producer that begins, or one that resumes and perhaps asks again."""
        current = self.producer_epoch
        if expected is None:
            epoch, last_epoch = current + 1, NO_PRODUCER_EPOCH
        elif current == NO_PRODUCER_EPOCH or expected.producer_epoch == current:
            epoch, last_epoch = current + 1, current
        elif expected.producer_epoch == self.last_producer_epoch:
            epoch, last_epoch = current, self.last_producer_epoch
        else:
            raise self._fenced(expected.producer_epoch)
        assert epoch < EPOCH_MAX, f"{self} has no epoch left to give"
        return self._empty(self.producer_id, epoch, last_epoch, timeout_ms, now_ms)

    def with_new_producer_id(
        self, producer_id: int, timeout_ms: int, expected: ProducerIdAndEpoch | None, now_ms: int
    ) -> Transaction:
        """The epochs of the old id are used up."""
        last_epoch = NO_PRODUCER_EPOCH if expected is None else self.producer_epoch
        return self._empty(producer_id, 0, last_epoch, timeout_ms, now_ms)

    def _empty(
        self, producer_id: int, producer_epoch: int, last_epoch: int, timeout_ms: int, now_ms: int
    ) -> Transaction:
        self._check_step(TransactionState.EMPTY)
        return replace(
            self,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            timeout_ms=timeout_ms,
            state=TransactionState.EMPTY,
            partitions=NO_PARTITIONS,
            started_ms=NO_TIMESTAMP,
            updated_ms=now_ms,
            previous_producer_id=self.producer_id,
            last_producer_epoch=last_epoch,
        )

    def with_partitions(self, partitions: frozenset[TopicPartition], now_ms: int) -> Transaction:
        """The first partitions begin the transaction, and the time it may take."""
        self._check_step(TransactionState.ONGOING)
        return replace(
            self,
            state=TransactionState.ONGOING,
            partitions=self.partitions | partitions,
            started_ms=now_ms if self.state in IDLE else self.started_ms,
            updated_ms=now_ms,
        )

    def prepared(self, committed: bool, now_ms: int) -> Transaction:
        """The decision."""
        state = TransactionState.PREPARE_COMMIT if committed else TransactionState.PREPARE_ABORT
        self._check_step(state)
        return replace(self, state=state, updated_ms=now_ms)

    def fenced(self, now_ms: int) -> Transaction:
        """Aborted with an epoch that nobody has: whoever began the transaction cannot go on with it."""
        self._check_step(TransactionState.PREPARE_EPOCH_FENCE)
        assert self.producer_epoch < EPOCH_MAX, f"{self} cannot be fenced"
        return replace(
            self.prepared(False, now_ms),
            producer_epoch=self.producer_epoch + 1,
            last_producer_epoch=NO_PRODUCER_EPOCH,
        )

    def completed(self, now_ms: int) -> Transaction:
        """All markers are written."""
        is_commit = self.state is TransactionState.PREPARE_COMMIT
        state = TransactionState.COMPLETE_COMMIT if is_commit else TransactionState.COMPLETE_ABORT
        self._check_step(state)
        return replace(self, state=state, partitions=NO_PARTITIONS, updated_ms=now_ms)

    def _check_step(self, state: TransactionState) -> None:
        assert self.state in PREVIOUS_STATES[state], f"{self} cannot become {state.name}"
