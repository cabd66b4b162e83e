"""What the protocol asks for: each is one step that a process may die before, in or after.

What each answers is said with it. A step whose answer does not come raises, and then nobody knows whether it was
carried out; the protocol is made so that this does not matter.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from moldau.pipeline.sink.values import Decision, Done, Term, Transaction


@dataclass(frozen=True, slots=True)
class ListOpen:
    """→ the open transactions under the sink's prefix, as (id, producer id); None if the broker cannot tell."""

    generation: str | None = None  # only those of one


@dataclass(frozen=True, slots=True)
class TakeTerm:
    """→ a Term. Whoever had one before can decide nothing from now on, and what it was deciding is settled."""


@dataclass(frozen=True, slots=True)
class ReadLog:
    """→ a LogView with all that was decided before; it waits until a decision of `term` is settled."""

    term: Term


@dataclass(frozen=True, slots=True)
class Decide:
    """→ None, with the decision in the log; raises SinkFenced if the term is over."""

    decision: Decision


@dataclass(frozen=True, slots=True)
class Withdraw:
    """→ None: a decision of this term that is on its way is in the log from now on, or never will be."""

    term: Term


@dataclass(frozen=True, slots=True)
class EndAll:
    """→ those that could not be ended: the broker has ended them otherwise."""

    transactions: tuple[Transaction, ...]
    commit: bool


@dataclass(frozen=True, slots=True)
class Fence:
    """→ None: open transactions of these ids are aborted, and who still writes under them is refused."""

    transactional_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MarkDone:
    """→ None. True whoever says it, so no term is needed."""

    query_id: str
    done: Done


Effect: TypeAlias = ListOpen | TakeTerm | ReadLog | Decide | Withdraw | EndAll | Fence | MarkDone
Opened: TypeAlias = frozenset[tuple[str, int]]
