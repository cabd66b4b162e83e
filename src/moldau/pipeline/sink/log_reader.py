"""The decision log as one sink sees it, from its record batches; no I/O.

Records of a transaction count when its marker says so. That is what `read_committed` does too; but that one stops
before the first open transaction of anybody, and a sink must not wait for another one's driver that has died.
"""

from __future__ import annotations

from collections.abc import Iterable

from moldau.pipeline.sink.log_entries import Entry, read_entry
from moldau.pipeline.sink.values import Decision, Done, LogView, Term
from moldau.records.batch import RecordBatch
from moldau.records.control import ControlRecordType, read_end_transaction_marker
from moldau.records.reader import read_batch


class LogReader:
    """`position` is the offset that is to be read next."""

    def __init__(self, sink_name: str) -> None:
        self.position = 0
        self._sink_name = sink_name
        self._decisions: dict[str, Decision] = {}
        self._done: dict[str, Done] = {}
        self._open: dict[int, list[tuple[int, Entry]]] = {}  # by producer id, with the epoch

    def restart(self, position: int) -> None:
        """Forget everything: the log is not the one that was read so far."""
        self.position = position
        self._decisions.clear()
        self._done.clear()
        self._open.clear()

    @property
    def view(self) -> LogView:
        return LogView(dict(self._decisions), dict(self._done))

    def has_open(self, term: Term) -> bool:
        """Whether there is a decision of this term whose fate is not in the log yet."""
        return any(epoch == term.epoch for epoch, _ in self._open.get(term.producer_id, ()))

    def take(self, batches: Iterable[RecordBatch]) -> None:
        for batch in batches:
            if batch.next_offset <= self.position:
                continue  # a fetch begins with the batch that has the offset
            batch.check()
            if batch.is_control:
                self._end(batch)
            else:
                self._take_records(batch)
            self.position = batch.next_offset

    def _take_records(self, batch: RecordBatch) -> None:
        for record in read_batch(batch):
            entry = read_entry(record.key, record.value, self._sink_name)
            if entry is None or record.offset < self.position:
                continue
            if batch.is_transactional:
                self._open.setdefault(batch.producer_id, []).append((batch.producer_epoch, entry))
            else:
                self._apply(entry)

    def _end(self, batch: RecordBatch) -> None:
        entries = self._open.pop(batch.producer_id, [])
        for record in read_batch(batch):
            marker = read_end_transaction_marker(record)
            if marker is None:
                self._open[batch.producer_id] = entries
            elif marker.type is ControlRecordType.COMMIT:
                for _, entry in entries:
                    self._apply(entry)

    def _apply(self, entry: Entry) -> None:
        match entry.content:
            case Decision() as decision:
                self._decisions[entry.query_id] = decision
            case Done() as done:
                self._done[entry.query_id] = done
            case None:
                (self._decisions if entry.kind == "decision" else self._done).pop(entry.query_id, None)
