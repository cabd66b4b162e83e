"""The offset and time indexes of a segment: bytes, sizes, searches, and what is left of them after a death."""

from __future__ import annotations

import errno
from pathlib import Path
from struct import pack

import pytest

from moldau.storage.disk_files import DiskFiles
from moldau.storage.files import CorruptFile, Files
from moldau.storage.offset_index import OffsetIndex
from moldau.storage.open_files import OpenFiles
from moldau.storage.time_index import TimeIndex
from moldau.testing.disk import SimulatedDisk
from moldau.testing.disk_faults import FaultyFiles

KAFKA_MAX_BYTES = 10 * 1024 * 1024
LOGS = Path("/logs")


@pytest.fixture
def open_files() -> OpenFiles:
    disk = SimulatedDisk()
    disk.make_directory(LOGS)
    return OpenFiles(disk, limit=10)


def offset_index(open_files: OpenFiles, base_offset: int = 0, max_bytes: int = 64) -> OffsetIndex:
    return OffsetIndex(open_files, LOGS / "0.index", base_offset, max_bytes)


def time_index(open_files: OpenFiles, base_offset: int = 0, max_bytes: int = 64) -> TimeIndex:
    return TimeIndex(open_files, LOGS / "0.timeindex", base_offset, max_bytes)


def put(files: Files, name: str, data: bytes) -> None:
    file = files.open(LOGS / name, create=True)
    file.truncate(0)
    file.append(data)


def test_an_offset_index_is_kafkas_on_the_machines_disk(tmp_path: Path) -> None:
    open_files = OpenFiles(DiskFiles(), limit=1)
    path = tmp_path / "00000000000000000000.index"
    index = OffsetIndex(open_files, path, 0, KAFKA_MAX_BYTES)
    for offset, position in [(3, 669), (6, 1338), (9, 2007), (12, 2680)]:
        index.append(offset, position)
    assert path.stat().st_size == 10_485_760
    assert path.stat().st_blocks * 512 <= 16_384, "sparse"
    assert path.read_bytes()[:40] == pack(">10i", 3, 669, 6, 1338, 9, 2007, 12, 2680, 0, 0)
    index.trim()
    assert path.read_bytes() == pack(">8i", 3, 669, 6, 1338, 9, 2007, 12, 2680)


def test_a_time_index_is_kafkas_on_the_machines_disk(tmp_path: Path) -> None:
    open_files = OpenFiles(DiskFiles(), limit=1)
    path = tmp_path / "00000000000000000100.timeindex"
    index = TimeIndex(open_files, path, 100, KAFKA_MAX_BYTES)
    index.append(1_700_000_000_000, 103)
    assert path.stat().st_size == 10_485_756
    index.append(1_700_000_000_005, 112, on_roll=True)
    index.trim()
    assert path.read_bytes() == pack(">qiqi", 1_700_000_000_000, 3, 1_700_000_000_005, 12)


def test_an_index_that_was_never_used_touches_no_file(open_files: OpenFiles) -> None:
    index = offset_index(open_files, base_offset=7)
    assert (index.entries, index.last_offset, index.lookup(100)) == (0, 7, (7, 0))
    assert time_index(open_files).last == (-1, 0)
    assert open_files.files.names(LOGS) == []
    index.trim()
    assert open_files.files.size(LOGS / "0.index") == 0


def test_preallocation_gives_the_full_size_before_the_first_entry(open_files: OpenFiles) -> None:
    index = offset_index(open_files, max_bytes=67)
    index.preallocate()
    assert open_files.files.size(LOGS / "0.index") == 64
    assert index.entries == 0
    index.append(4, 5)
    index.preallocate()
    assert index.lookup(4) == (4, 5)


def test_a_lookup_finds_the_last_entry_at_or_before_an_offset(open_files: OpenFiles) -> None:
    index = offset_index(open_files, base_offset=100)
    for offset, position in [(103, 669), (106, 1338), (112, 2680)]:
        index.append(offset, position)
    for trimmed in (False, True):
        if trimmed:
            index.trim()
        found = {offset: index.lookup(offset) for offset in (99, 100, 102, 103, 105, 106, 111, 112, 999)}
        assert found == {
            99: (100, 0),
            100: (100, 0),
            102: (100, 0),
            103: (103, 669),
            105: (103, 669),
            106: (106, 1338),
            111: (106, 1338),
            112: (112, 2680),
            999: (112, 2680),
        }
        assert {offset: index.lookup_now(offset) for offset in found} == found


def test_a_cold_index_is_not_waited_for() -> None:
    disk = SimulatedDisk()
    disk.make_directory(LOGS)
    files = FaultyFiles(disk)
    index = offset_index(OpenFiles(files, limit=10))
    for number in range(1, 9):
        index.append(number, number)
    files.fail("read_now", error=errno.EAGAIN)
    assert index.lookup_now(5) == (5, 5), "a mapped index is in memory"
    index.trim()
    assert index.lookup_now(5) is None
    assert index.lookup(5) == (5, 5)


