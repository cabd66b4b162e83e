"""What the parts of the sink tell each other, and what goes into the decision log."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, order=True)
class Transaction:
    """A transaction of one task attempt. The epoch makes it one of a kind: an id is used again, with the next epoch."""

    transactional_id: str
    producer_id: int
    epoch: int


@dataclass(frozen=True, slots=True)
class Term:
    """The right to decide for a sink: its own transactional id, as it was initialised for one batch."""

    producer_id: int
    epoch: int


@dataclass(frozen=True, slots=True)
class Decision:
    """A batch that is to be visible: from here on each of its transactions has to be committed, and nothing else."""

    query_id: str
    batch_id: int
    term: Term
    transactions: tuple[Transaction, ...]
    partitions: Mapping[str, tuple[int, ...]] = field(default_factory=dict)  # of topics, for who has to repair it


@dataclass(frozen=True, slots=True)
class Done:
    """A batch has come to its end. `completed` is the term of the last decision that is all committed."""

    batch_id: int
    term: Term
    completed: Term | None
    clean: bool  # nothing of this term may still be on its way to a broker


@dataclass(frozen=True, slots=True)
class LogView:
    """The last decision of each query of a sink, and how far it is known to be done."""

    decisions: Mapping[str, Decision] = field(default_factory=dict)
    done: Mapping[str, Done] = field(default_factory=dict)

    def is_done(self, decision: Decision) -> bool:
        done = self.done.get(decision.query_id)
        return done is not None and done.completed == decision.term

    def undone(self) -> list[Decision]:
        return [each for each in self.decisions.values() if not self.is_done(each)]


@dataclass(frozen=True, slots=True)
class LastDecided:
    """Of a query: the last batch that was decided, and in which term."""

    batch_id: int
    term: Term


@dataclass(frozen=True, slots=True)
class Plan:
    """What a batch's tasks are told; all that is decided here is complete."""

    generation: str
    term: Term
    decided: Mapping[str, LastDecided]
    planned_ms: float  # on the driver's monotonic clock


@dataclass(frozen=True, slots=True)
class Written:
    """What a task attempt has done; without a transaction if it had nothing to write."""

    query_id: str
    batch_id: int
    plan: Plan
    transaction: Transaction | None = None
    rows: int = 0
    partitions: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    skipped: bool = False  # the batch was decided before
