"""Segments of a cleaned log: how they are grouped, swapped, and recovered after a crash at any step."""

from __future__ import annotations

import errno
from random import Random

import pytest

from moldau.base.errors import CorruptRecord
from moldau.storage.cleaner.grouping import GROUP_SEGMENTS_MAX, group_segments
from moldau.storage.cleaner.pace import CleaningAborted
from moldau.storage.log_settings import LogSettings
from moldau.storage.log_truncation import truncate_to
from moldau.testing.disk import SimulatedDisk
from moldau.testing.disk_faults import FaultyFiles
from tests.unit.storage.compacted_log import SETTINGS, CompactedLog, latest


def written(log: CompactedLog, segments: int = 4, keys: int = 3) -> CompactedLog:
    """Segments of ten records each, and an active one with one."""
    for segment in range(segments):
        for number in range(10):
            log.append((b"k%d" % (number % keys), b"%d" % (segment * 10 + number)))
        log.roll()
    log.append((b"head", b"0"))
    return log


def test_segments_are_cleaned_into_one_under_the_first_base_offset() -> None:
    log = written(CompactedLog())
    statistics = log.clean()
    assert [segment.base_offset for segment in log.log.segments] == [0, 40]
    assert (statistics.segments_before, statistics.segments_after) == (4, 1)
    assert (statistics.records_read, statistics.records_written) == (40, 3)
    names = log.files.names(log.place.directory)
    assert "00000000000000000010.log.deleted" in names
    log.clock.advance(log.settings.file_delete_delay_ms)
    assert log.log.remove_due_files(log.clock.now_ms()) == 4
    assert not [name for name in log.files.names(log.place.directory) if name.endswith(".deleted")]
    log.check_files()


def test_an_emptied_segment_keeps_its_name() -> None:
    log = CompactedLog(settings=LogSettings(compact=True, delete=False, segment_index_bytes=4096, segment_bytes=300))
    for number in range(6):
        log.append((b"a", b"%0100d" % number))
    log.roll()
    log.clean()
    sizes = {segment.base_offset: segment.size_bytes for segment in log.log.segments}
    assert list(sizes) == [0, 1, 2, 3, 4, 5, 6]
    assert [base for base, size in sizes.items() if size] == [5]
    for kind in ("log", "index", "timeindex"):
        assert log.files.size(log.place.directory / f"{1:020d}.{kind}") == 0
    log.check_files()
    log.reopen()
    log.check_files()
    assert [offset for offset, _, _ in log.records()] == [5]


def test_groups_keep_within_bytes_index_sizes_offsets_and_number() -> None:
    log = written(CompactedLog(), segments=GROUP_SEGMENTS_MAX + 6)
    segments = list(log.log.segments)[:-1]
    size_bytes = segments[1].size_bytes

    def lengths(settings: LogSettings, end_offset: int = 10_000) -> list[int]:
        return [len(group) for group in group_segments(segments[:6], settings, end_offset)]

    assert lengths(SETTINGS) == [6]
    assert lengths(LogSettings(segment_bytes=2 * size_bytes + 10)) == [2, 2, 2]
    assert lengths(LogSettings(segment_bytes=1)) == [1] * 6
    assert lengths(SETTINGS, end_offset=1 << 31) == [6]
    assert lengths(SETTINGS, end_offset=(1 << 31) + 1) == [5, 1]
    assert [len(group) for group in group_segments(segments, SETTINGS, 10_000)] == [GROUP_SEGMENTS_MAX, 6]


def test_the_modification_time_is_that_of_the_last_source() -> None:
    log = written(CompactedLog())
    log.files.set_modified_ms(list(log.log.segments)[3].path, 12345)
    log.clean()
    assert log.files.modified_ms(log.log.segments.first.path) == 12345


def test_a_reader_of_an_old_segment_can_finish() -> None:
    log = written(CompactedLog())
    old = log.log.segments.first
    data = old.file.read(old.size_bytes, 0)
    log.clean()
    assert old.file.read(old.size_bytes, 0) == data


@pytest.mark.slow
@pytest.mark.parametrize("power_fails", [False, True])
def test_a_crash_between_any_two_operations_leaves_the_old_or_the_new(power_fails: bool) -> None:
    crashes = 0
    for operation in range(1, 400):
        disk = SimulatedDisk()
        files = FaultyFiles(disk)
        log = written(CompactedLog(files))
        log.log.flush()
        before = log.records()
        log.append((b"k1", b"last"))
        log.roll()
        log.log.flush()
        files.fail("*", after=operation)
        try:
            log.clean()
        except OSError:
            crashes += 1
        else:
            break
        files.heal()
        if power_fails:
            disk.crash(Random(operation))
        else:
            disk.kill()
        log.reopen()
        log.check_files()
        assert latest(log.records()) == latest([*before, (41, b"k1", b"last")])
        log.clean()
        log.check_files()
        assert [offset for offset, _, _ in log.records()] == [38, 39, 40, 41]
    assert crashes > 40


def test_a_cleaning_that_is_aborted_leaves_nothing_behind() -> None:
    log = written(CompactedLog())
    names = sorted(log.files.names(log.place.directory))
    before = log.records()
    cleaning = log.cleaning()
    cleaning.pace.aborted = True
    with pytest.raises(CleaningAborted):
        cleaning.run()
    assert log.records() == before
    assert sorted(log.files.names(log.place.directory)) == names


def test_a_log_that_was_truncated_meanwhile_is_left_alone() -> None:
    log = written(CompactedLog())
    cleaning = log.cleaning()
    chosen = cleaning.cleanable
    truncate_to(log.log, 15)
    before = log.records()
    with pytest.raises((CleaningAborted, CorruptRecord)):
        log.cleaning(chosen).run()
    assert log.records() == before
    log.check_files()


def test_a_damaged_batch_stops_the_cleaning_and_changes_nothing() -> None:
    log = written(CompactedLog())
    damaged = list(log.log.segments)[2]
    names = sorted(log.files.names(log.place.directory))
    data = bytearray(damaged.file.read(damaged.size_bytes, 0))
    data[-1] ^= 1
    damaged.file.truncate(0)
    damaged.file.append(data)
    with pytest.raises(CorruptRecord):
        log.clean()
    assert sorted(log.files.names(log.place.directory)) == names


@pytest.mark.parametrize("operation", ["append", "sync", "rename", "open"])
def test_a_disk_error_is_the_callers(operation: str) -> None:
    files = FaultyFiles(SimulatedDisk())
    log = written(CompactedLog(files))
    files.fail(operation, "*.cleaned", error=errno.ENOSPC)
    with pytest.raises(OSError, match="No space left"):
        log.clean()
    files.heal()
    log.reopen()
    log.check_files()
    assert len(log.records()) == 41


def test_a_rename_that_fails_loses_nothing() -> None:
    failures = 0
    for number in range(100):
        disk = SimulatedDisk()
        files = FaultyFiles(disk)
        log = written(CompactedLog(files))
        before = log.records()
        log.log.flush()
        files.fail("rename", after=number, times=1)
        try:
            log.clean()
        except OSError:
            failures += 1
        else:
            break
        disk.kill()
        log.reopen()
        log.check_files()
        assert latest(log.records()) == latest(before)
    assert failures == 3 + 4 * 3 + 3
