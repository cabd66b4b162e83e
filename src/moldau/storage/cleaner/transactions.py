"""Transactions as the cleaner meets them, from the first batch of a log on.

    records of an aborted transaction     go
    its marker                            stays while there were records of it; then until its delete horizon
    the marker of a committed one         likewise

That a transaction had records is noticed while reading, also of those that go in this very run: a marker is
let go only by a run that found nothing of its transaction, so that a crash between the two never leaves records
without the marker that decides them. The new segments' transaction indexes are written on the way.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable

from moldau.records.batch import CONTROL_FLAG, TRANSACTIONAL_FLAG, RecordBatch
from moldau.records.control import ControlRecordType, control_record_type
from moldau.records.reader import read_batch
from moldau.storage.segment import Segment
from moldau.storage.transaction_index import AbortedTransaction


def aborted_between(segments: Iterable[Segment], start: int, bound: int) -> list[AbortedTransaction]:
    """The aborted transactions with offsets in a range; their markers may lie in segments after it."""
    found: list[AbortedTransaction] = []
    for segment in segments:
        some, is_complete = segment.transaction_index.collect(start, bound)
        found += some
        if is_complete:
            break
    return found


class CleanedTransactions:
    """Told of every batch in order; says which can go."""

    def __init__(
        self, aborted: Iterable[AbortedTransaction], keep: Callable[[AbortedTransaction], None] = lambda _: None
    ) -> None:
        """`keep` is called with each aborted transaction that readers still must know of."""
        self.keep = keep
        self._to_come = deque(sorted(aborted, key=lambda transaction: transaction.first_offset))
        self._aborted: dict[int, AbortedTransaction] = {}
        self._with_records: set[int] = set()  # producers whose transaction had a batch

    def is_discardable(self, batch: RecordBatch) -> bool:
        """Whether the records of a batch can go: aborted ones, or a marker whose transaction has no more of them."""
        attributes = batch.attributes
        if not attributes & TRANSACTIONAL_FLAG and not attributes & CONTROL_FLAG:
            return False
        while self._to_come and self._to_come[0].first_offset <= batch.last_offset:
            transaction = self._to_come.popleft()
            self._aborted[transaction.producer_id] = transaction
        if attributes & CONTROL_FLAG:
            return self._is_discardable_marker(batch)
        self._with_records.add(batch.producer_id)
        return batch.producer_id in self._aborted

    def _is_discardable_marker(self, batch: RecordBatch) -> bool:
        records = read_batch(batch)
        if not records:
            return True  # emptied by an earlier run
        kind = control_record_type(records[0])
        if kind not in (ControlRecordType.ABORT, ControlRecordType.COMMIT):
            return False
        had_records = batch.producer_id in self._with_records
        self._with_records.discard(batch.producer_id)
        if kind is ControlRecordType.ABORT:
            transaction = self._aborted.pop(batch.producer_id, None)
            if transaction is None:
                return not had_records
            if had_records:
                self.keep(transaction)
        return not had_records
