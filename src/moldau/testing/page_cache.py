"""What is written and what is on the disk: the files and directories of a `SimulatedDisk`.

Every file has two images: what its readers see (the page cache) and what is on the disk for sure, which `sync` makes
equal; between them lie the changes since. Every directory has the names that are seen, the names that are on the disk
for sure, and a journal of the changes since.

`crash` draws for each directory how many changes of its journal, in order, reached the disk, as a journaling file
system does it. For each file it draws how many writes and truncations reached the disk in order, how much of the next
write did, and what is after that: nothing, zeros, garbage, or some sectors of what was to be there. Of a file that was
mapped or written in the middle, any of the changed pages may be there. The same draws come from the same seed.
"""

from __future__ import annotations

from enum import Enum, auto
from random import Random
from typing import NamedTuple

PAGE_BYTES = 4096
SECTOR_BYTES = 512


class _Tail(Enum):
    """What a crash leaves where bytes were on their way."""

    NOTHING = auto()
    ZEROS = auto()
    GARBAGE = auto()
    SECTORS = auto()


class Write(NamedTuple):
    position: int
    data: bytes

    def apply(self, image: bytearray) -> None:
        image.extend(bytes(max(0, self.position - len(image))))
        image[self.position : self.position + len(self.data)] = self.data


class Resize(NamedTuple):
    size: int

    def apply(self, image: bytearray) -> None:
        del image[self.size :]
        image.extend(bytes(self.size - len(image)))


class Inode:
    """The bytes of a file, as they are seen and as they are on the disk."""

    def __init__(self, now_ms: int) -> None:
        self.modified_ms = now_ms
        self.content = bytearray()
        self._durable = bytearray()
        self._changes: list[Write | Resize] = []
        self._is_written_in_place = False

    def change(self, change: Write | Resize, now_ms: int) -> None:
        if isinstance(change, Write) and change.position < len(self._durable):
            self._is_written_in_place = True
        change.apply(self.content)
        self._changes.append(change)
        self.modified_ms = now_ms

    def map(self) -> bytearray:
        self._is_written_in_place = True
        return self.content

    def sync(self) -> None:
        if self._is_written_in_place:
            self._durable = bytearray(self.content)
        else:
            for change in self._changes:
                change.apply(self._durable)
        self._changes.clear()

    def lose_changes(self) -> None:
        """What a failed sync does: the changes are seen for now, but no later sync writes them."""
        self._changes.clear()

    def crash(self, random: Random) -> None:
        image = self._durable
        count = random.randint(0, len(self._changes))
        for change in self._changes[:count]:
            change.apply(image)
        if count < len(self._changes) and isinstance(torn := self._changes[count], Write):
            Write(torn.position, torn.data[: random.randint(0, len(torn.data))]).apply(image)
        self._add_tail(image, random)
        if self._is_written_in_place:
            self._keep_some_pages(image, random)
        self.content, self._durable = image, bytearray(image)
        self._changes.clear()
        self._is_written_in_place = False

    def _add_tail(self, image: bytearray, random: Random) -> None:
        missing = random.randint(0, max(0, len(self.content) - len(image)))
        tail = random.choice(list(_Tail))
        if tail is _Tail.ZEROS:
            image.extend(bytes(missing))
        elif tail is _Tail.GARBAGE:
            image.extend(random.randbytes(missing))
        elif tail is _Tail.SECTORS:
            for start in range(len(image), len(image) + missing, SECTOR_BYTES):
                sector = self.content[start : start + SECTOR_BYTES]
                image.extend(sector if random.random() < 0.5 else bytes(len(sector)))

    def _keep_some_pages(self, image: bytearray, random: Random) -> None:
        for start in range(0, min(len(image), len(self.content)), PAGE_BYTES):
            page = self.content[start : min(start + PAGE_BYTES, len(image))]
            if page != image[start : start + len(page)] and random.random() < 0.5:
                image[start : start + len(page)] = page


class Directory:
    """Names, as they are seen and as they are on the disk."""

    def __init__(self, now_ms: int) -> None:
        self.modified_ms = now_ms
        self.names: dict[str, Inode | Directory] = {}
        self._durable: dict[str, Inode | Directory] = {}
        self._journal: list[dict[str, Inode | Directory | None]] = []

    def change(self, names: dict[str, Inode | Directory | None]) -> None:
        """One step that happens or does not: what each name stands for afterwards."""
        _apply(names, self.names)
        self._journal.append(names)

    def sync(self) -> None:
        self._durable = dict(self.names)
        self._journal.clear()

    def crash(self, random: Random) -> None:
        for names in self._journal[: random.randint(0, len(self._journal))]:
            _apply(names, self._durable)
        self._journal.clear()
        self.names = dict(self._durable)
        for node in self.names.values():
            node.crash(random)


def _apply(change: dict[str, Inode | Directory | None], names: dict[str, Inode | Directory]) -> None:
    for name, node in change.items():
        if node is None:
            names.pop(name, None)
        else:
            names[name] = node
