"""The machine's file system behind the seam `Files`.

Writes go to a position that is counted here and not to the end of the file: a preallocated file has its end elsewhere,
and a write that failed half way is overwritten by the next one.

`sync` is fdatasync: it writes the bytes and as much metadata as is needed to read them back, so the size too, and only
leaves out times. On Linux that includes pages changed through a mapping. macOS empties the disk's own cache only when
asked by F_FULLFSYNC.

`read_now` asks Linux for what the page cache holds (RWF_NOWAIT), so that the event loop never waits for a disk;
elsewhere nobody can be asked, and it reads.
"""

from __future__ import annotations

import errno
import fcntl
import mmap
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from moldau.records.batch import Buffer
from moldau.storage.disk_lock import DiskLock, lock_file
from moldau.storage.files import File, Files
from moldau.storage.read_buffers import ReadBuffers

_PARTS_MAX = 1024  # IOV_MAX of Linux and macOS
_READ_NOW_FLAG: int = getattr(os, "RWF_NOWAIT", 0)
_buffers = ReadBuffers()
_NOT_NOW = frozenset({errno.EAGAIN, errno.EOPNOTSUPP, errno.ENOSYS})  # the last two are answers of a file system


class DiskFile(File):
    """An open file of the machine."""

    __slots__ = ("_descriptor",)

    mapping: mmap.mmap | None

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        super().__init__(os.fstat(descriptor).st_size)

    def append(self, data: Buffer) -> None:
        size = self.size
        try:
            written = os.pwrite(self._descriptor, data, size)
            if written < len(data):
                self._write(memoryview(data)[written:], size + written)
        except OSError:
            self._undo_append()
            raise
        self.size = size + len(data)

    def append_parts(self, parts: Sequence[Buffer]) -> None:
        if len(parts) > _PARTS_MAX:
            self.append(b"".join(parts))
            return
        length = sum(map(len, parts))
        try:
            written = os.pwritev(self._descriptor, parts, self.size)
            if written < length:
                self._write(memoryview(b"".join(parts))[written:], self.size + written)
        except OSError:
            self._undo_append()
            raise
        self.size += length

    def _undo_append(self) -> None:
        with suppress(OSError):
            os.ftruncate(self._descriptor, self.size)

    def _write(self, data: memoryview, position: int) -> None:
        """What a short write left; the disk is about to be full, or the data is larger than one call takes."""
        while data:
            written = os.pwrite(self._descriptor, data, position)
            if written == 0:
                raise OSError(errno.EIO, "a write wrote nothing")
            data = data[written:]
            position += written

    def read(self, size: int, position: int) -> bytes:
        return os.pread(self._descriptor, size, position)

    def read_into(self, buffer: memoryview, position: int) -> int:
        return os.preadv(self._descriptor, (buffer,), position)

    def read_now(self, size: int, position: int) -> Buffer | None:
        if not _READ_NOW_FLAG:
            return os.pread(self._descriptor, size, position)
        data = _buffers.take(size)
        try:
            length = os.preadv(self._descriptor, (data,), position, _READ_NOW_FLAG)
        except OSError as error:
            if error.errno not in _NOT_NOW:
                raise
            return None
        if length < size:
            if position + length < os.fstat(self._descriptor).st_size:
                return None  # the rest is not in the page cache
            return data[:length]
        return data

    def truncate(self, size: int) -> None:
        self._unmap()
        os.ftruncate(self._descriptor, size)
        self.size = size

    def preallocate(self, size: int) -> None:
        if sys.platform == "darwin":
            if os.fstat(self._descriptor).st_size < size:
                os.ftruncate(self._descriptor, size)
        else:
            os.posix_fallocate(self._descriptor, 0, size)

    def map(self, size: int) -> mmap.mmap:
        mapping = self.mapping
        if mapping is not None:
            if len(mapping) >= size:
                return mapping
            self._unmap()
        if self.size < size:
            os.ftruncate(self._descriptor, size)
            self.size = size
        self.mapping = mapping = mmap.mmap(self._descriptor, self.size)
        return mapping

    def reserve(self, start: int, end: int) -> None:
        # By writing and not by fallocate, which some file systems do not have; the page cache is one and the same.
        self._write(memoryview(bytes(end - start)), start)

    if sys.platform == "darwin":

        def sync(self) -> None:
            fcntl.fcntl(self._descriptor, fcntl.F_FULLFSYNC)
    else:

        def sync(self) -> None:
            os.fdatasync(self._descriptor)

    def close(self) -> None:
        self._unmap()
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    def _unmap(self) -> None:
        mapping, self.mapping = self.mapping, None
        if mapping is not None:
            mapping.close()

    def __del__(self) -> None:
        # Not through `close`: a mapping whose memory is still looked at goes with the last view of it.
        if self._descriptor >= 0:
            os.close(self._descriptor)


class DiskFiles(Files):
    """The file system of the machine."""

    def open(self, path: Path, create: bool = False) -> File:
        flags = os.O_RDWR | os.O_CLOEXEC
        return DiskFile(os.open(path, flags | os.O_CREAT if create else flags, 0o644))

    def names(self, directory: Path) -> list[str]:
        with os.scandir(directory) as entries:
            return [entry.name for entry in entries]

    def directories(self, directory: Path) -> list[str]:
        with os.scandir(directory) as entries:
            return [entry.name for entry in entries if entry.is_dir()]

    def exists(self, path: Path) -> bool:
        return path.exists()

    def size(self, path: Path) -> int:
        return path.stat().st_size

    def modified_ms(self, path: Path) -> int:
        return path.stat().st_mtime_ns // 1_000_000

    def set_modified_ms(self, path: Path, time_ms: int) -> None:
        os.utime(path, ns=(time_ms * 1_000_000, time_ms * 1_000_000))

    def make_directory(self, path: Path) -> None:
        path.mkdir(exist_ok=True)

    def rename(self, old: Path, new: Path) -> None:
        assert old.parent == new.parent, "a rename stays in its directory"
        old.replace(new)

    def remove(self, path: Path) -> None:
        path.unlink(missing_ok=True)

    def remove_directory(self, path: Path) -> None:
        with suppress(FileNotFoundError):
            if path.is_symlink():
                path.unlink()
            else:
                path.rmdir()

    def sync_directory(self, path: Path) -> None:
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def lock(self, path: Path) -> DiskLock | None:
        return lock_file(path)

    def total_bytes(self, path: Path) -> int:
        status = os.statvfs(path)
        return status.f_frsize * status.f_blocks

    def usable_bytes(self, path: Path) -> int:
        status = os.statvfs(path)
        return status.f_frsize * status.f_bavail
