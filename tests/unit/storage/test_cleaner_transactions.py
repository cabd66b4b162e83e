"""Transactions in a compacted log: aborted records, markers, and what is not decided yet."""

from __future__ import annotations

from moldau.storage.log_reading import aborted_transactions
from moldau.storage.log_settings import LogSettings
from tests.unit.storage.compacted_log import HOUR_MS, CompactedLog


def test_records_of_an_aborted_transaction_go_and_hide_nothing() -> None:
    log = CompactedLog()
    log.append((b"a", b"1"))
    log.append((b"a", b"2"), (b"b", b"2"), producer_id=1, transactional=True)
    log.end(1, commit=False)
    log.roll()
    log.clean()
    assert log.records() == [(0, b"a", b"1")]
    assert log.markers() == [3]


def test_records_of_a_committed_transaction_count() -> None:
    log = CompactedLog()
    log.append((b"a", b"1"))
    log.append((b"a", b"2"), producer_id=1, transactional=True)
    log.end(1, commit=True)
    log.roll()
    log.clean()
    assert log.records() == [(1, b"a", b"2")]


def test_a_marker_goes_a_horizon_after_the_last_record_of_its_transaction() -> None:
    for commit in (True, False):
        log = CompactedLog()
        log.append((b"a", b"1"), producer_id=1, transactional=True)
        marker = log.end(1, commit=commit)
        log.append((b"a", b"2"))
        log.roll()
        log.log.producer_state.remove_expired(log.clock.now_ms() + 1, 0)  # so that nothing is kept for its sequence
        log.clean()
        assert log.markers() == [marker]
        assert _horizons(log) == [None]
        log.clock.advance(48 * HOUR_MS)
        log.clean()
        assert log.markers() == [marker]
        assert _horizons(log) == [log.clock.now_ms() + 24 * HOUR_MS]
        log.clock.advance(24 * HOUR_MS - 1)
        log.clean()
        assert log.markers() == [marker]
        log.clock.advance(1)
        log.clean()
        assert log.markers() == []
        assert [offset for offset, _, _ in log.records()] == [2]


def test_the_last_marker_of_a_known_producer_stays_empty_for_its_epoch() -> None:
    log = CompactedLog()
    marker = log.end(5, commit=True)
    log.append((b"a", b"1"))
    log.roll()
    log.clean()
    log.clock.advance(24 * HOUR_MS)
    log.clean()
    assert log.markers() == [marker]
    first = next(log.stored())
    assert (first.records, first.batch.is_control, first.batch.producer_epoch) == ([], True, 0)


def test_nothing_is_cleaned_past_an_open_transaction() -> None:
    log = CompactedLog()
    log.append((b"a", b"1"), (b"a", b"2"))
    log.roll()
    log.append((b"b", b"1"))
    log.append((b"b", b"2"), producer_id=1, transactional=True)
    log.append((b"b", b"3"))
    log.roll()
    log.append((b"b", b"4"))
    log.roll()
    assert log.clean().end_offset == 2
    assert [offset for offset, _, _ in log.records()] == [1, 2, 3, 4, 5]
    log.end(1, commit=True)
    log.roll()
    log.clean()
    assert [offset for offset, _, _ in log.records()] == [1, 5]


def test_an_abort_behind_the_cleaned_part_is_known() -> None:
    """The marker lies behind the start of a transaction that is still open, and so behind the last stable offset."""
    log = CompactedLog()
    log.append((b"a", b"1"))
    log.append((b"a", b"2"), producer_id=1, transactional=True)
    log.roll()
    log.append((b"b", b"1"), producer_id=2, transactional=True)
    log.end(1, commit=False)
    log.roll()
    log.clean()
    assert log.records() == [(0, b"a", b"1"), (2, b"b", b"1")]
    assert [one.first_offset for one in aborted_transactions(log.log, 0, 100)] == [1]


def test_the_transaction_index_moves_with_what_is_kept() -> None:
    log = CompactedLog(settings=LogSettings(compact=True, delete=False, segment_index_bytes=4096))
    log.append((b"x", b"1"))
    log.roll()
    log.append((b"a", b"2"), producer_id=1, transactional=True)
    log.roll()
    marker = log.end(1, commit=False)
    log.roll()
    log.clean()
    assert [segment.base_offset for segment in log.log.segments] == [0, 3]
    (only,) = log.log.segments.first.transaction_index.all()
    assert (only.first_offset, only.last_offset) == (1, marker)
    assert log.committed() == [(0, b"x", b"1")]
    log.clean()
    # The last batch of producer 1 is still there, empty: so its transaction is still known.
    assert [stored.batch.base_offset for stored in log.stored()] == [0, 1, 2]
    log.log.producer_state.remove_expired(log.clock.now_ms() + 1, 0)
    log.clean()
    log.clean()
    assert log.log.segments.first.transaction_index.all() == []
    assert log.markers() == [marker]
    log.check_files()


def _horizons(log: CompactedLog) -> list[int | None]:
    return [stored.batch.delete_horizon_ms for stored in log.stored() if stored.batch.is_control]
