"""The contract of `Files`, kept by the machine's file system, the simulated disk and the faulty one alike."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from moldau.storage.disk_files import DiskFiles
from moldau.storage.files import Files
from moldau.testing.disk import SimulatedDisk
from moldau.testing.disk_faults import FaultyFiles

KINDS: dict[str, Callable[[], Files]] = {
    "disk": DiskFiles,
    "simulated": SimulatedDisk,
    "faulty": lambda: FaultyFiles(DiskFiles()),
}


@pytest.fixture(params=KINDS)
def files(request: pytest.FixtureRequest) -> Files:
    return KINDS[request.param]()


@pytest.fixture
def directory(files: Files, tmp_path: Path) -> Path:
    for path in reversed([tmp_path, *tmp_path.parents[:-1]]):
        files.make_directory(path)
    return tmp_path


def test_a_file_is_made_only_when_asked_to(files: Files, directory: Path) -> None:
    with pytest.raises(FileNotFoundError):
        files.open(directory / "log")
    files.open(directory / "log", create=True).append(b"kept")
    assert files.open(directory / "log", create=True).size == 4
    assert files.read_bytes(directory / "log") == b"kept"
    with pytest.raises(FileNotFoundError):
        files.open(directory / "missing" / "log", create=True)
    with pytest.raises(IsADirectoryError):
        files.open(directory)


def test_appends_follow_each_other_and_reads_stop_at_the_end(files: Files, directory: Path) -> None:
    file = files.open(directory / "log", create=True)
    file.append(b"abc")
    file.append(memoryview(bytearray(b"-def-"))[1:4])
    file.append_parts([b"g", bytearray(b"hi"), memoryview(b"jkl")])
    assert file.size == 12
    assert file.read(4, 2) == b"cdef"
    assert file.read(100, 9) == b"jkl"
    assert file.read(100, 12) == file.read(1, 500) == b""
    assert bytes(file.read_now(4, 2) or b"") == b"cdef"
    assert bytes(file.read_now(100, 9) or b"") == b"jkl"
    assert files.size(directory / "log") == 12


def test_a_great_many_parts_are_one_append(files: Files, directory: Path) -> None:
    file = files.open(directory / "log", create=True)
    file.append_parts([b"%04d" % number for number in range(3000)])
    assert file.size == 12_000
    assert file.read(8, 4 * 2998) == b"29982999"


def test_a_truncated_file_goes_on_where_it_was_cut(files: Files, directory: Path) -> None:
    file = files.open(directory / "log", create=True)
    file.append(b"0123456789")
    file.truncate(4)
    file.append(b"x")
    file.sync()
    assert files.read_bytes(directory / "log") == b"0123x"
    file.truncate(8)
    assert files.read_bytes(directory / "log") == b"0123x\0\0\0"


def test_a_preallocated_file_is_appended_to_at_its_start(files: Files, directory: Path) -> None:
    file = files.open(directory / "log", create=True)
    file.preallocate(10_000)
    assert (file.size, files.size(directory / "log")) == (0, 10_000)
    file.append(b"abc")
    assert file.read(5, 0) == b"abc\0\0"
    file.preallocate(5_000)
    assert (file.size, files.size(directory / "log")) == (3, 10_000)
    file.truncate(file.size)
    assert files.read_bytes(directory / "log") == b"abc"


def test_a_mapping_and_the_file_are_one(files: Files, directory: Path) -> None:
    file = files.open(directory / "index", create=True)
    mapping = file.map(8192)
    assert file.mapping is mapping
    assert len(mapping) == files.size(directory / "index") == 8192
    file.reserve(0, 4096)
    mapping[10:13] = b"abc"
    file.sync()
    assert file.read(5, 9) == b"\0abc\0"
    assert file.map(4096) is mapping
    assert len(file.map(12_288)) == 12_288
    file.truncate(13)
    assert not file.mapping
    assert files.read_bytes(directory / "index") == bytes(10) + b"abc"
    assert len(files.open(directory / "index").map(5)) == 13


def test_a_file_outlives_its_name_until_it_is_closed(files: Files, directory: Path) -> None:
    file = files.open(directory / "log", create=True)
    file.append(b"abc")
    files.rename(directory / "log", directory / "log.deleted")
    assert file.read(3, 0) == b"abc"
    files.remove(directory / "log.deleted")
    assert file.read(3, 0) == b"abc"
    assert files.names(directory) == []
    file.close()
    with pytest.raises(OSError, match=r"closed|descriptor"):
        file.read(3, 0)


def test_names_are_made_renamed_and_removed(files: Files, directory: Path) -> None:
    files.make_directory(directory / "t-0")
    files.make_directory(directory / "t-0")
    files.open(directory / "a", create=True).append(b"a")
    files.open(directory / "b", create=True).append(b"bb")
    assert sorted(files.names(directory)) == ["a", "b", "t-0"]
    assert files.directories(directory) == ["t-0"]
    files.rename(directory / "b", directory / "a")
    files.rename(directory / "t-0", directory / "t-1")
    files.sync_directory(directory)
    assert sorted(files.names(directory)) == ["a", "t-1"]
    assert files.size(directory / "a") == 2
    assert files.exists(directory / "t-1")
    assert not files.exists(directory / "t-0")
    files.remove(directory / "a")
    files.remove(directory / "a")
    files.remove_directory(directory / "t-1")
    files.remove_directory(directory / "t-1")
    assert files.names(directory) == []
    with pytest.raises(FileNotFoundError):
        files.rename(directory / "gone", directory / "a")
    with pytest.raises(FileNotFoundError):
        files.names(directory / "t-1")


def test_a_directory_goes_with_all_in_it(files: Files, directory: Path) -> None:
    files.make_directory(directory / "t-0")
    files.make_directory(directory / "t-0" / "inner")
    files.open(directory / "t-0" / "log", create=True)
    files.open(directory / "t-0" / "inner" / "log", create=True)
    with pytest.raises(OSError, match="not empty"):
        files.remove_directory(directory / "t-0")
    files.remove_tree(directory / "t-0")
    files.remove_tree(directory / "t-0")
    assert files.names(directory) == []


def test_replacing_leaves_the_new_bytes_and_no_other_file(files: Files, directory: Path) -> None:
    path = directory / "checkpoint"
    files.replace_bytes(path, b"0\n0\n")
    files.open(directory / "checkpoint.tmp", create=True).append(b"left over by a crash, and longer")
    files.replace_bytes(path, b"0\n1\nt 0 5\n", sync=False)
    assert files.read_bytes(path) == b"0\n1\nt 0 5\n"
    assert files.names(directory) == ["checkpoint"]


def test_a_lock_keeps_others_out_until_it_is_released(files: Files, directory: Path) -> None:
    lock = files.lock(directory / ".lock")
    assert lock is not None
    assert files.lock(directory / ".lock") is None
    assert files.names(directory) == [".lock"]
    lock.release()
    lock.release()
    assert files.names(directory) == []
    again = files.lock(directory / ".lock")
    assert again is not None
    lock.release()
    assert files.lock(directory / ".lock") is None
    again.release()


def test_times_and_room(files: Files, directory: Path) -> None:
    files.open(directory / "log", create=True).append(b"abc")
    assert files.modified_ms(directory / "log") > 1_500_000_000_000
    files.set_modified_ms(directory / "log", 1_234_567_890_123)
    assert files.modified_ms(directory / "log") == 1_234_567_890_123
    assert 0 < files.usable_bytes(directory) < files.total_bytes(directory)
