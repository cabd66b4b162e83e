"""The commit protocol: what a sink does before, in and after each batch, without I/O.

Theory of operation. Every task attempt writes in a transaction of its own, leaves it open and tells the driver which
one it is. The driver writes the list of a batch's transactions into a log, the decision; only then it commits them.
Kafka commits a transaction for anybody who names it, as often as it is asked, so whoever finds a decision can complete
it:

    plan     before the tasks of every batch, on the driver: take a term, read the decisions, complete the last one
    write    a task attempt: nothing if the batch is decided, else write under an id of its own
    commit   list, decide, commit all transactions, abort what else is open, mark the decision as done
    abort    settle what was being decided; unless it was, abort the transactions

Each is a generator that yields effects (`effects`) and is sent their answers.

Why it is exactly once. (1) A term is the sink's own transactional id, initialised anew for each batch; a decision is
written in a transaction of that term. So a decision is in the log, or its term is over: two drivers cannot both decide
a batch, since the second reads the log after it took its term. (2) A transaction is committed only if a decision lists
it. (3) A transaction that is aborted was listed as open before a term began in whose log it is not decided; only its
own term could have decided it, and that one is over. (4) Ids are used again, or a broker would have to remember
millions of them; but only in the same generation, and a generation goes on only if this term follows the one before
without another between, and the batch of that one has come to its end with nothing left on the way. So an id that
somebody may still commit, abort or fence is never initialised again.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

from moldau.pipeline.sink.effects import (
    Decide,
    Effect,
    EndAll,
    Fence,
    ListOpen,
    MarkDone,
    Opened,
    ReadLog,
    TakeTerm,
    Withdraw,
)
from moldau.pipeline.sink.errors import BatchTooOld, CheckpointTooOld, SinkError, TransactionsLost
from moldau.pipeline.sink.values import Decision, Done, LastDecided, LogView, Plan, Term, Transaction, Written

Result = TypeVar("Result")
Steps: TypeAlias = Generator[Effect, Any, Result]

_NAMED_MAX = 20


@dataclass(slots=True)
class PlannerMemory:
    """What a planning process keeps between batches; without it a new generation begins."""

    term: Term | None = None
    generation: str = ""


def plan(
    memory: PlannerMemory, new_generation: Callable[[], str], now_ms: float, *, accept_loss: bool = False
) -> Steps[Plan]:
    """Before the tasks of a batch. `accept_loss` lets go of decided transactions that the broker has aborted."""
    opened: Opened | None = None
    # Listed before the term begins: what is decided later cannot be among them.
    if memory.term is None:
        opened = yield ListOpen()
    term: Term = yield TakeTerm()
    log: LogView = yield ReadLog(term)
    if memory.term is None or not _goes_on(memory.term, term, log):
        if memory.term is not None:
            opened = yield ListOpen()
            term = yield TakeTerm()
            log = yield ReadLog(term)
        memory.generation = new_generation()
    memory.term = term
    completed = set()
    for decision in log.undone():
        yield from _complete(decision, accept_loss)
        completed |= {each.transactional_id for each in decision.transactions}
    left = sorted({transactional_id for transactional_id, _ in opened or ()} - completed)
    if left:
        yield Fence(tuple(left))
    return Plan(
        memory.generation,
        term,
        {query_id: LastDecided(each.batch_id, each.term) for query_id, each in log.decisions.items()},
        now_ms,
    )


def _goes_on(before: Term, term: Term, log: LogView) -> bool:
    """Whether nobody came between two terms, and the batch of the first has come to its end."""
    if term != Term(before.producer_id, before.epoch + 1):
        return False
    return any(each.term == before and each.clean for each in log.done.values())


def _complete(decision: Decision, accept_loss: bool) -> Steps[None]:
    lost: Sequence[Transaction] = yield EndAll(decision.transactions, commit=True)
    if lost and not accept_loss:
        raise lost_error(decision, lost)
    yield MarkDone(decision.query_id, Done(decision.batch_id, decision.term, decision.term, clean=False))


def is_decided(plan: Plan, query_id: str, batch_id: int) -> bool:
    """Whether a batch is to be drained without writing; a batch before the last decided one must not come again."""
    last = plan.decided.get(query_id)
    if last is None or batch_id > last.batch_id:
        return False
    if batch_id < last.batch_id:
        raise CheckpointTooOld(
            f"batch {batch_id} of query {query_id} is to be written, but the sink has written all up to "
            f"{last.batch_id}: the checkpoint is older than that. Was a copy of it restored, or does a second driver "
            "run on it? Use the checkpoint that belongs to what was written, or a new one with another sinkId"
        )
    return True


def commit(written: Sequence[Written], batch_id: int, now_ms: float, lifetime_ms: float) -> Steps[None]:
    """When all tasks of a batch have written. `lifetime_ms` is how old its transactions may be."""
    first = _first(written, batch_id)
    transactions = tuple(sorted(each.transaction for each in written if each.transaction is not None))
    if not transactions:  # there was nothing to write, or it was written before and `plan` has completed it
        last = first.plan.decided.get(first.query_id)
        completed = None if last is None else last.term
        yield MarkDone(first.query_id, Done(batch_id, first.plan.term, completed, clean=True))
        return
    age_ms = now_ms - first.plan.planned_ms
    if age_ms > lifetime_ms:
        raise BatchTooOld(
            f"batch {batch_id} took {age_ms / 1000:.0f} s, and its transactions may not be older than "
            f"{lifetime_ms / 1000:.0f} s; nothing of it is visible. Make batches smaller (maxOffsetsPerTrigger), or "
            "raise kafka.transaction.timeout.ms, and transaction.max.timeout.ms of the brokers"
        )
    opened: Opened | None = yield ListOpen(first.plan.generation)
    if opened is not None:
        gone = [each for each in transactions if (each.transactional_id, each.producer_id) not in opened]
        if gone:
            raise BatchTooOld(
                f"batch {batch_id}: the broker has aborted {_named(gone)} before the batch was complete; nothing of it "
                "is visible. Either kafka.transaction.timeout.ms is too short for it, or another driver runs on this "
                "checkpoint"
            )
    decision = Decision(first.query_id, batch_id, first.plan.term, transactions, _partitions(written))
    yield Decide(decision)
    lost: Sequence[Transaction] = yield EndAll(transactions, commit=True)
    if lost:
        raise lost_error(decision, lost)
    decided = {each.transactional_id for each in transactions}
    left = sorted({transactional_id for transactional_id, _ in opened or ()} - decided)
    if left:
        yield Fence(tuple(left))
    yield MarkDone(first.query_id, Done(batch_id, first.plan.term, first.plan.term, clean=not left))


def abort(written: Sequence[Written | None], batch_id: int) -> Steps[bool]:
    """When a batch has failed: True if it is aborted, False if it was decided and stays so.

    Attempts that tell nothing may still be writing; they are fenced, or found by the next plan.
    """
    known = [each for each in written if each is not None]
    if not known:
        return True
    first = _first(known, batch_id)
    yield Withdraw(first.plan.term)
    log: LogView = yield ReadLog(first.plan.term)
    decision = log.decisions.get(first.query_id)
    if decision is not None and (decision.batch_id, decision.term) == (batch_id, first.plan.term):
        return False
    transactions = tuple(sorted(each.transaction for each in known if each.transaction is not None))
    if transactions:
        yield EndAll(transactions, commit=False)
    opened: Opened | None = yield ListOpen(first.plan.generation)
    ended = {each.transactional_id for each in transactions}
    left = sorted({transactional_id for transactional_id, _ in opened or ()} - ended)
    if left:
        yield Fence(tuple(left))
    return True


def lost_error(decision: Decision, lost: Sequence[Transaction]) -> TransactionsLost:
    partitions = ", ".join(
        f"{topic}-{number}" for topic, numbers in sorted(decision.partitions.items()) for number in numbers[:_NAMED_MAX]
    )
    return TransactionsLost(
        f"batch {decision.batch_id} of query {decision.query_id} was decided, but {len(lost)} of its "
        f"{len(decision.transactions)} transactions cannot be committed any more: {_named(lost)}. The broker aborted "
        f"them, as nobody completed the batch within kafka.transaction.timeout.ms. Their rows are missing in "
        f"{partitions}. Write these rows by hand, then start once with the option onLostTransactions=accept"
    )


def _first(written: Sequence[Written], batch_id: int) -> Written:
    if not written:
        raise SinkError(f"batch {batch_id} has no tasks, which Spark never does")
    return written[0]


def _partitions(written: Sequence[Written]) -> dict[str, tuple[int, ...]]:
    union: dict[str, set[int]] = {}
    for each in written:
        for topic, numbers in each.partitions.items():
            union.setdefault(topic, set()).update(numbers)
    return {topic: tuple(sorted(numbers)) for topic, numbers in sorted(union.items())}


def _named(transactions: Sequence[Transaction]) -> str:
    names = [each.transactional_id for each in transactions[:_NAMED_MAX]]
    more = len(transactions) - len(names)
    return ", ".join(names) + (f" and {more} more" if more else "")
