"""What readers get: by offset with limits and bounds, by time, and which transactions were aborted."""

from __future__ import annotations

from pathlib import Path

import pytest

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError
from moldau.records.batch import Producer, RecordBatch
from moldau.records.control import ControlRecordType, EndTransactionMarker, build_end_transaction_marker
from moldau.storage.log import Log
from moldau.storage.log_reading import aborted_transactions, find_largest_timestamp, find_slice, find_timestamp
from moldau.storage.producer_append import AppendOrigin
from tests.unit.storage.log_workbench import START_MS, Workbench, append, batch, read_all, whole


@pytest.fixture
def log(tmp_path: Path) -> Log:
    """A hundred batches of one record in several segments."""
    made = Workbench(tmp_path, segment_bytes=4000, index_interval_bytes=500).open()
    append(made, 100)
    assert len(made.segments) > 3
    return made


def offsets(log: Log, offset: int, bound: int, bytes_max: int) -> list[int]:
    piece = find_slice(log, offset, bound, bytes_max)
    return [one.base_offset for one in whole(piece.read())] if piece else []


@pytest.mark.parametrize("forget", [True, False])
def test_every_offset_is_found(log: Log, forget: bool) -> None:
    for offset in range(100):
        if forget:
            log.recent.clear()
        assert offsets(log, offset, 100, 1)[0] == offset
    assert [record.offset for record in read_all(log)] == list(range(100))


def test_at_least_one_batch_comes_however_small_the_limit(log: Log) -> None:
    assert offsets(log, 7, 100, 1) == [7]
    assert find_slice(log, 7, 100, 1, at_least_one=False) is not None
    assert find_slice(log, 7, 100, 0, at_least_one=False) is None


def test_a_read_ends_at_its_limit_perhaps_in_the_middle_of_a_batch(log: Log) -> None:
    size = len(batch(b"0".ljust(100)))
    piece = find_slice(log, 3, 100, 3 * size + 10)
    assert piece is not None
    assert piece.size_bytes == 3 * size + 10
    assert [one.base_offset for one in whole(piece.read())] == [3, 4, 5]


@pytest.mark.parametrize("forget", [True, False])
def test_nothing_beyond_the_bound_is_given(log: Log, forget: bool) -> None:
    if forget:
        log.recent.clear()
    for bound in (90, 95, 99):
        assert read_up_to(log, 88, bound) == list(range(88, bound))
    assert find_slice(log, 90, 90, 1000) is None
    assert find_slice(log, 100, 200, 1000) is None


def read_up_to(log: Log, offset: int, bound: int) -> list[int]:
    found: list[int] = []
    while some := offsets(log, offset, bound, 10_000):
        found += some
        offset = some[-1] + 1
    return found


@pytest.mark.parametrize("offset", [-1, 4, 101])
def test_offsets_that_the_log_does_not_have_are_out_of_range(log: Log, offset: int) -> None:
    log.advance_log_start_offset(5)
    with pytest.raises(ApiError) as caught:
        find_slice(log, offset, 100, 1000)
    assert caught.value.code == ErrorCode.OFFSET_OUT_OF_RANGE


def test_the_first_record_at_or_after_a_time_is_found(log: Log) -> None:
    for offset in (0, 1, 37, 99):
        assert find_timestamp(log, START_MS + offset) == (offset, START_MS + offset, 0)
    assert find_timestamp(log, 0) == (0, START_MS, 0)
    assert find_timestamp(log, START_MS + 100) is None
    log.advance_log_start_offset(50)
    assert find_timestamp(log, START_MS) == (50, START_MS + 50, 0)


def test_times_need_not_ascend(tmp_path: Path) -> None:
    log = Workbench(tmp_path, index_interval_bytes=0).open()
    for time in (5, 3, 9, 1, 9, 2):
        log.append_as_leader(batch(b"v", timestamp=START_MS + time), 0)
    assert find_timestamp(log, START_MS + 4) == (0, START_MS + 5, 0)
    assert find_timestamp(log, START_MS + 6) == (2, START_MS + 9, 0)
    assert find_largest_timestamp(log) == (2, START_MS + 9, 0)


def test_the_record_inside_a_batch_is_found(tmp_path: Path) -> None:
    log = Workbench(tmp_path).open()
    log.append_as_leader(batch(b"a", b"b", b"c"), 0)
    assert find_timestamp(log, START_MS + 1) == (1, START_MS + 1, 0)
    assert find_largest_timestamp(log) == (2, START_MS + 2, 0)


def test_an_empty_log_has_no_times(tmp_path: Path) -> None:
    log = Workbench(tmp_path).open()
    assert find_timestamp(log, 0) is None
    assert find_largest_timestamp(log) is None
    assert find_slice(log, 0, 10, 100) is None


def end_transaction(log: Log, producer: Producer, outcome: ControlRecordType) -> None:
    marker = build_end_transaction_marker(EndTransactionMarker(outcome, 0), *producer[:2], START_MS)
    log.append_as_leader(bytearray(marker), 0, AppendOrigin.COORDINATOR)


def test_aborted_transactions_are_found_over_segments(tmp_path: Path) -> None:
    bench = Workbench(tmp_path, segment_bytes=600)
    log = bench.open()
    one, two = Producer(1, 0, 0), Producer(2, 0, 0)
    log.append_as_leader(batch(b"x" * 300, producer=one, transactional=True), 0)  # 0
    log.append_as_leader(batch(b"x" * 300, producer=two, transactional=True), 0)  # 1
    append(log, 3)  # 2, 3, 4
    assert log.last_stable_offset == 0
    end_transaction(log, one, ControlRecordType.ABORT)  # 5
    end_transaction(log, two, ControlRecordType.COMMIT)  # 6
    append(log, 1)
    assert log.last_stable_offset == log.high_watermark == 8
    assert len(log.segments) > 2
    assert aborted_transactions(log, 0, 8) == [(1, 0, 5, 1)]
    assert aborted_transactions(log, 6, 8) == []
    again = bench.open()  # as after a crash: everything is built again
    assert aborted_transactions(again, 0, 8) == [(1, 0, 5, 1)]
    assert again.producer_state.producers.keys() == {1, 2}


def test_a_batch_is_read_as_it_was_written(log: Log) -> None:
    piece = find_slice(log, 42, 100, 1)
    assert piece is not None
    assert RecordBatch(piece.read(wait=False)).base_offset == 42
