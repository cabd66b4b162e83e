"""Which records stay when a log is compacted."""

from __future__ import annotations

import pytest

from moldau.records.compression import CompressionType
from moldau.storage.cleaner.offset_map import ENTRY_BYTES
from moldau.storage.log_settings import LogSettings
from tests.unit.storage.compacted_log import HOUR_MS, CompactedLog


def test_only_the_newest_of_three_values_stays_with_its_offset() -> None:
    log = CompactedLog()
    log.append((b"user123", b"kafka1.com"))
    log.append((b"user123", b"kafka2.com"), (b"user456", b"other"))
    log.append((b"user123", b"kafka3.com"))
    log.roll()
    log.clean()
    assert log.records() == [(2, b"user456", b"other"), (3, b"user123", b"kafka3.com")]
    log.check_files()


def test_the_active_segment_is_not_touched() -> None:
    log = CompactedLog()
    log.append((b"a", b"1"))
    log.roll()
    log.append((b"a", b"2"))
    log.append((b"a", b"3"))
    log.clean()
    assert [offset for offset, _, _ in log.records()] == [0, 1, 2]


def test_a_reader_in_the_head_sees_consecutive_offsets_and_one_in_the_tail_the_order_of_writing() -> None:
    log = CompactedLog()
    for number in range(40):
        log.append((b"k%d" % (number % 7), b"%d" % number))
        if number == 29:
            log.roll()
    log.clean()
    assert [offset for offset, _, _ in log.records()] == [*range(23, 30), *range(30, 40)]


def test_records_younger_than_the_lag_are_untouched() -> None:
    log = CompactedLog(settings=SETTINGS_WITH_LAG)
    log.append((b"a", b"1"), (b"a", b"2"))
    log.roll()
    log.clock.advance(2 * HOUR_MS)
    log.append((b"a", b"3"), (b"a", b"4"))
    log.roll()
    log.clean()
    assert [offset for offset, _, _ in log.records()] == [1, 2, 3]
    log.clock.advance(2 * HOUR_MS)
    log.clean()
    assert [offset for offset, _, _ in log.records()] == [3]


SETTINGS_WITH_LAG = LogSettings(compact=True, delete=False, segment_index_bytes=4096, min_compaction_lag_ms=HOUR_MS)


def test_records_without_a_key_go() -> None:
    log = CompactedLog()
    log.log.configure(LogSettings())
    log.append((None, b"1"), (b"a", b"2"))
    log.append((b"b", b"3"))
    log.roll()
    assert log.clean().invalid_records == 1
    assert log.records() == [(1, b"a", b"2"), (2, b"b", b"3")]


def test_a_tombstone_is_seen_for_delete_retention_ms_and_then_leaves_no_trace() -> None:
    log = CompactedLog()
    log.append((b"a", b"1"))
    log.append((b"a", None), (b"b", b"1"))
    log.append((b"c", b"1"))
    log.roll()
    log.clean()
    assert log.records() == [(1, b"a", None), (2, b"b", b"1"), (3, b"c", b"1")]
    horizon_ms = log.clock.now_ms() + 24 * HOUR_MS
    assert [stored.batch.delete_horizon_ms for stored in log.stored()] == [horizon_ms, None]
    log.clock.advance(24 * HOUR_MS - 1)
    log.clean()
    assert log.records() == [(1, b"a", None), (2, b"b", b"1"), (3, b"c", b"1")]
    log.clock.advance(1)
    log.clean()
    assert log.records() == [(2, b"b", b"1"), (3, b"c", b"1")]
    log.check_files()


def test_a_horizon_changes_no_timestamp() -> None:
    log = CompactedLog()
    log.append((b"a", None), (b"b", b"1"), (b"c", None))
    before = [record for stored in log.stored() for record in stored.records]
    log.roll()
    log.clean()
    assert [record for stored in log.stored() for record in stored.records] == before


