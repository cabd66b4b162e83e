"""The checker finds what is wrong, and nothing else: each bad history breaks one rule and proves one kind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.cluster.checker import KINDS, check, describe
from tests.cluster.history import FINAL_READER, Commit, History, Outcome, Poll, Record, Send

PLAIN, TRANSACTIONAL = "plain", "transactional"


def plain(number: int) -> Record:
    return Record(PLAIN, number)


def transactional(number: int) -> Record:
    return Record(TRANSACTIONAL, number)


def good() -> History:
    """Five records of one producer at 0 to 4; transactions at 5, 6 (committed), 8 (aborted), 10, 11 (not known)."""
    history = History()
    log = [plain(number) for number in range(5)] + [transactional(1), transactional(2)]
    history.sends += [Send(plain(number), 0, Outcome.ACKED, number) for number in range(5)]
    history.sends += [Send(transactional(number), 0, Outcome.ACKED, 4 + number, 1) for number in (1, 2)]
    history.sends += [Send(transactional(3), 0, Outcome.ACKED, 8, 2)]
    history.sends += [Send(transactional(number), 0, Outcome.ACKED, 6 + number, 3) for number in (4, 5)]
    history.transactions |= {(TRANSACTIONAL, 1): Outcome.ACKED, (TRANSACTIONAL, 2): Outcome.FAILED}
    history.transactions[TRANSACTIONAL, 3] = Outcome.UNKNOWN
    history.log += [Poll(FINAL_READER, 0, 0, offset, record) for offset, record in enumerate(log)]
    history.polls += [Poll("one", 1, 0, offset, record) for offset, record in enumerate(log[:4])]
    history.commits += [Commit("one", 0, 3)]
    # Another consumer begins at what was committed, and gets the last record of the first one again.
    history.polls += [Poll("two", 1, 0, offset, record) for offset, record in enumerate(log)][3:]
    return history


def lose(history: History) -> None:
    del history.log[2]
    history.polls = [poll for poll in history.polls if poll.record != plain(2)]


def duplicate(history: History) -> None:
    for log in (history.log, history.polls):
        log.append(log[-1]._replace(offset=9, record=plain(4)))


def reorder(history: History) -> None:
    history.sends = [send._replace(offset=None, outcome=Outcome.UNKNOWN) for send in history.sends]
    for log in (history.log, history.polls):
        log[:] = [
            poll._replace(record={plain(1): plain(2), plain(2): plain(1)}.get(poll.record, poll.record)) for poll in log
        ]


def misplace(history: History) -> None:
    history.sends[4] = history.sends[4]._replace(offset=100)


def invent(history: History) -> None:
    history.sends[4] = history.sends[4]._replace(outcome=Outcome.FAILED, offset=None)


def miss(history: History) -> None:
    history.polls = [poll for poll in history.polls if poll.record != transactional(2)]


def vanish(history: History) -> None:
    history.polls.append(Poll("two", 1, 0, 12, plain(4)))


def skip(history: History) -> None:
    history.polls = [poll for poll in history.polls if poll.record != plain(2)]
    history.polls.append(Poll("three", 1, 0, 2, plain(2)))


def commit_too_far(history: History) -> None:
    history.polls = [poll for poll in history.polls if poll.record != transactional(2)]
    history.polls.append(Poll("two", 2, 0, 6, transactional(2)))
    history.commits.append(Commit("two", 0, 6))
    history.log.append(Poll(FINAL_READER, 0, 1, 0, plain(5)))
    history.sends.append(Send(plain(5), 1, Outcome.ACKED, 0))
    history.commits.append(Commit("two", 1, 1))


def read_aborted(history: History) -> None:
    for log, run in ((history.log, 0), (history.polls, 1)):
        log.append(Poll(log[-1].consumer, run, 0, 8, transactional(3)))


def tear(history: History) -> None:
    for log, run in ((history.log, 0), (history.polls, 1)):
        log.append(Poll(log[-1].consumer, run, 0, 10, transactional(4)))


def go_back(history: History) -> None:
    history.polls.append(Poll("two", 1, 0, 3, plain(3)))


def acknowledge_backwards(history: History) -> None:
    history.sends += [Send(plain(10), 3, Outcome.UNKNOWN, 7), Send(plain(11), 3, Outcome.UNKNOWN, 6)]


CASES: Sequence[tuple[Callable[[History], None], set[str]]] = [
    (lose, {"lost"}),
    (duplicate, {"duplicated"}),
    (reorder, {"reordered"}),
    (misplace, {"misplaced"}),
    (invent, {"invented"}),
    (miss, {"unseen"}),
    (vanish, {"vanished"}),
    (skip, {"skipped"}),
    (commit_too_far, {"skipped", "unseen"}),
    (read_aborted, {"aborted but read"}),
    (tear, {"torn transactions"}),
    (go_back, {"non-monotonic offsets"}),
    (acknowledge_backwards, {"non-monotonic offsets"}),
]


def test_a_good_history_has_no_anomalies() -> None:
    assert check(good()) == {kind: [] for kind in KINDS}


@pytest.mark.parametrize(("spoil", "kinds"), CASES, ids=lambda value: getattr(value, "__name__", None))
def test_what_is_wrong_is_found_and_named(spoil: Callable[[History], None], kinds: set[str]) -> None:
    history = good()
    spoil(history)
    found = {kind: cases for kind, cases in check(history).items() if cases}
    assert found.keys() == kinds
    assert all(cases[0] in describe(check(history)) for cases in found.values())


def test_a_record_of_an_unknown_outcome_may_be_there_or_not() -> None:
    history = good()
    history.sends.append(Send(plain(5), 0, Outcome.UNKNOWN))
    assert not any(check(history).values())
    for log, run in ((history.log, 0), (history.polls, 1)):
        log.append(Poll(log[-1].consumer, run, 0, 13, plain(5)))
    assert not any(check(history).values())


def test_a_history_is_saved_line_by_line(tmp_path: Path) -> None:
    good().save(tmp_path / "history.jsonl")
    lines = (tmp_path / "history.jsonl").read_text().splitlines()
    assert len(lines) == 10 + 8 + 1 + 7 + 3
    assert '"outcome": "acked"' in lines[0]
