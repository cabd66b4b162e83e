"""The seam between storage and the file system: everything in a data directory is read and written through `Files`.

The seam exists for three reasons. A disk can be simulated that loses and tears what was not synced; faults can be
injected; and what costs time is visible: every method here may wait for a disk, except `File.append` into the page
cache, `File.read_now` and what is said about maps.

Durability is the caller's to order, as in POSIX: bytes of a file survive a crash after `File.sync`, its name after
`Files.sync_directory` of its directory. `Files.replace_bytes` does both in the order that leaves the old bytes or the
new ones and nothing else.

An OSError passes through unchanged: to the caller it says that the log directory has failed. After a failed `sync`
nothing more may be written to the file, since the kernel has dropped the bytes and the next sync would succeed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from mmap import mmap
from pathlib import Path
from typing import TypeAlias

from moldau.base.errors import MoldauError
from moldau.records.batch import Buffer

Mapping: TypeAlias = mmap | bytearray

TEMPORARY_SUFFIX = ".tmp"


class CorruptFile(MoldauError):
    """A file of the data directory holds what was never written to it; the caller rebuilds it or refuses to start."""

    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(f"{path}: {problem}")
        self.path = path


class File(ABC):
    """One open file, without a buffer of its own. Reads and syncs may run in any thread; writes in one at a time.

    It is closed by `close`, or when the last reference to it goes: so a file that was evicted from `OpenFiles` while a
    thread still reads or syncs it stays open for that thread, and its descriptor is not given to another file.
    """

    __slots__ = ("__weakref__", "is_kept", "is_recent", "mapping", "pins", "size")

    size: int
    """Where the next append goes; less than the file's size on disk after `preallocate`."""

    mapping: Mapping | None
    """What `map` made, as long as it is there."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.mapping = None
        self.is_kept = True  # these three belong to OpenFiles
        self.is_recent = True
        self.pins = 0

    @abstractmethod
    def append(self, data: Buffer) -> None:
        """Write all of `data` at `size`, or raise and leave the file as it was."""

    @abstractmethod
    def append_parts(self, parts: Sequence[Buffer]) -> None:
        """As `append` of all parts, one after the other, without joining them."""

    @abstractmethod
    def read(self, size: int, position: int) -> bytes:
        """`size` bytes from `position`; fewer at the end of the file."""

    @abstractmethod
    def read_into(self, buffer: memoryview, position: int) -> int:
        """Fill a buffer from `position` on; how many bytes came, fewer than it holds at the end of the file."""

    @abstractmethod
    def read_now(self, size: int, position: int) -> Buffer | None:
        """As `read`, or None when some of it would have to come from the disk."""

    @abstractmethod
    def truncate(self, size: int) -> None:
        """Cut to `size`, or down from a preallocated size; ends the mapping."""

    @abstractmethod
    def preallocate(self, size: int) -> None:
        """Give the file `size` bytes on disk without moving the place of the next append."""

    @abstractmethod
    def map(self, size: int) -> Mapping:
        """The file in memory, writable; it grows to `size` first if it is smaller, without taking space on disk.

        One mapping at a time: it is kept until `truncate`, `close` or a `map` that is larger.
        """

    @abstractmethod
    def reserve(self, start: int, end: int) -> None:
        """Take space on disk for a part of the mapping, and fill it with zeros.

        A store into a page without space ends the process when the disk is full; here it is an OSError.
        """

    @abstractmethod
    def sync(self) -> None:
        """Make the bytes and the size durable, stores into the mapping included."""

    @abstractmethod
    def close(self) -> None: ...


def no_file() -> None:
    """Stands where a weak reference to a file will be."""


class Lock(ABC):
    """A log directory that is ours until we let go."""

    @abstractmethod
    def release(self) -> None:
        """Remove the lock file and let go of it."""


class Files(ABC):
    """The operations of a file system that storage needs; safe to call in any thread."""

    @abstractmethod
    def open(self, path: Path, create: bool = False) -> File:
        """Open for reading and writing; `create` makes a missing file, and keeps the bytes of one that exists."""

    @abstractmethod
    def names(self, directory: Path) -> list[str]:
        """The names in a directory, in no order."""

    @abstractmethod
    def directories(self, directory: Path) -> list[str]:
        """The names of the directories, and of links to such, in a directory, in no order."""

    @abstractmethod
    def exists(self, path: Path) -> bool: ...

    @abstractmethod
    def size(self, path: Path) -> int: ...

    @abstractmethod
    def modified_ms(self, path: Path) -> int: ...

    @abstractmethod
    def set_modified_ms(self, path: Path, time_ms: int) -> None: ...

    @abstractmethod
    def make_directory(self, path: Path) -> None:
        """Make a directory whose parent exists, unless it is there already."""

    @abstractmethod
    def rename(self, old: Path, new: Path) -> None:
        """Rename within one directory, over a file that has the new name."""

    @abstractmethod
    def remove(self, path: Path) -> None:
        """Remove a file; a missing one is none to remove."""

    @abstractmethod
    def remove_directory(self, path: Path) -> None:
        """Remove an empty directory, or a link to one; a missing one is none to remove."""

    @abstractmethod
    def sync_directory(self, path: Path) -> None:
        """Make what was created, renamed and removed in a directory durable."""

    @abstractmethod
    def lock(self, path: Path) -> Lock | None:
        """Lock a file, made if need be, against this process and others; None if somebody holds it."""

    @abstractmethod
    def total_bytes(self, path: Path) -> int:
        """The size of the file system."""

    @abstractmethod
    def usable_bytes(self, path: Path) -> int:
        """The part of it that is free for us."""

    def read_bytes(self, path: Path) -> bytes:
        """All bytes of a file."""
        file = self.open(path)
        try:
            return file.read(file.size, 0)
        finally:
            file.close()

    def replace_bytes(self, path: Path, data: bytes, sync: bool = True) -> None:
        """Give a file new bytes at once: a crash at any moment leaves all of the old or all of the new.

        Without `sync` that holds for a crash of the process alone.
        """
        temporary = path.with_name(path.name + TEMPORARY_SUFFIX)
        file = self.open(temporary, create=True)
        try:
            if file.size:
                file.truncate(0)
            file.append(data)
            if sync:
                file.sync()
        finally:
            file.close()
        self.rename(temporary, path)
        if sync:
            self.sync_directory(path.parent)

    def remove_tree(self, path: Path) -> None:
        """Remove a directory and all in it, but nothing that links in it point to; what is gone is none to remove."""
        try:
            names = self.names(path)
        except FileNotFoundError:
            return
        for name in names:
            try:
                self.remove(path / name)
            except (IsADirectoryError, PermissionError):  # the second is what macOS says of a directory
                self.remove_tree(path / name)
        self.remove_directory(path)
