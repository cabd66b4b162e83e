"""What a cluster must never do to its clients, looked for in a history.

Each kind of anomaly is a function that yields a line for every case, with the entries that prove it. It holds for
producers that are idempotent or transactional and wait for all replicas, and for readers of committed records.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise

from tests.cluster.history import History, Outcome, Poll, Record, Send

Anomalies = dict[str, list[str]]
Partition = int


def check(history: History) -> Anomalies:
    """The cases of every kind; a kind without any has an empty list."""
    return {kind: list(find(history)) for kind, find in KINDS.items()}


def describe(anomalies: Anomalies, cases_max: int = 10) -> str:
    """All kinds with their counts, and the first cases of each."""
    lines = []
    for kind, cases in anomalies.items():
        lines.append(f"{kind:22} {len(cases)}")
        lines += [f"    {case}" for case in cases[:cases_max]]
    return "\n".join(lines)


# -- what was sent, against the log at the end


def lost(history: History) -> Iterator[str]:
    """A record was acknowledged, and committed if it was in a transaction, and is not in the log."""
    present = {poll.record for poll in history.log}
    for send in history.sends:
        if _must_be_there(history, send) and send.record not in present:
            yield f"{send} is not in the log"


def duplicated(history: History) -> Iterator[str]:
    """A record is in the log twice."""
    for record, polls in _by_record(history.log).items():
        if len(polls) > 1:
            yield f"{record} is at {[(poll.partition, poll.offset) for poll in polls]}"


def reordered(history: History) -> Iterator[str]:
    """Two records of one producer are in a partition the other way round."""
    for (partition, producer), polls in _by_producer(history.log).items():
        for before, after in pairwise(polls):
            if after.record.number < before.record.number:
                places = f"{before.record.number} at {before.offset}, {after.record.number} at {after.offset}"
                yield f"{producer} in partition {partition}: {places}"


def misplaced(history: History) -> Iterator[str]:
    """A record is elsewhere than its acknowledgement said."""
    places = {record: (polls[0].partition, polls[0].offset) for record, polls in _by_record(history.log).items()}
    for send in history.sends:
        place = places.get(send.record)
        if send.offset is not None and place is not None and place != (send.partition, send.offset):
            yield f"{send} is at {place}"


def invented(history: History) -> Iterator[str]:
    """A record is in the log that nobody sent, or of which it was certain that it was not written."""
    outcomes = {send.record: send.outcome for send in history.sends}
    for poll in history.log:
        if outcomes.get(poll.record, Outcome.FAILED) is Outcome.FAILED:
            yield f"{poll}: {'refused' if poll.record in outcomes else 'never sent'}"


def aborted_but_read(history: History) -> Iterator[str]:
    """Somebody who reads committed records only has read one of a transaction that was aborted."""
    aborted = {
        send.record
        for send in history.sends
        if send.transaction is not None and _transaction(history, send) is Outcome.FAILED
    }
    for poll in (*history.polls, *history.log):
        if poll.record in aborted:
            yield str(poll)


def torn(history: History) -> Iterator[str]:
    """Of a transaction whose end is not known a part is in the log, and another part, acknowledged, is not."""
    present = {poll.record for poll in history.log}
    sends: dict[tuple[str, int], list[Send]] = defaultdict(list)
    for send in history.sends:
        if send.transaction is not None and _transaction(history, send) is Outcome.UNKNOWN:
            sends[send.record.producer, send.transaction].append(send)
    for transaction, parts in sends.items():
        missing = [send.record.number for send in parts if send.record not in present]
        acked_missing = [
            send.record.number for send in parts if send.outcome is Outcome.ACKED and send.record not in present
        ]
        if acked_missing and len(missing) < len(parts):
            yield f"transaction {transaction}: {acked_missing} of {len(parts)} records are missing"


# -- what was read while it went on


def unseen(history: History) -> Iterator[str]:
    """A record is in the log, and no consumer of the group has ever got it."""
    seen = {poll.record for poll in history.polls}
    for poll in history.log:
        if poll.record not in seen:
            yield str(poll)


def vanished(history: History) -> Iterator[str]:
    """A consumer has got a record that is not in the log at the end, or not at that offset."""
    log = {(poll.partition, poll.offset): poll.record for poll in history.log}
    for poll in history.polls:
        found = log.get((poll.partition, poll.offset))
        if found != poll.record:
            yield f"{poll}: the log has {found} there"


def skipped(history: History) -> Iterator[str]:
    """A consumer went past records, in one go or by beginning behind what the group had committed."""
    offsets: dict[Partition, list[int]] = defaultdict(list)
    for poll in history.log:
        offsets[poll.partition].append(poll.offset)
    for polls in _runs(history.polls).values():
        for before, after in pairwise(polls):
            known = offsets[before.partition]
            between = known[bisect_right(known, before.offset) : bisect_left(known, after.offset)]
            if between:
                yield f"{before.consumer} went from {before} to {after}, past {between[:10]}"
    seen = {(poll.partition, poll.offset) for poll in history.polls}
    last = {commit.partition: commit for commit in sorted(history.commits, key=lambda commit: commit.offset)}
    for partition, commit in last.items():
        done = offsets[partition][: bisect_left(offsets[partition], commit.offset)]
        missed = [each for each in done if (partition, each) not in seen]
        if missed:
            yield f"{commit} was committed without {missed[:10]}"


def not_monotonic(history: History) -> Iterator[str]:
    """Offsets went back: those of a consumer in one go, or those that a producer's acknowledgements told."""
    for polls in _runs(history.polls).values():
        for before, after in pairwise(polls):
            if after.offset <= before.offset:
                yield f"{before.consumer} got {after} after {before}"
    sends: dict[tuple[str, Partition], list[Send]] = defaultdict(list)
    for send in history.sends:
        if send.offset is not None:
            sends[send.record.producer, send.partition].append(send)
    for acked in sends.values():
        for earlier, later in pairwise(sorted(acked, key=lambda send: send.record.number)):
            assert earlier.offset is not None
            assert later.offset is not None
            if later.offset <= earlier.offset:
                yield f"{later} was acknowledged before {earlier}"