def test_an_offset_index_is_full_at_the_settings_bytes_rounded_down(open_files: OpenFiles) -> None:
    index = offset_index(open_files, max_bytes=67)
    for number in range(1, 9):
        assert not index.is_full
        index.append(number, number)
    assert index.is_full
    assert open_files.files.size(LOGS / "0.index") == 64
    with pytest.raises(AssertionError):
        index.append(9, 9)


def test_a_time_index_keeps_a_place_for_its_last_entry(open_files: OpenFiles) -> None:
    index = time_index(open_files, max_bytes=67)
    for number in range(4):
        assert not index.is_full
        index.append(number, number)
    assert index.is_full
    with pytest.raises(AssertionError):
        index.append(9, 9)
    index.append(9, 9, on_roll=True)
    index.trim()
    assert open_files.files.size(LOGS / "0.timeindex") == 60


def test_the_last_entry_fits_even_after_the_settings_were_lowered(open_files: OpenFiles) -> None:
    index = time_index(open_files, max_bytes=120)
    for number in range(9):
        index.append(number, number)
    index.trim()
    open_files.clear()
    lowered = time_index(open_files, max_bytes=24)
    assert lowered.is_full
    lowered.append(20, 20, on_roll=True)
    lowered.trim()
    assert (lowered.entries, lowered.last, lowered.lookup(8)) == (10, (20, 20), (8, 8))


def test_entries_that_do_not_ascend_are_a_broken_invariant(open_files: OpenFiles) -> None:
    index = offset_index(open_files, base_offset=10)
    index.append(15, 100)
    for offset, position in [(15, 200), (14, 200), (10 + 2**31, 200), (16, 2**31), (16, 0)]:
        with pytest.raises(AssertionError):
            index.append(offset, position)
    times = time_index(open_files, base_offset=10)
    times.append(1000, 15)
    for timestamp, offset in [(999, 16), (1001, 14), (1001, 10 + 2**31)]:
        with pytest.raises(AssertionError):
            times.append(timestamp, offset)


def test_the_same_largest_timestamp_has_one_entry(open_files: OpenFiles) -> None:
    index = time_index(open_files)
    index.append(1000, 5)
    index.append(1000, 9)
    index.append(1000, 5, on_roll=True)
    assert (index.entries, index.last) == (1, (1000, 5))
    index.append(-1 + 1001, 5)
    assert index.entries == 1


def test_messages_without_timestamps_leave_the_time_index_empty(open_files: OpenFiles) -> None:
    index = time_index(open_files)
    index.append(-1, 5)
    assert index.entries == 0
    index.append(0, 5)
    assert index.last == (0, 5)


def test_a_lookup_by_time_finds_the_last_entry_at_or_before_it(open_files: OpenFiles) -> None:
    index = time_index(open_files, base_offset=100, max_bytes=120)
    for timestamp, offset in [(1000, 103), (1005, 106), (2000, 106)]:
        index.append(timestamp, offset)
    for trimmed in (False, True):
        if trimmed:
            index.trim()
        assert [index.lookup(timestamp) for timestamp in (0, 999, 1000, 1004, 1005, 1999, 2000, 9999)] == [
            (-1, 100),
            (-1, 100),
            (1000, 103),
            (1000, 103),
            (1005, 106),
            (1005, 106),
            (2000, 106),
            (2000, 106),
        ]


@pytest.mark.parametrize("trimmed", [False, True])
@pytest.mark.parametrize(("offset", "kept"), [(0, 0), (3, 0), (4, 1), (6, 1), (7, 2), (12, 3), (13, 4), (99, 4)])
def test_truncation_removes_entries_at_and_after_an_offset(
    open_files: OpenFiles, trimmed: bool, offset: int, kept: int
) -> None:
    index, times = offset_index(open_files), time_index(open_files)
    for number in (3, 6, 9, 12):
        index.append(number, number * 100)
        times.append(number * 1000, number)
    if trimmed:
        index.trim()
        times.trim()
    index.truncate_to(offset)
    times.truncate_to(offset)
    assert index.entries == times.entries == kept
    assert index.last_offset == (3 * kept)
    assert times.last == ((3000 * kept, 3 * kept) if kept else (-1, 0))
    index.append(50, 5000)
    times.append(50_000, 50, on_roll=True)
    assert index.lookup(50) == (50, 5000)
    index.trim()
    times.trim()
    data = open_files.files.read_bytes(LOGS / "0.index")
    assert data == b"".join(pack(">ii", number, number * 100) for number in (3, 6, 9, 12)[:kept]) + pack(
        ">ii", 50, 5000
    )
    assert open_files.files.size(LOGS / "0.timeindex") == 12 * (kept + 1)


def test_a_reset_index_starts_anew(open_files: OpenFiles) -> None:
    index = offset_index(open_files)
    index.append(3, 669)
    index.reset()
    assert (index.entries, index.last_offset, open_files.files.size(LOGS / "0.index")) == (0, 0, 0)
    index.append(2, 100)
    assert index.lookup(3) == (2, 100)


