"""Faults come where and when they were asked for, over the machine's disk and over a simulated one."""

from __future__ import annotations

import errno
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from moldau.storage.disk_files import DiskFiles
from moldau.testing.disk import SimulatedDisk
from moldau.testing.disk_faults import FaultyFiles


@pytest.fixture
def files() -> FaultyFiles:
    return FaultyFiles(DiskFiles())


@pytest.mark.parametrize(
    "operation",
    [
        "open",
        "names",
        "directories",
        "exists",
        "size",
        "modified_ms",
        "set_modified_ms",
        "make_directory",
        "rename",
        "remove",
        "remove_directory",
        "sync_directory",
        "lock",
        "total_bytes",
        "usable_bytes",
        "append",
        "append_parts",
        "read",
        "read_now",
        "truncate",
        "preallocate",
        "map",
        "reserve",
        "sync",
    ],
)
def test_every_operation_can_fail(files: FaultyFiles, tmp_path: Path, operation: str) -> None:
    path = tmp_path / "file"
    file = files.open(path, create=True)
    calls: dict[str, Callable[[], object]] = {
        "rename": lambda: files.rename(path, tmp_path / "other"),
        "set_modified_ms": lambda: files.set_modified_ms(path, 0),
        "append": lambda: file.append(b"x"),
        "append_parts": lambda: file.append_parts([b"x"]),
        "read": lambda: file.read(1, 0),
        "read_now": lambda: file.read_now(1, 0),
        "truncate": lambda: file.truncate(0),
        "preallocate": lambda: file.preallocate(10),
        "map": lambda: file.map(10),
        "reserve": lambda: file.reserve(0, 10),
        "sync": file.sync,
    }
    call = calls.get(operation) or (lambda: getattr(files, operation)(path))
    files.fail("append" if operation == "append_parts" else operation, "*/file", errno.EROFS, times=1)
    with pytest.raises(OSError, match="Read-only") as raised:
        call()
    assert raised.value.errno == errno.EROFS
    assert raised.value.filename == str(path)
    assert path.exists()


def test_a_fault_strikes_the_paths_and_the_calls_that_were_asked_for(files: FaultyFiles, tmp_path: Path) -> None:
    log, index = (files.open(tmp_path / name, create=True) for name in ("0.log", "0.index"))
    files.fail("append", "*.log", errno.EIO, after=2, times=1)
    log.append(b"1")
    index.append(b"1")
    log.append(b"2")
    with pytest.raises(OSError, match="Input/output"):
        log.append(b"3")
    log.append(b"4")
    assert files.read_bytes(tmp_path / "0.log") == b"124"


def test_a_full_disk_takes_a_part_and_fails(files: FaultyFiles, tmp_path: Path) -> None:
    file = files.open(tmp_path / "log", create=True)
    files.fill_up(after_bytes=10)
    file.append(b"12345678")
    assert files.usable_bytes(tmp_path) == 2
    for _ in range(2):
        with pytest.raises(OSError, match="No space"):
            file.append(b"abcd")
    assert file.size == 8
    with pytest.raises(OSError, match="No space"):
        file.preallocate(20)
    with pytest.raises(OSError, match="No space"):
        file.reserve(0, 1)
    assert (tmp_path / "log").read_bytes() == b"12345678"
    files.heal()
    file.append(b"abcd")
    assert (tmp_path / "log").read_bytes() == b"12345678abcd"


def test_the_part_that_a_full_disk_took_may_be_found_after_a_crash() -> None:
    left = set()
    for seed in range(100):
        disk = SimulatedDisk()
        files = FaultyFiles(disk)
        file = files.open(Path("/log"), create=True)
        file.append(b"abc")
        file.sync()
        files.sync_directory(Path("/"))
        files.fill_up(after_bytes=2)
        with pytest.raises(OSError, match="No space"):
            file.append(b"defg")
        disk.crash(Random(seed))
        left.add(disk.read_bytes(Path("/log")))
    assert {b"abc", b"abcd", b"abcde"} <= left


def test_what_a_failed_sync_was_to_write_is_lost_though_the_next_one_succeeds() -> None:
    disk = SimulatedDisk()
    files = FaultyFiles(disk)
    file = files.open(Path("/log"), create=True)
    files.sync_directory(Path("/"))
    file.append(b"abc")
    files.fail("sync", error=errno.EIO, times=1)
    with pytest.raises(OSError, match="Input/output"):
        file.sync()
    file.append(b"def")
    file.sync()
    assert disk.read_bytes(Path("/log")) == b"abcdef"
    disk.crash(Random(0))
    assert disk.read_bytes(Path("/log")) == b"\0\0\0def"


def test_cold_bytes_are_not_there_now(files: FaultyFiles, tmp_path: Path) -> None:
    file = files.open(tmp_path / "log", create=True)
    file.append(b"abc")
    files.fail("read_now", error=errno.EAGAIN, times=1)
    assert file.read_now(3, 0) is None
    assert bytes(file.read_now(3, 0) or b"") == b"abc"


def test_failing_from_the_nth_operation_on_stops_a_program_there(files: FaultyFiles, tmp_path: Path) -> None:
    files.fail("*", after=3)
    with pytest.raises(OSError, match="Input/output"):
        files.replace_bytes(tmp_path / "file", b"abc")
    assert files.operations == 4
    assert (tmp_path / "file.tmp").read_bytes() == b"abc"


def test_who_looks_from_outside_meets_no_fault_and_uses_none_up(files: FaultyFiles, tmp_path: Path) -> None:
    file = files.open(tmp_path / "log", create=True)
    file.append(b"abc")
    files.fail("read", times=1)
    with files.unbroken():
        assert file.read(3, 0) == b"abc"
    with pytest.raises(OSError, match="Input/output error"):
        file.read(3, 0)
    assert file.read(3, 0) == b"abc"
