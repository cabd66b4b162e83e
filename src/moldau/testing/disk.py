"""A disk in memory that forgets: what was written and not synced may be gone, or torn, after a crash.

`crash` is the loss of power: what it may do is in `page_cache`.
`kill` is the death of the process alone: the page cache outlives it. After either, open files are dead and locks free.
A synced file whose name was not synced with its directory may be gone: some file systems are kinder than that.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random

from moldau.base.clock import Clock, VirtualClock
from moldau.records.batch import Buffer
from moldau.storage.files import File, Files, Lock
from moldau.testing.page_cache import Directory, Inode, Resize, Write

TOTAL_BYTES = 1 << 40


class _Life:
    """The process that files were opened by; when it is over, they are of no use."""

    is_over = False


class SimulatedFile(File):
    __slots__ = ("_clock", "_inode", "_life")

    def __init__(self, inode: Inode, life: _Life, clock: Clock) -> None:
        super().__init__(len(inode.content))
        self._inode = inode
        self._life: _Life | None = life
        self._clock = clock

    def append(self, data: Buffer) -> None:
        self._change(Write(self.size, bytes(data)))
        self.size += len(data)

    def append_parts(self, parts: Sequence[Buffer]) -> None:
        self.append(b"".join(parts))

    def read(self, size: int, position: int) -> bytes:
        self._check_open()
        return bytes(self._inode.content[position : position + size])

    def read_into(self, buffer: memoryview, position: int) -> int:
        data = self.read(len(buffer), position)
        buffer[: len(data)] = data
        return len(data)

    def read_now(self, size: int, position: int) -> Buffer | None:
        return self.read(size, position)

    def truncate(self, size: int) -> None:
        self.mapping = None
        self._change(Resize(size))
        self.size = size

    def preallocate(self, size: int) -> None:
        if len(self._inode.content) < size:
            self._change(Resize(size))

    def map(self, size: int) -> bytearray:
        if len(self._inode.content) < size:
            self._change(Resize(size))
        self.size = len(self._inode.content)
        mapping = self._inode.map()
        self.mapping = mapping
        return mapping

    def reserve(self, start: int, end: int) -> None:
        self._change(Write(start, bytes(end - start)))

    def sync(self) -> None:
        self._check_open()
        self._inode.sync()

    def fail_sync(self) -> None:
        """What a sync that failed leaves; Linux drops the bytes, and the next sync succeeds without them."""
        self._inode.lose_changes()

    def close(self) -> None:
        self.mapping = None
        self._life = None

    def _change(self, change: Write | Resize) -> None:
        self._check_open()
        self._inode.change(change, self._clock.now_ms())

    def _check_open(self) -> None:
        if self._life is None or self._life.is_over:
            raise OSError(errno.EBADF, "the file was closed, or opened before a crash")


class SimulatedLock(Lock):
    def __init__(self, disk: SimulatedDisk, path: Path, life: _Life) -> None:
        self._disk = disk
        self._path = path
        self._life = life

    def release(self) -> None:
        if not self._life.is_over:
            self._life.is_over = True
            self._disk.remove(self._path)


class SimulatedDisk(Files):
    """A file system of its own, empty but for the root directory."""

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or VirtualClock()
        self._root = Directory(self._clock.now_ms())
        self._life = _Life()
        self._locks: dict[Path, _Life] = {}

    def crash(self, random: Random) -> None:
        """Power goes: what was not synced is lost or kept by chance."""
        self._root.crash(random)
        self.kill()

    def kill(self) -> None:
        """The process goes: nothing is lost."""
        self._life.is_over = True
        self._life = _Life()
        for lock in self._locks.values():
            lock.is_over = True

    def open(self, path: Path, create: bool = False) -> File:
        directory = self._directory(path.parent)
        node = directory.names.get(path.name)
        if node is None and create:
            node = Inode(self._clock.now_ms())
            directory.change({path.name: node})
        return SimulatedFile(_inode(path, node), self._life, self._clock)

    def names(self, directory: Path) -> list[str]:
        return list(self._directory(directory).names)

    def directories(self, directory: Path) -> list[str]:
        names = self._directory(directory).names
        return [name for name, node in names.items() if isinstance(node, Directory)]

    def exists(self, path: Path) -> bool:
        try:
            self._node(path)
        except FileNotFoundError:
            return False
        return True

    def size(self, path: Path) -> int:
        return len(_inode(path, self._node(path)).content)

    def modified_ms(self, path: Path) -> int:
        return self._node(path).modified_ms

    def set_modified_ms(self, path: Path, time_ms: int) -> None:
        self._node(path).modified_ms = time_ms

    def make_directory(self, path: Path) -> None:
        parent = self._directory(path.parent)
        node = parent.names.get(path.name)
        if node is None:
            parent.change({path.name: Directory(self._clock.now_ms())})
        elif isinstance(node, Inode):
            raise _error(errno.EEXIST, path)

    def rename(self, old: Path, new: Path) -> None:
        assert old.parent == new.parent, "a rename stays in its directory"
        node, directory = self._node(old), self._directory(old.parent)
        replaced = directory.names.get(new.name)
        if replaced is node:
            return
        if isinstance(replaced, Directory):
            if isinstance(node, Inode):
                raise _error(errno.EISDIR, new)
            if replaced.names:
                raise _error(errno.ENOTEMPTY, new)
        elif isinstance(replaced, Inode) and isinstance(node, Directory):
            raise _error(errno.ENOTDIR, new)
        directory.change({old.name: None, new.name: node})

    def remove(self, path: Path) -> None:
        if self.exists(path):
            _inode(path, self._node(path))
            self._directory(path.parent).change({path.name: None})

    def remove_directory(self, path: Path) -> None:
        if self.exists(path):
            if self._directory(path).names:
                raise _error(errno.ENOTEMPTY, path)
            self._directory(path.parent).change({path.name: None})

    def sync_directory(self, path: Path) -> None:
        self._directory(path).sync()

    def lock(self, path: Path) -> Lock | None:
        held = self._locks.get(path)
        if held is not None and not held.is_over:
            return None
        self.open(path, create=True)
        self._locks[path] = life = _Life()
        return SimulatedLock(self, path, life)

    def total_bytes(self, path: Path) -> int:
        self._node(path)
        return TOTAL_BYTES

    def usable_bytes(self, path: Path) -> int:
        self._node(path)
        return TOTAL_BYTES - sum(len(inode.content) for inode in _inodes(self._root))

    def _node(self, path: Path) -> Inode | Directory:
        assert path.is_absolute(), path
        node: Inode | Directory = self._root
        for name in path.parts[1:]:
            if isinstance(node, Inode):
                raise _error(errno.ENOTDIR, path)
            found = node.names.get(name)
            if found is None:
                raise _error(errno.ENOENT, path)
            node = found
        return node

    def _directory(self, path: Path) -> Directory:
        node = self._node(path)
        if isinstance(node, Inode):
            raise _error(errno.ENOTDIR, path)
        return node


def _inode(path: Path, node: Inode | Directory | None) -> Inode:
    if node is None:
        raise _error(errno.ENOENT, path)
    if isinstance(node, Directory):
        raise _error(errno.EISDIR, path)
    return node


def _inodes(directory: Directory) -> Iterator[Inode]:
    for node in directory.names.values():
        if isinstance(node, Inode):
            yield node
        else:
            yield from _inodes(node)


def _error(number: int, path: Path) -> OSError:
    return OSError(number, os.strerror(number), str(path))