def test_entries_are_counted_and_not_computed_after_a_kill(open_files: OpenFiles) -> None:
    index, times = offset_index(open_files), time_index(open_files)
    for number in (3, 6, 9):
        index.append(number, number * 100)
        times.append(number * 1000, number)
    index.truncate_to(9)
    open_files.clear()
    again, times_again = offset_index(open_files), time_index(open_files)
    assert open_files.files.size(LOGS / "0.index") == 64
    assert (again.entries, again.last_offset, again.lookup(7)) == (2, 6, (6, 600))
    assert (times_again.entries, times_again.last, times_again.lookup(6500)) == (3, (9000, 9), (6000, 6))
    again.append(9, 900)
    again.trim()
    assert open_files.files.read_bytes(LOGS / "0.index") == pack(">6i", 3, 300, 6, 600, 9, 900)


def test_a_full_size_index_without_an_entry_has_none(open_files: OpenFiles) -> None:
    put(open_files.files, "0.index", bytes(64))
    put(open_files.files, "0.timeindex", bytes(60))
    assert offset_index(open_files).entries == time_index(open_files).entries == 0


def test_a_first_entry_of_zeros_counts_in_a_trimmed_time_index(open_files: OpenFiles) -> None:
    index = time_index(open_files)
    index.append(0, 0)
    index.trim()
    open_files.clear()
    assert (time_index(open_files).entries, time_index(open_files).last) == (1, (0, 0))


def test_a_sound_index_passes_its_check(open_files: OpenFiles) -> None:
    index, times = offset_index(open_files), time_index(open_files)
    for number in (3, 6, 9):
        index.append(number, number * 100)
        times.append(number * 1000, number)
    index.check()
    times.check()
    index.trim()
    times.trim()
    index.check()
    times.check()


@pytest.mark.parametrize(
    "data", [bytes(63), pack(">ii", -3, 5), pack(">iiii", 9, 900, 3, 300), b"nonsense" + pack(">ii", 1, 1)]
)
def test_an_offset_index_that_cannot_be_right_is_found_out(open_files: OpenFiles, data: bytes) -> None:
    put(open_files.files, "0.index", data)
    index = offset_index(open_files)
    with pytest.raises(CorruptFile, match=r"/logs/0\.index: "):
        index.check()
    index.reset()
    index.append(3, 300)
    index.check()


@pytest.mark.parametrize("data", [bytes(63), pack(">qi", 5, -3), pack(">qiqi", 9000, 3, 3000, 9)])
def test_a_time_index_that_cannot_be_right_is_found_out(open_files: OpenFiles, data: bytes) -> None:
    put(open_files.files, "0.timeindex", data)
    with pytest.raises(CorruptFile, match=r"/logs/0\.timeindex: "):
        time_index(open_files).check()


def test_an_index_cut_under_its_reader_is_found_out(open_files: OpenFiles) -> None:
    index = offset_index(open_files)
    for number in range(1, 9):
        index.append(number, number)
    index.trim()
    put(open_files.files, "0.index", bytes(8))
    with pytest.raises(CorruptFile, match="ends before entry"):
        index.lookup(4)


def test_a_vanished_index_is_an_error_and_not_an_empty_one(open_files: OpenFiles) -> None:
    index = offset_index(open_files)
    for number in range(1, 9):
        index.append(number, number)
    index.trim()
    open_files.files.remove(LOGS / "0.index")
    open_files.clear()
    with pytest.raises(FileNotFoundError):
        index.lookup(4)


def test_an_append_on_a_full_disk_fails_and_changes_nothing() -> None:
    disk = SimulatedDisk()
    disk.make_directory(LOGS)
    files = FaultyFiles(disk)
    index = offset_index(OpenFiles(files, limit=10), max_bytes=KAFKA_MAX_BYTES)
    for number in range(1, 513):
        index.append(number, number)
    files.fill_up()
    with pytest.raises(OSError, match="No space") as raised:
        index.append(513, 513)
    assert raised.value.errno == errno.ENOSPC
    assert (index.entries, index.last_offset) == (512, 512)
    files.heal()
    index.append(513, 513)
    assert (index.lookup(513), index.lookup(512)) == ((513, 513), (512, 512))


def test_a_mapping_that_was_evicted_is_made_again(tmp_path: Path) -> None:
    open_files = OpenFiles(DiskFiles(), limit=1)
    indexes = [OffsetIndex(open_files, tmp_path / str(number), 0, KAFKA_MAX_BYTES) for number in range(3)]
    for step in range(1, 1200):
        for index in indexes:
            index.append(step, step * 10)
    assert len(open_files) == 1
    for index in indexes:
        index.trim()
        index.sync()
        assert index.path.stat().st_size == index.size_bytes == 1199 * 8
        assert [index.lookup(offset) for offset in (1, 600, 1198)] == [(1, 10), (600, 6000), (1198, 11980)]
