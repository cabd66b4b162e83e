"""Leader epochs: what is asked of them, what changes them, and when the checkpoint must be written."""

from __future__ import annotations

import logging

import pytest

from moldau.storage.leader_epochs import UNDEFINED_EPOCH_END_OFFSET, EpochEndOffset, LeaderEpochs


def epochs(*entries: tuple[int, int]) -> LeaderEpochs:
    return LeaderEpochs("t-0", entries)


def test_end_offsets_of_two_epochs() -> None:
    both = epochs((0, 0), (1, 120))
    assert both.end_offset_for(0, log_end_offset=150) == EpochEndOffset(0, 120)
    assert both.end_offset_for(1, log_end_offset=150) == EpochEndOffset(1, 150)
    assert both.end_offset_for(9, log_end_offset=150) == UNDEFINED_EPOCH_END_OFFSET == (-1, -1)


def test_end_offset_of_an_epoch_in_a_gap_is_that_of_the_epoch_before() -> None:
    assert epochs((2, 0), (5, 10), (9, 30)).end_offset_for(7, 50) == (5, 30)


def test_end_offset_of_an_epoch_before_the_first_is_the_first_start() -> None:
    assert epochs((5, 10), (9, 30)).end_offset_for(3, 50) == (3, 10)


def test_end_offset_is_undefined_without_a_request_or_without_entries() -> None:
    assert epochs((0, 0)).end_offset_for(-1, 50) == (-1, -1)
    assert epochs().end_offset_for(0, 50) == (-1, -1)


def test_epoch_for_offset() -> None:
    several = epochs((2, 5), (5, 10), (9, 30))
    assert [several.epoch_for_offset(offset) for offset in (4, 5, 9, 10, 29, 30, 99)] == [None, 2, 2, 5, 5, 9, 9]


def test_previous_and_latest_epoch() -> None:
    several = epochs((2, 5), (5, 10), (9, 30))
    assert several.latest_epoch == 9
    assert [several.previous_epoch(epoch) for epoch in (1, 2, 3, 5, 9, 99)] == [None, None, 2, 2, 5, 9]
    assert epochs().latest_epoch is None


def test_assigning_a_new_epoch_appends_it() -> None:
    several = epochs((0, 0))
    assert several.assign(1, 10)
    assert several.entries == [(0, 0), (1, 10)]


def test_assigning_the_latest_epoch_again_changes_nothing() -> None:
    several = epochs((0, 0), (1, 10))
    assert not several.assign(1, 10)
    assert not several.assign(1, 25)
    assert several.entries == [(0, 0), (1, 10)]


def test_an_epoch_without_records_is_replaced_by_its_successor(caplog: pytest.LogCaptureFixture) -> None:
    several = epochs((0, 0), (1, 10), (4, 40))
    assert several.assign(6, 40)
    assert several.entries == [(0, 0), (1, 10), (6, 40)]
    assert caplog.records == []


@pytest.mark.parametrize(
    ("epoch", "start_offset", "expected"),
    [
        (1, 30, [(0, 0), (1, 30)]),  # an older epoch after a newer one
        (2, 5, [(0, 0), (2, 5)]),  # the latest epoch, but earlier
        (7, 5, [(0, 0), (7, 5)]),  # a newer epoch before older ones
        (0, 0, [(0, 0)]),
    ],
)
def test_going_back_removes_what_contradicts_and_says_so(
    epoch: int, start_offset: int, expected: list[tuple[int, int]], caplog: pytest.LogCaptureFixture
) -> None:
    several = epochs((0, 0), (1, 10), (2, 20))
    with caplog.at_level(logging.WARNING):
        assert several.assign(epoch, start_offset)
    assert several.entries == expected
    assert "t-0" in caplog.text
    assert "EpochEntry(epoch=2, start_offset=20)" in caplog.text


def test_truncation_from_the_end_removes_epochs_that_start_at_or_after_it() -> None:
    several = epochs((0, 0), (1, 10), (2, 20))
    assert not several.truncate_from_end(21)
    assert several.truncate_from_end(20)
    assert several.entries == [(0, 0), (1, 10)]
    assert several.truncate_from_end(5)
    assert several.truncate_from_end(0)
    assert several.entries == []
    assert not several.truncate_from_end(0)


def test_truncation_from_the_start_moves_the_first_kept_epoch() -> None:
    several = epochs((0, 0), (1, 10), (2, 20))
    assert not several.truncate_from_start(0)
    assert several.truncate_from_start(4)
    assert several.entries == [(0, 4), (1, 10), (2, 20)]
    assert several.truncate_from_start(10)
    assert several.entries == [(1, 10), (2, 20)]
    assert not several.truncate_from_start(9)
    assert several.truncate_from_start(500)
    assert several.entries == [(2, 500)]


def test_clearing_says_whether_there_was_something() -> None:
    several = epochs((0, 0))
    assert several.clear()
    assert not several.clear()
    assert several.entries == []


def test_contradictions_in_a_checkpoint_are_dropped() -> None:
    assert epochs((0, 0), (3, 50), (2, 20)).entries == [(0, 0), (2, 20)]


@pytest.mark.parametrize("entry", [(-1, 0), (0, -1)])
def test_neither_epoch_nor_offset_is_negative(entry: tuple[int, int]) -> None:
    with pytest.raises(AssertionError):
        epochs().assign(*entry)
