"""Which log is cleaned next, up to where, and who keeps the cleaner away."""

from __future__ import annotations

import logging
from dataclasses import replace

import pytest

from moldau.storage.cleaner.schedule import dirtiest
from moldau.storage.cleaner.states import TRANSITIONS, CleaningEvent, CleaningState, CleaningStates
from tests.unit.storage.compacted_log import HOUR_MS, SETTINGS, CompactedLog

PARTITION = ("t", 0)
START, PAUSE, FINISH, RESUME = CleaningEvent


def segments_written(count: int) -> CompactedLog:
    log = CompactedLog()
    for number in range(count):
        log.append((b"k", b"%05d" % number))
        log.roll()
    return log


def test_dirt_is_counted_in_bytes_of_whole_segments() -> None:
    log = segments_written(4)
    size_bytes = log.log.segments.first.size_bytes
    fresh = log.cleanable()
    assert (fresh.clean_bytes, fresh.cleanable_bytes, fresh.cleanable_ratio) == (0, 4 * size_bytes, 1.0)
    assert (fresh.first_dirty_offset, fresh.first_uncleanable_offset) == (0, 4)
    log.clean_offset = 3
    later = log.cleanable()
    assert (later.clean_bytes, later.cleanable_bytes, later.cleanable_ratio) == (3 * size_bytes, size_bytes, 0.25)
    assert not later.needs_cleaning
    log.clean_offset = 2
    assert log.cleanable().cleanable_ratio == 0.5
    assert not log.cleanable().needs_cleaning  # it has to be above the ratio
    log.clean_offset = 4
    assert log.cleanable().cleanable_bytes == 0


def test_an_empty_log_needs_no_cleaning() -> None:
    log = CompactedLog()
    assert not log.cleanable().needs_cleaning
    log.append((b"k", b"1"))
    assert not log.cleanable().needs_cleaning


def test_the_dirtiest_comes_first() -> None:
    logs = [segments_written(count) for count in (4, 8, 2)]
    logs[0].clean_offset, logs[1].clean_offset, logs[2].clean_offset = 1, 1, 2
    chosen = dirtiest(log.cleanable() for log in logs)
    assert chosen is not None
    assert chosen.log is logs[1].log
    assert dirtiest([logs[2].cleanable()]) is None


@pytest.mark.parametrize(("checkpointed", "expected"), [(None, 2), (1, 2), (2, 2), (4, 4), (5, 5), (6, 2)])
def test_a_checkpoint_outside_the_log_counts_for_nothing(
    checkpointed: int | None, expected: int, caplog: pytest.LogCaptureFixture
) -> None:
    log = segments_written(5)
    log.log.advance_log_start_offset(2)
    log.clean_offset = checkpointed
    with caplog.at_level(logging.WARNING):
        found = log.cleanable()
    assert found.first_dirty_offset == expected
    assert found.is_checkpoint_invalid is (checkpointed in (1, 6))
    assert bool(caplog.records) is (checkpointed in (1, 6))


def test_retention_past_the_checkpoint_is_no_cause_for_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    log = segments_written(5)
    log.log.configure(replace(SETTINGS, delete=True))
    log.log.advance_log_start_offset(3)
    log.clean_offset = 1
    with caplog.at_level(logging.WARNING):
        assert log.cleanable().first_dirty_offset == 3
    assert not caplog.records


def test_records_that_waited_too_long_are_cleaned_however_few_they_are() -> None:
    log = segments_written(4)
    log.clean_offset = 3
    log.log.configure(replace(SETTINGS, max_compaction_lag_ms=HOUR_MS))
    log.clock.advance(HOUR_MS)
    assert not log.cleanable().needs_cleaning
    log.clock.advance(1)
    found = log.cleanable()
    assert found.overdue_ms == 1
    assert found.needs_cleaning


def test_a_pause_before_during_and_after_a_cleaning() -> None:
    states = CleaningStates()
    assert states.apply(PARTITION, START) is CleaningState.CLEANING
    assert states.apply(PARTITION, PAUSE) is CleaningState.ABORTING
    assert states.apply(PARTITION, PAUSE) is CleaningState.ABORTING
    assert states.apply(PARTITION, FINISH) is CleaningState.PAUSED
    assert states.apply(PARTITION, RESUME) is CleaningState.PAUSED
    assert states.apply(PARTITION, RESUME) is CleaningState.IDLE
    assert states.apply(PARTITION, PAUSE) is CleaningState.PAUSED
    assert states.apply(PARTITION, RESUME) is CleaningState.IDLE
    states.apply(PARTITION, START)
    states.apply(PARTITION, PAUSE)
    assert states.apply(PARTITION, RESUME) is CleaningState.ABORTING
    assert states.apply(PARTITION, FINISH) is CleaningState.IDLE


def test_what_the_table_does_not_have_is_a_bug() -> None:
    paths: dict[CleaningState, list[CleaningEvent]] = {
        CleaningState.IDLE: [],
        CleaningState.CLEANING: [START],
        CleaningState.ABORTING: [START, PAUSE],
        CleaningState.PAUSED: [PAUSE],
    }
    for state, path in paths.items():
        for event in CleaningEvent:
            states = CleaningStates()
            for step in path:
                states.apply(PARTITION, step)
            assert states[PARTITION] is state
            if (state, event) not in TRANSITIONS:
                with pytest.raises(AssertionError):
                    states.apply(PARTITION, event)