KINDS: dict[str, Callable[[History], Iterable[str]]] = {
    "lost": lost,
    "duplicated": duplicated,
    "reordered": reordered,
    "misplaced": misplaced,
    "invented": invented,
    "unseen": unseen,
    "vanished": vanished,
    "skipped": skipped,
    "aborted but read": aborted_but_read,
    "torn transactions": torn,
    "non-monotonic offsets": not_monotonic,
}


# -- the history by one thing or another


def _must_be_there(history: History, send: Send) -> bool:
    is_committed = send.transaction is None or _transaction(history, send) is Outcome.ACKED
    return send.outcome is Outcome.ACKED and is_committed


def _transaction(history: History, send: Send) -> Outcome:
    assert send.transaction is not None
    return history.transactions.get((send.record.producer, send.transaction), Outcome.UNKNOWN)


def _by_record(polls: Iterable[Poll]) -> dict[Record, list[Poll]]:
    found: dict[Record, list[Poll]] = defaultdict(list)
    for poll in polls:
        found[poll.record].append(poll)
    return found


def _by_producer(polls: Iterable[Poll]) -> dict[tuple[Partition, str], list[Poll]]:
    found: dict[tuple[Partition, str], list[Poll]] = defaultdict(list)
    for poll in sorted(polls, key=lambda poll: poll.offset):
        found[poll.partition, poll.record.producer].append(poll)
    return found


def _runs(polls: Iterable[Poll]) -> dict[tuple[str, int, Partition], list[Poll]]:
    found: dict[tuple[str, int, Partition], list[Poll]] = defaultdict(list)
    for poll in polls:
        found[poll.consumer, poll.run, poll.partition].append(poll)
    return found