@pytest.mark.parametrize("codec", CompressionType)
def test_a_batch_of_which_all_stays_is_the_same_bytes(codec: CompressionType) -> None:
    log = CompactedLog()
    log.append((b"a", b"1" * 100), (b"b", b"2" * 100), codec=codec)
    log.append((b"c", b"3" * 100), (b"a", b"4" * 100), (b"a", b"5" * 100), codec=codec)
    log.append((b"d", b"6" * 100), codec=codec)
    log.append((b"b", b"7" * 100), codec=codec)
    before = [stored.data for stored in log.stored()]
    log.roll()
    log.clean()
    after = list(log.stored())
    assert [stored.data for stored in after[1:]] == before[2:]
    assert [stored.data for stored in after[:1]] != before[1:2]
    assert [record.offset for record in after[0].records] == [2, 4]
    assert after[0].batch.compression_type is codec
    assert (after[0].batch.base_offset, after[0].batch.last_offset) == (2, 4)


def test_what_stays_keeps_its_timestamps_and_headers_and_the_largest_is_right() -> None:
    log = CompactedLog()
    log.append((b"a", b"1"), (b"b", b"2"), (b"a", b"3"), (b"b", b"4"))
    log.append((b"b", b"5"))
    before = [record for stored in log.stored() for record in stored.records]
    log.roll()
    log.clean()
    first = next(log.stored())
    assert first.records == [before[2]]
    assert first.batch.max_timestamp == before[2].timestamp
    log.check_files()


@pytest.mark.parametrize("size", [31, 32, 33, 63, 64, 65, 5000])
def test_keys_of_any_length_are_told_apart(size: int) -> None:
    log = CompactedLog()
    log.append((b"x" * size, b"1"), (b"x" * (size - 1) + b"y", b"2"), (b"x" * size, b"3"))
    log.append((b"z" * size, b"4"))
    log.roll()
    log.clean()
    assert [offset for offset, _, _ in log.records()] == [1, 2, 3]


def test_the_last_batch_stays_empty_so_that_followers_reach_the_end() -> None:
    log = CompactedLog()
    log.append((b"a", None))
    log.roll()
    log.clean()
    log.clock.advance(25 * HOUR_MS)
    log.clean()
    assert log.records() == []
    assert [stored.batch.next_offset for stored in log.stored()] == [1]
    log.append((b"b", b"1"))
    log.roll()
    log.clean()
    assert [stored.batch.base_offset for stored in log.stored()] == [1]


def test_the_last_batch_of_a_producer_stays_empty_for_its_sequence() -> None:
    log = CompactedLog()
    log.append((b"a", b"1"), producer_id=7)
    log.append((b"a", b"2"), (b"b", b"2"), producer_id=7)
    log.append((b"a", b"3"), (b"b", b"3"))
    log.roll()
    log.clean()
    kept = list(log.stored())
    assert [(stored.batch.producer_id, len(stored.records)) for stored in kept] == [(7, 0), (-1, 2)]
    assert (kept[0].batch.base_sequence, kept[0].batch.last_sequence) == (1, 2)
    log.reopen()
    assert log.log.producer_state.producers[7].last_sequence == 2
    log.log.producer_state.remove_expired(log.clock.now_ms() + 10**9, 1)
    log.clean()
    assert [stored.batch.producer_id for stored in log.stored()] == [-1]


def test_a_map_that_is_too_small_cleans_in_several_runs() -> None:
    log = CompactedLog()
    for number in range(40):
        log.append((b"k%d" % (number % 10), b"%d" % number))
    log.roll()
    runs = 0
    while log.clean_offset != 40:
        log.clean(budget_bytes=4 * ENTRY_BYTES)
        runs += 1
        assert runs <= 10
    assert runs > 1
    offsets = [offset for offset, _, _ in log.records()]
    assert offsets[-10:] == list(range(30, 40))
    assert offsets == list(range(30, 40))
