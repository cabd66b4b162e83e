"""Retention takes whole segments from the old end, for the right reason, and never one too many."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

import pytest

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError
from moldau.records.batch import Producer
from moldau.storage.log import Log
from moldau.storage.log_reading import find_slice
from moldau.storage.retention import (
    before_log_start,
    beyond_size,
    beyond_time,
    enforce_retention,
    first_unknown_timestamps,
)
from tests.unit.storage.log_workbench import START_MS, Workbench, append, batch, read_all

HOUR_MS = 3_600_000


def log_with_bases(tmp_path: Path, bases: list[int], end: int, **settings: object) -> tuple[Workbench, Log]:
    """A log whose segments begin at these offsets."""
    bench = Workbench(tmp_path, None, segment_index_bytes=1200, **settings)
    log = bench.open()
    for base, next_base in zip(bases, [*bases[1:], end], strict=True):
        if base:
            log.roll()
        append(log, next_base - base)
    return bench, log


def bases(log: Log) -> list[int]:
    return [segment.base_offset for segment in log.segments]


def test_delete_records_removes_the_segments_that_end_before_the_new_start(tmp_path: Path) -> None:
    bench, log = log_with_bases(tmp_path, [0, 21, 35, 57, 71], 80, file_delete_delay_ms=60_000)
    log.advance_log_start_offset(60)
    assert enforce_retention(log, START_MS) == 3
    assert bases(log) == [57, 71]
    assert sorted(name for name in bench.names if name.endswith(".log.deleted")) == [
        f"{base:020d}.log.deleted" for base in (0, 21, 35)
    ]
    with pytest.raises(ApiError) as refused:
        find_slice(log, 59, 80, 1000)
    assert refused.value.code is ErrorCode.OFFSET_OUT_OF_RANGE
    assert read_all(log)[0].offset == 60
    bench.clock.advance(60_000)
    assert log.remove_due_files(bench.clock.now_ms()) == 3
    assert not [name for name in bench.names if name.endswith(".deleted")]


def test_a_start_at_the_base_of_a_segment_keeps_that_segment(tmp_path: Path) -> None:
    _, log = log_with_bases(tmp_path, [0, 10, 20], 30)
    log.advance_log_start_offset(20)
    assert [segment.base_offset for segment in before_log_start(log)] == [0, 10]
    log.advance_log_start_offset(30)
    assert [segment.base_offset for segment in before_log_start(log)] == [0, 10], "the active one stays"


def test_size_never_goes_below_what_is_to_be_kept(tmp_path: Path) -> None:
    _, log = log_with_bases(tmp_path, [0, 10, 20, 30, 40], 50, retention_ms=-1)
    one = log.segments.first.size_bytes
    assert log.size_bytes == 5 * one
    for kept_bytes, expected in [(one * 7 // 2, 1), (one * 3, 2), (one * 5, 0), (0, 5), (-1, 0), (one * 9, 0)]:
        log.configure(Workbench(tmp_path / "x", None, retention_bytes=kept_bytes).settings)
        assert len(beyond_size(log)) == expected, kept_bytes


def test_five_segments_and_room_for_three_and_a_half(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    _, log = log_with_bases(tmp_path, [0, 10, 20, 30, 40], 50, retention_ms=-1)
    one = log.segments.first.size_bytes
    log.configure(Workbench(tmp_path / "x", None, retention_ms=-1, retention_bytes=one * 7 // 2).settings)
    with caplog.at_level(logging.INFO):
        assert enforce_retention(log, START_MS) == 1
    assert (bases(log), log.log_start_offset, log.size_bytes) == ([10, 20, 30, 40], 10, 4 * one)
    assert f"retention size {one * 7 // 2} breach. Log size after deletion will be {4 * one}." in caplog.text
    assert "orders-0: incremented log start offset to 10 due to segment deletion" in caplog.text


def test_what_is_older_than_the_limit_goes_and_not_a_millisecond_earlier(tmp_path: Path) -> None:
    _, log = log_with_bases(tmp_path, [0, 10, 20], 30, retention_ms=HOUR_MS)
    last_of_first = START_MS + 9
    assert beyond_time(log, last_of_first + HOUR_MS) == []
    assert [segment.base_offset for segment in beyond_time(log, last_of_first + HOUR_MS + 1)] == [0]


def test_when_all_has_expired_the_log_rolls_and_an_empty_segment_remains(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    bench, log = log_with_bases(tmp_path, [0, 10, 20], 30, retention_ms=HOUR_MS)
    now_ms = START_MS + 29 + HOUR_MS + 1
    with caplog.at_level(logging.INFO):
        assert enforce_retention(log, now_ms) == 3
    assert (bases(log), log.log_start_offset, log.log_end_offset, log.size_bytes) == ([30], 30, 30, 0)
    assert caplog.text.count(f"retention time {HOUR_MS}ms breach based on the largest record timestamp in") == 3
    assert enforce_retention(log, now_ms + 10 * HOUR_MS) == 0, "an empty active segment never expires"
    append(log, 3)
    log.close()
    again = bench.open(clean=True)
    assert (again.log_start_offset, again.log_end_offset) == (30, 33)


def test_a_later_segment_that_expired_waits_for_an_earlier_one_that_has_not(tmp_path: Path) -> None:
    bench = Workbench(tmp_path, None, retention_ms=HOUR_MS)
    log = bench.open()
    for timestamp in (START_MS + 5 * HOUR_MS, START_MS, START_MS):
        log.append_as_leader(batch(timestamp=timestamp), 0)
        log.roll()
    log.advance_high_watermark(log.log_end_offset)
    assert beyond_time(log, START_MS + 3 * HOUR_MS) == []


def test_nothing_above_the_high_watermark_goes(tmp_path: Path) -> None:
    bench = Workbench(tmp_path, None, retention_ms=1, retention_bytes=0)
    log = bench.open()
    for _ in range(3):
        log.append_as_leader(batch(), 0)
        log.roll()
    log.append_as_leader(batch(), 0)
    log.advance_high_watermark(2)
    assert enforce_retention(log, START_MS + HOUR_MS) == 2
    assert bases(log) == [2, 3]
    log.advance_high_watermark(3)
    assert enforce_retention(log, START_MS + HOUR_MS) == 1
    assert bases(log) == [3], "the last record is not replicated"


def test_a_compacted_log_loses_segments_by_its_start_offset_alone(tmp_path: Path) -> None:
    _, log = log_with_bases(tmp_path, [0, 10, 20], 30, compact=True, delete=False, retention_ms=1, retention_bytes=0)
    assert enforce_retention(log, START_MS + HOUR_MS) == 0
    log.advance_log_start_offset(15)
    assert enforce_retention(log, START_MS + HOUR_MS) == 1
    both = log_with_bases(tmp_path / "both", [0, 10, 20], 30, compact=True, delete=True, retention_ms=1)[1]
    assert enforce_retention(both, START_MS + HOUR_MS) == 3


def test_without_a_limit_nothing_goes(tmp_path: Path) -> None:
    _, log = log_with_bases(tmp_path, [0, 10], 20, retention_ms=-1, retention_bytes=-1)
    assert enforce_retention(log, START_MS + 10**15) == 0


def test_a_clock_that_was_set_back_and_records_from_the_future_keep_segments(tmp_path: Path) -> None:
    _, log = log_with_bases(tmp_path, [0, 10], 20, retention_ms=HOUR_MS)
    assert enforce_retention(log, START_MS - 1000 * HOUR_MS) == 0
    assert enforce_retention(log, 0) == 0


def test_records_without_a_timestamp_go_by_the_time_of_the_file(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    bench = Workbench(tmp_path, None, retention_ms=HOUR_MS)
    log = bench.open()
    log.append_as_leader(batch(timestamp=-1), 0)
    log.roll()
    log.advance_high_watermark(1)
    segment = log.segments.first
    bench.files.set_modified_ms(segment.path, START_MS)
    assert enforce_retention(log, START_MS + HOUR_MS) == 0
    with caplog.at_level(logging.INFO):
        assert enforce_retention(log, START_MS + HOUR_MS + 1) == 1
    assert "based on the last modified time of the segment" in caplog.text


def test_snapshots_of_removed_segments_go_and_the_one_that_is_needed_stays(tmp_path: Path) -> None:
    bench = Workbench(tmp_path, None, retention_ms=HOUR_MS)
    log = bench.open()
    for sequence in range(4):
        log.append_as_leader(batch(producer=Producer(7, 0, sequence), timestamp=START_MS + sequence * HOUR_MS), 0)
        log.roll()
    log.advance_high_watermark(4)
    assert log.snapshots.offsets == [1, 2, 3, 4]
    enforce_retention(log, START_MS + 2 * HOUR_MS + 1)
    assert (bases(log), log.snapshots.offsets) == ([2, 3, 4], [2, 3, 4])
    again = bench.open()
    assert again.log_start_offset == 2
    assert again.producer_state.producers.keys() == {7}


def test_timestamps_are_read_ahead_without_touching_the_log(tmp_path: Path) -> None:
    bench, log = log_with_bases(tmp_path, [0, 10, 20, 30], 40, retention_ms=HOUR_MS)
    log.close()
    log = bench.open(clean=True)
    found = first_unknown_timestamps([log], START_MS + 15 + HOUR_MS)
    assert [(segment.base_offset, largest.timestamp) for segment, largest in found] == [
        (0, START_MS + 9),
        (10, START_MS + 19),
    ]
    assert not any(segment.knows_largest_timestamp for segment in log.segments)
    append(log, 1)
    for segment in log.segments:
        segment.learn_largest_timestamp(found[0][1])
    assert log.segments.active.largest_timestamp.timestamp == START_MS + 40, "what is known already is better"


def test_readers_of_a_removed_segment_finish(tmp_path: Path) -> None:
    bench, log = log_with_bases(tmp_path, [0, 10], 20, retention_ms=HOUR_MS)
    slice_ = find_slice(log, 0, 20, 5000)
    assert slice_ is not None
    before = bytes(slice_.read())
    enforce_retention(log, START_MS + 9 + HOUR_MS + 1)
    assert bytes(slice_.read()) == before
    assert asyncio.run(asyncio.to_thread(slice_.read)) == before
    assert bases(log) == [10]
    bench.clock.advance(60_000)
    log.remove_due_files(bench.clock.now_ms())
    assert bytes(slice_.read()) == before, "the open file outlives its name"
