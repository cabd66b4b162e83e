"""Open files are bounded in number, and what is in use is never closed under its user."""

from __future__ import annotations

from pathlib import Path
from threading import Thread

import pytest

from moldau.storage.disk_files import DiskFiles
from moldau.storage.files import File
from moldau.storage.open_files import OpenFiles
from moldau.testing.disk import SimulatedDisk
from moldau.testing.disk_faults import FaultyFiles

DIRECTORY = Path("/logs")


def disk_with(count: int) -> FaultyFiles:
    disk = SimulatedDisk()
    disk.make_directory(DIRECTORY)
    for number in range(count):
        disk.open(DIRECTORY / str(number), create=True).append(b"%d" % number)
    return FaultyFiles(disk)


def opened(files: FaultyFiles, open_files: OpenFiles, number: int) -> bool:
    """Whether asking for a file opens it."""
    before = files.operations
    open_files.get(DIRECTORY / str(number))
    return files.operations > before


def test_no_more_files_are_open_than_the_limit() -> None:
    files = disk_with(20)
    open_files = OpenFiles(files, limit=5)
    for number in range(20):
        assert open_files.get(DIRECTORY / str(number)).read(9, 0) == b"%d" % number
        assert len(open_files) == min(number + 1, 5)
    assert not opened(files, open_files, 19)
    assert opened(files, open_files, 0)


def test_what_was_asked_for_lately_stays() -> None:
    files = disk_with(10)
    open_files = OpenFiles(files, limit=3)
    for number in range(3):
        opened(files, open_files, number)
    opened(files, open_files, 3)  # takes all marks off, and 0 out
    for number in (1, 4, 1, 5, 1, 6):
        opened(files, open_files, number)
    assert not opened(files, open_files, 1)


def test_a_pinned_file_stays_even_over_the_limit() -> None:
    files = disk_with(10)
    open_files = OpenFiles(files, limit=2)
    pinned = [open_files.pin(DIRECTORY / str(number)) for number in range(3)]
    assert len(open_files) == 3
    open_files.get(DIRECTORY / "5")
    open_files.get(DIRECTORY / "6")
    assert [open_files.get(DIRECTORY / str(number)) for number in range(3)] == pinned
    for number in range(3):
        open_files.unpin(DIRECTORY / str(number))
    open_files.get(DIRECTORY / "7")
    assert len(open_files) == 2


def test_pins_are_counted() -> None:
    files = disk_with(5)
    open_files = OpenFiles(files, limit=1)
    open_files.pin(DIRECTORY / "0")
    open_files.pin(DIRECTORY / "0")
    open_files.unpin(DIRECTORY / "0")
    opened(files, open_files, 1)
    assert not opened(files, open_files, 0)
    open_files.unpin(DIRECTORY / "0")
    open_files.unpin(DIRECTORY / "0")
    opened(files, open_files, 2)
    opened(files, open_files, 3)
    assert opened(files, open_files, 0)


def test_an_evicted_file_stays_open_for_who_holds_it(tmp_path: Path) -> None:
    open_files = OpenFiles(DiskFiles(), limit=1)
    held = open_files.get(tmp_path / "a", create=True)
    held.append(b"a")
    for _ in range(2):
        open_files.get(tmp_path / "b", create=True).append(b"b")
        open_files.get(tmp_path / "c", create=True)
    held.sync()
    assert held.read(1, 0) == b"a"
    assert not held.is_kept
    assert open_files.get(tmp_path / "a") is not held


def test_a_forgotten_file_is_opened_anew_under_its_name() -> None:
    files = disk_with(3)
    open_files = OpenFiles(files, limit=10)
    open_files.get(DIRECTORY / "0")
    open_files.pin(DIRECTORY / "1")
    open_files.forget(DIRECTORY / "0")
    open_files.forget(DIRECTORY / "2")
    files.rename(DIRECTORY / "0", DIRECTORY / "0.deleted")
    files.rename(DIRECTORY / "2", DIRECTORY / "0")
    assert open_files.get(DIRECTORY / "0").read(9, 0) == b"2"
    for partition in ("t-0", "t-01"):
        files.make_directory(DIRECTORY / partition)
        open_files.get(DIRECTORY / partition / "log", create=True)
    open_files.forget_directory(DIRECTORY / "t-0")
    assert len(open_files) == 3
    kept = open_files.get(DIRECTORY / "0")
    assert kept.is_kept
    open_files.clear()
    assert len(open_files) == 0
    assert not kept.is_kept


def test_a_file_that_cannot_be_opened_evicts_nothing() -> None:
    files = disk_with(2)
    open_files = OpenFiles(files, limit=1)
    opened(files, open_files, 0)
    with pytest.raises(FileNotFoundError):
        open_files.get(DIRECTORY / "missing")
    assert not opened(files, open_files, 0)


def test_threads_get_the_files_they_ask_for(tmp_path: Path) -> None:
    paths = [tmp_path / str(number) for number in range(30)]
    for path in paths:
        path.write_bytes(path.name.encode())
    open_files = OpenFiles(DiskFiles(), limit=4)
    wrong: list[File] = []

    def read(start: int) -> None:
        for step in range(600):
            path = paths[(start + step * 7) % len(paths)]
            file = open_files.get(path)
            if file.read(9, 0) != path.name.encode():
                wrong.append(file)

    threads = [Thread(target=read, args=(start,)) for start in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert len(open_files) == 4
