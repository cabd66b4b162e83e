"""What only the machine's file system does: short writes, pages that are not in memory, locks between processes."""

from __future__ import annotations

import errno
import fcntl
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from moldau.records.batch import Buffer
from moldau.storage.disk_files import DiskFile, DiskFiles

LOCK_IN_ANOTHER_PROCESS = """
import fcntl, sys
with open(sys.argv[1], "r+b") as file:
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        print("locked")
    else:
        print("free")
"""


def lock_state(path: Path) -> str:
    command = [sys.executable, "-S", "-c", LOCK_IN_ANOTHER_PROCESS, str(path)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def open_descriptors(path: Path) -> int:
    """Of one file: what else the process has open comes and goes with the threads of other tests."""
    return sum(is_open_on(int(each.name), path) for each in Path("/dev/fd").iterdir())


def is_open_on(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except OSError:  # the descriptor of the listing itself, or of another thread
        return False


class Writes:
    """Lets each write through to so many bytes, and then fails."""

    def __init__(self, bytes_max: int, bytes_left: int) -> None:
        self.bytes_max = bytes_max
        self.bytes_left = bytes_left
        self._pwrite = os.pwrite

    def pwrite(self, descriptor: int, data: Buffer, position: int) -> int:
        size = min(self.bytes_max, self.bytes_left, len(data))
        if not size:
            raise OSError(errno.ENOSPC, "full")
        self.bytes_left -= size
        return self._pwrite(descriptor, data[:size], position)

    def pwritev(self, descriptor: int, parts: Sequence[Buffer], position: int) -> int:
        return self.pwrite(descriptor, b"".join(parts), position)


def test_short_writes_are_carried_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = DiskFiles().open(tmp_path / "log", create=True)
    writes = Writes(bytes_max=7, bytes_left=1000)
    monkeypatch.setattr(os, "pwrite", writes.pwrite)
    monkeypatch.setattr(os, "pwritev", writes.pwritev)
    file.append(bytes(range(100)))
    file.append_parts([bytes(range(100, 150)), bytes(range(150, 200))])
    assert file.size == 200
    assert file.read(200, 0) == bytes(range(200))


@pytest.mark.parametrize("as_parts", [False, True])
def test_an_append_that_fails_leaves_the_file_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, as_parts: bool
) -> None:
    file = DiskFiles().open(tmp_path / "log", create=True)
    file.append(b"acknowledged")
    with monkeypatch.context() as patch:
        writes = Writes(bytes_max=7, bytes_left=20)
        patch.setattr(os, "pwrite", writes.pwrite)
        patch.setattr(os, "pwritev", writes.pwritev)
        with pytest.raises(OSError, match="full") as raised:
            file.append_parts([bytes(10), bytes(20)]) if as_parts else file.append(bytes(30))
    assert raised.value.errno == errno.ENOSPC
    assert file.size == 12
    assert (tmp_path / "log").read_bytes() == b"acknowledged"
    file.append(b", and more")
    assert (tmp_path / "log").read_bytes() == b"acknowledged, and more"


def test_a_write_of_nothing_does_not_go_on_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = DiskFiles().open(tmp_path / "log", create=True)
    monkeypatch.setattr(os, "pwrite", lambda *_: 0)
    with pytest.raises(OSError, match="wrote nothing"):
        file.append(b"abc")


def test_what_is_not_in_memory_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = DiskFiles().open(tmp_path / "log", create=True)
    file.append(bytes(100))

    def reads_part(descriptor: int, buffers: Sequence[bytearray], position: int, flags: int) -> int:
        return 40

    def reads_nothing(descriptor: int, buffers: Sequence[bytearray], position: int, flags: int) -> int:
        raise BlockingIOError(errno.EAGAIN, "not now")

    def fails(descriptor: int, buffers: Sequence[bytearray], position: int, flags: int) -> int:
        raise OSError(errno.EIO, "bad sector")

    monkeypatch.setattr(os, "preadv", reads_part)
    assert file.read_now(100, 0) is None
    assert bytes(file.read_now(50, 60) or b"") == bytes(40)
    monkeypatch.setattr(os, "preadv", reads_nothing)
    assert file.read_now(100, 0) is None
    monkeypatch.setattr(os, "preadv", fails)
    with pytest.raises(OSError, match="bad sector"):
        file.read_now(100, 0)


@pytest.mark.skipif(not hasattr(os, "posix_fadvise"), reason="pages cannot be dropped from the page cache here")
def test_a_cold_file_is_read_by_waiting_only(tmp_path: Path) -> None:
    file = DiskFiles().open(tmp_path / "log", create=True)
    file.append(bytes(1 << 20))
    file.sync()
    descriptor = os.open(tmp_path / "log", os.O_RDONLY)
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(descriptor)
    now = file.read_now(1 << 20, 0)
    assert now is None or len(now) == 1 << 20, "all of it or nothing"
    assert len(file.read(1 << 20, 0)) == 1 << 20
    warm = file.read_now(1 << 20, 0)
    assert warm is not None
    assert len(warm) == 1 << 20


def test_files_and_mappings_close_with_their_last_reference(tmp_path: Path) -> None:
    path = tmp_path / "index"
    file = DiskFiles().open(path, create=True)
    file.map(4096)
    assert open_descriptors(path) > 0
    del file
    assert open_descriptors(path) == 0
    closed = DiskFiles().open(path)
    closed.map(4096)
    closed.close()
    closed.close()
    assert open_descriptors(path) == 0


def test_a_directory_is_removed_without_what_its_links_point_to(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "kept").touch()
    (tmp_path / "t-0").mkdir()
    (tmp_path / "t-0" / "log").touch()
    (tmp_path / "t-0" / "link").symlink_to(tmp_path / "elsewhere")
    DiskFiles().remove_tree(tmp_path / "t-0")
    assert not (tmp_path / "t-0").exists()
    assert (tmp_path / "elsewhere" / "kept").exists()


def test_a_partition_on_another_disk_is_a_link_and_is_removed_with_it(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "log").touch()
    (tmp_path / "logs" / "t-0").symlink_to(tmp_path / "other")
    assert DiskFiles().directories(tmp_path / "logs") == ["t-0"]
    DiskFiles().remove_tree(tmp_path / "logs" / "t-0")
    assert DiskFiles().names(tmp_path / "logs") == []
    assert DiskFiles().names(tmp_path / "other") == []


def test_a_descriptor_is_not_inherited(tmp_path: Path) -> None:
    file = DiskFiles().open(tmp_path / "log", create=True)
    assert isinstance(file, DiskFile)
    assert fcntl.fcntl(file._descriptor, fcntl.F_GETFD) & fcntl.FD_CLOEXEC


def test_a_lock_is_one_that_other_processes_see(tmp_path: Path) -> None:
    path = tmp_path / ".lock"
    lock = DiskFiles().lock(path)
    assert lock is not None
    assert lock_state(path) == "locked"
    assert DiskFiles().lock(path) is None
    assert lock_state(path) == "locked", "a second try in this process must not drop the lock"
    lock.release()
    path.touch()
    assert lock_state(path) == "free"


def test_a_lock_that_another_process_holds_is_not_taken(tmp_path: Path) -> None:
    path = tmp_path / ".lock"
    hold = (
        "import fcntl, sys; f = open(sys.argv[1], 'wb'); fcntl.lockf(f, fcntl.LOCK_EX); print(1, flush=True); input()"
    )
    command = [sys.executable, "-S", "-c", hold, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert DiskFiles().lock(path) is None
        process.communicate(b"\n")
    lock = DiskFiles().lock(path)
    assert lock is not None, "a lock file that was left over does not matter"
    lock.release()


def test_a_lock_on_a_file_that_was_just_removed_is_taken_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / ".lock"
    lockf = fcntl.lockf
    removals = iter([path.unlink])

    def remove_first(descriptor: int, operation: int) -> None:
        next(removals, lambda: None)()
        lockf(descriptor, operation)

    monkeypatch.setattr(fcntl, "lockf", remove_first)
    lock = DiskFiles().lock(path)
    assert lock is not None
    assert lock_state(path) == "locked"
    lock.release()
