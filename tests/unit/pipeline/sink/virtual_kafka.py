"""As much of Kafka and Spark as the sink's commit protocol can tell apart, in virtual time.

`VirtualKafka` has transactional ids with epochs and states, and the decision log. Each method is one request: atomic,
and whatever a broker does with it in whatever state. `VirtualSpark` is a checkpoint: which batches are committed.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from enum import Enum, auto

from moldau.pipeline.sink.effects import Opened
from moldau.pipeline.sink.errors import SinkFenced
from moldau.pipeline.sink.transactional_ids import generation_of
from moldau.pipeline.sink.values import Decision, Done, LogView, Term, Transaction

SINK = "sink"
PRODUCER_ID = 7

Row = tuple[int, int]  # batch and partition: what an attempt writes


class State(Enum):
    EMPTY = auto()
    ONGOING = auto()
    COMMITTED = auto()
    ABORTED = auto()


@dataclass
class _Id:
    epoch: int = -1
    state: State = State.EMPTY
    rows: list[Row] = field(default_factory=list)


class Refused(Exception):
    """A task's request failed: its transaction is not what it was."""


class VirtualKafka:
    def __init__(self) -> None:
        self.visible: Counter[Row] = Counter()
        self.control_epoch = -1
        self._proposed: Decision | None = None
        self._numbered: set[Term] = set()
        self._numbered_rows: set[Transaction] = set()
        self._decisions: dict[str, Decision] = {}
        self._done: dict[str, Done] = {}
        self._ids: dict[str, _Id] = {}
        self.decided_batches: Counter[int] = Counter()

    # -- the sink's own id, and the log

    def take_term(self) -> Term:
        if self._proposed is not None:
            self._proposed = None
            self.control_epoch += 1  # a producer with an open transaction is fenced first
        self.control_epoch += 1
        return Term(PRODUCER_ID, self.control_epoch)

    def read_log(self) -> LogView:
        return LogView(dict(self._decisions), dict(self._done))

    def propose(self, decision: Decision) -> None:
        self._check(decision.term)
        if decision.term not in self._numbered:  # else its sequence number has been written before
            self._numbered.add(decision.term)
            self._proposed = decision

    def settle(self, term: Term) -> None:
        self._check(term)
        if self._proposed is None:
            if any(each.term == term for each in self._decisions.values()):
                return  # committed again
            raise SinkFenced("it was withdrawn")
        decision, self._proposed = self._proposed, None
        self._decisions[decision.query_id] = decision
        self.decided_batches[decision.batch_id] += 1

    def withdraw(self, term: Term) -> None:
        if term.epoch == self.control_epoch:
            self._proposed = None

    def mark_done(self, query_id: str, done: Done) -> None:
        self._done[query_id] = done

    def _check(self, term: Term) -> None:
        if term.epoch != self.control_epoch:
            raise SinkFenced("the term is over")

    # -- ids of attempts

    def begin(self, transactional_id: str) -> Transaction:
        one = self._ids.setdefault(transactional_id, _Id())
        if one.state is State.ONGOING:
            one.epoch += 1
        one.epoch += 1
        one.state, one.rows = State.EMPTY, []
        return Transaction(transactional_id, PRODUCER_ID, one.epoch)

    def append(self, transaction: Transaction, row: Row) -> None:
        one = self._ids[transaction.transactional_id]
        if one.epoch != transaction.epoch:
            raise Refused
        if one.state is not State.ONGOING:
            one.state, one.rows = State.ONGOING, []  # a partition may be added at any time, and opens a transaction
        if transaction not in self._numbered_rows:
            self._numbered_rows.add(transaction)
            one.rows.append(row)

    def end(self, transaction: Transaction, commit: bool) -> bool:
        one = self._ids[transaction.transactional_id]
        wanted = State.COMMITTED if commit else State.ABORTED
        if one.epoch != transaction.epoch:
            return False
        if one.state is State.ONGOING:
            one.state = wanted
            if commit:
                self.visible.update(one.rows)
        return one.state is wanted

    def fence(self, transactional_id: str) -> None:
        self.begin(transactional_id)

    def time_out(self, transactional_id: str) -> None:
        one = self._ids[transactional_id]
        assert one.state is State.ONGOING
        one.epoch += 1
        one.state = State.ABORTED

    def opened(self, generation: str | None) -> Opened:
        return frozenset(
            (name, PRODUCER_ID)
            for name, one in self._ids.items()
            if one.state is State.ONGOING and generation in (None, generation_of(name, SINK))
        )


class ConcurrentStreamLogUpdate(Exception):
    """Spark's own protection, which comes after the sink's commit."""


class VirtualSpark:
    def __init__(self) -> None:
        self.committed = 0

    def commit(self, batch_id: int) -> None:
        if batch_id != self.committed:
            raise ConcurrentStreamLogUpdate
        self.committed += 1
