"""Faults of a file system on demand: errors of chosen operations on chosen files, and a disk that fills up.

`FaultyFiles` stands before any `Files`, the machine's or a `SimulatedDisk`. An operation is named after its method of
`Files` or `File`, and all composite ones (`replace_bytes`, `remove_tree` …) go through those. Failing every operation
from the n-th on, and crashing the simulated disk then, is a crash between any two operations.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from moldau.records.batch import Buffer
from moldau.storage.files import File, Files, Lock, Mapping
from moldau.testing.disk import SimulatedFile


@dataclass
class _Fault:
    operation: str
    path_pattern: str
    error: int
    after: int  # matching calls that still go well
    times: int | None  # how many then fail; None is all

    def strikes(self, operation: str, paths: tuple[Path, ...]) -> bool:
        if not fnmatchcase(operation, self.operation):
            return False
        if not any(fnmatchcase(str(path), self.path_pattern) for path in paths):
            return False
        if self.after:
            self.after -= 1
            return False
        if self.times is None:
            return True
        self.times -= 1
        return self.times >= 0


class FaultyFiles(Files):
    def __init__(self, files: Files) -> None:
        self._files = files
        self._faults: list[_Fault] = []
        self._bytes_left: int | None = None
        self.operations = 0
        """How many operations there were, the failed ones included."""

    def fail(
        self,
        operation: str,
        path_pattern: str = "*",
        error: int = errno.EIO,
        after: int = 0,
        times: int | None = None,
    ) -> None:
        """Fail an operation (`*` is any) on paths that match, after so many went well, and so many times.

        `read_now` with EAGAIN answers that the bytes are not in the page cache.
        """
        self._faults.append(_Fault(operation, path_pattern, error, after, times))

    def fill_up(self, after_bytes: int = 0) -> None:
        """No room for more than so many bytes; what goes beyond them is written in part and then fails."""
        self._bytes_left = after_bytes

    def heal(self) -> None:
        """Work again."""
        self._faults.clear()
        self._bytes_left = None

    @contextmanager
    def unbroken(self) -> Iterator[None]:
        """For whoever looks from outside: meanwhile no fault strikes, and none is used up."""
        faults, self._faults = self._faults, []
        try:
            yield
        finally:
            self._faults = faults

    def check(self, operation: str, *paths: Path) -> None:
        self.operations += 1
        for fault in self._faults:
            if fault.strikes(operation, paths):
                raise OSError(fault.error, os.strerror(fault.error), str(paths[0]))

    def take_room(self, size: int) -> int:
        """How many of so many bytes have room."""
        if self._bytes_left is None:
            return size
        room = min(size, self._bytes_left)
        self._bytes_left -= room
        return room

    def open(self, path: Path, create: bool = False) -> File:
        self.check("open", path)
        return FaultyFile(self._files.open(path, create), path, self)

    def names(self, directory: Path) -> list[str]:
        self.check("names", directory)
        return self._files.names(directory)

    def directories(self, directory: Path) -> list[str]:
        self.check("directories", directory)
        return self._files.directories(directory)

    def exists(self, path: Path) -> bool:
        self.check("exists", path)
        return self._files.exists(path)

    def size(self, path: Path) -> int:
        self.check("size", path)
        return self._files.size(path)

    def modified_ms(self, path: Path) -> int:
        self.check("modified_ms", path)
        return self._files.modified_ms(path)

    def set_modified_ms(self, path: Path, time_ms: int) -> None:
        self.check("set_modified_ms", path)
        self._files.set_modified_ms(path, time_ms)

    def make_directory(self, path: Path) -> None:
        self.check("make_directory", path)
        self._files.make_directory(path)

    def rename(self, old: Path, new: Path) -> None:
        self.check("rename", old, new)
        self._files.rename(old, new)

    def remove(self, path: Path) -> None:
        self.check("remove", path)
        self._files.remove(path)

    def remove_directory(self, path: Path) -> None:
        self.check("remove_directory", path)
        self._files.remove_directory(path)

    def sync_directory(self, path: Path) -> None:
        self.check("sync_directory", path)
        self._files.sync_directory(path)

    def lock(self, path: Path) -> Lock | None:
        self.check("lock", path)
        return self._files.lock(path)

    def total_bytes(self, path: Path) -> int:
        self.check("total_bytes", path)
        return self._files.total_bytes(path)

    def usable_bytes(self, path: Path) -> int:
        self.check("usable_bytes", path)
        usable = self._files.usable_bytes(path)
        return usable if self._bytes_left is None else min(usable, self._bytes_left)


class FaultyFile(File):
    """A file whose operations may fail; it is the inner one otherwise."""

    __slots__ = ("_faults", "_file", "_path")

    def __init__(self, file: File, path: Path, faults: FaultyFiles) -> None:
        super().__init__(file.size)
        self._file = file
        self._path = path
        self._faults = faults

    def append(self, data: Buffer) -> None:
        self._faults.check("append", self._path)
        room = self._faults.take_room(len(data))
        if room < len(data):
            self._file.append(data[:room])
            self._file.truncate(self.size)  # as every file does with an append that failed
            raise _no_space(self._path)
        self._file.append(data)
        self.size = self._file.size

    def append_parts(self, parts: Sequence[Buffer]) -> None:
        self.append(b"".join(parts))

    def read(self, size: int, position: int) -> bytes:
        self._faults.check("read", self._path)
        return self._file.read(size, position)

    def read_into(self, buffer: memoryview, position: int) -> int:
        self._faults.check("read", self._path)
        return self._file.read_into(buffer, position)

    def read_now(self, size: int, position: int) -> Buffer | None:
        try:
            self._faults.check("read_now", self._path)
        except BlockingIOError:
            return None
        return self._file.read_now(size, position)

    def truncate(self, size: int) -> None:
        self._faults.check("truncate", self._path)
        self._file.truncate(size)
        self.size, self.mapping = self._file.size, None

    def preallocate(self, size: int) -> None:
        self._faults.check("preallocate", self._path)
        if self._faults.take_room(size - self.size) < size - self.size:
            raise _no_space(self._path)
        self._file.preallocate(size)

    def map(self, size: int) -> Mapping:
        self._faults.check("map", self._path)
        self.mapping = mapping = self._file.map(size)
        self.size = self._file.size
        return mapping

    def reserve(self, start: int, end: int) -> None:
        self._faults.check("reserve", self._path)
        if self._faults.take_room(end - start) < end - start:
            raise _no_space(self._path)
        self._file.reserve(start, end)

    def sync(self) -> None:
        try:
            self._faults.check("sync", self._path)
        except OSError:
            if isinstance(self._file, SimulatedFile):
                self._file.fail_sync()
            raise
        self._file.sync()

    def close(self) -> None:
        self.mapping = None
        self._file.close()


def _no_space(path: Path) -> OSError:
    return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
