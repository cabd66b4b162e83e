"""The decision log: what was written is read, whoever else writes there, and only once it is settled."""

from __future__ import annotations

import pytest

from moldau.pipeline.sink.errors import SinkError
from moldau.pipeline.sink.log_entries import decision_value, done_value, key_of, read_entry
from moldau.pipeline.sink.log_reader import LogReader
from moldau.pipeline.sink.values import Decision, Done, Term, Transaction
from moldau.records.batch import NO_PRODUCER, Producer, RecordBatch
from moldau.records.builder import build_batch
from moldau.records.control import ControlRecordType, EndTransactionMarker, build_end_transaction_marker

SINK = "moldau-sink.s"
TERM = Term(7, 3)
DECISION = Decision("q", 5, TERM, (Transaction(f"{SINK}.g.w.0", 11, 2),), {"t": (0, 3)})
DONE = Done(5, TERM, TERM, clean=True)


class Log:
    """Batches one after the other, as a broker would keep them."""

    def __init__(self) -> None:
        self.batches: list[RecordBatch] = []
        self.end = 0

    def add(self, key: bytes, value: bytes | None, term: Term | None = None) -> None:
        producer = NO_PRODUCER if term is None else Producer(term.producer_id, term.epoch, 0)
        data = build_batch(
            [(self.end, 1, key, value, ())], base_offset=self.end, producer=producer, transactional=term is not None
        )
        self.batches.append(RecordBatch(data))
        self.end += 1

    def decide(self, decision: Decision, sink: str = SINK) -> None:
        self.add(key_of("decision", sink, decision.query_id), decision_value(decision, sink), decision.term)

    def mark(self, term: Term, kind: ControlRecordType) -> None:
        marker = EndTransactionMarker(kind, 0)
        data = build_end_transaction_marker(marker, term.producer_id, term.epoch, 1, base_offset=self.end)
        self.batches.append(RecordBatch(data))
        self.end += 1


@pytest.fixture
def log() -> Log:
    return Log()


@pytest.fixture
def reader() -> LogReader:
    return LogReader(SINK)


def test_a_decision_counts_when_it_is_committed(log: Log, reader: LogReader) -> None:
    log.decide(DECISION)
    reader.take(log.batches)
    assert reader.has_open(TERM)
    assert not reader.view.decisions
    log.mark(TERM, ControlRecordType.COMMIT)
    reader.take(log.batches)
    assert not reader.has_open(TERM)
    assert reader.view.decisions == {"q": DECISION}
    assert reader.view.undone() == [DECISION]


def test_an_aborted_decision_never_was(log: Log, reader: LogReader) -> None:
    log.decide(DECISION)
    log.mark(Term(TERM.producer_id, TERM.epoch + 1), ControlRecordType.ABORT)  # as fencing does it
    reader.take(log.batches)
    assert not reader.view.decisions
    assert not reader.has_open(TERM)


def test_an_open_transaction_of_another_sink_holds_nobody_up(log: Log, reader: LogReader) -> None:
    log.decide(Decision("q", 1, Term(8, 0), ()), "moldau-sink.other")
    log.decide(DECISION)
    log.mark(TERM, ControlRecordType.COMMIT)
    reader.take(log.batches)
    assert reader.view.decisions == {"q": DECISION}


def test_a_decision_is_done_when_its_own_term_is_said_to_be(log: Log, reader: LogReader) -> None:
    log.decide(DECISION)
    log.mark(TERM, ControlRecordType.COMMIT)
    log.add(key_of("done", SINK, "q"), done_value(Done(5, TERM, Term(7, 2), clean=True)))
    reader.take(log.batches)
    assert reader.view.undone() == [DECISION]
    log.add(key_of("done", SINK, "q"), done_value(DONE))
    reader.take(log.batches)
    assert reader.view.done == {"q": DONE}
    assert not reader.view.undone()


def test_what_is_forgotten_is_gone(log: Log, reader: LogReader) -> None:
    log.decide(DECISION)
    log.mark(TERM, ControlRecordType.COMMIT)
    log.add(key_of("done", SINK, "q"), done_value(DONE))
    for kind in ("decision", "done"):
        log.add(key_of(kind, SINK, "q"), None)
    reader.take(log.batches)
    assert not reader.view.decisions
    assert not reader.view.done


@pytest.mark.parametrize("key", [None, b"", b"\xff", b"[]", b'["decision","moldau-sink.s.x","q"]', b'{"a":1}'])
def test_what_others_write_is_passed_over(key: bytes | None) -> None:
    assert read_entry(key, b"whatever", SINK) is None


@pytest.mark.parametrize("value", [b"", b"\xff", b"[]", b'{"version":1}', b'{"version":1,"batch":"x","term":[1]}'])
def test_an_own_record_that_cannot_be_read_is_an_error(value: bytes) -> None:
    with pytest.raises(SinkError, match="cannot be read"):
        read_entry(key_of("decision", SINK, "q"), value, SINK)


def test_a_newer_version_is_not_guessed_at() -> None:
    with pytest.raises(SinkError, match="a newer Moldau wrote it"):
        read_entry(key_of("decision", SINK, "q"), b'{"version":2}', SINK)
