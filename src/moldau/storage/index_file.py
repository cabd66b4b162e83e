"""What the offset index and the time index of a segment have in common: sorted entries of two integers in a file.

An index is in one of two states. While its segment is appended to, the file has the full size that the settings give
it, is mapped, and an append is a store into memory: Kafka's layout, a zero-filled sparse file. After `trim` it has
the size of its entries, no mapping and no memory; a search reads a few blocks through `OpenFiles`. The first append
brings the first state about, so opening a log touches no index at all.

A mapping is dangerous in one way: a store into a page that the full disk has no room for ends the process. So room is
reserved page by page before the store, where it fails as any write does. Searches in trimmed indexes are reads for
the same reason: a bad sector is an OSError there.

Nothing here is needed to survive a crash, since an index is rebuilt from its segment; after a clean stop it is trimmed.
A killed process leaves the full size with zeros after the last entry, which is why entries are counted and not computed
from the size. An entry of zeros is never written, except as the first of a time index, where it says nothing.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from itertools import starmap
from mmap import PAGESIZE
from pathlib import Path
from struct import Struct
from typing import ClassVar
from weakref import ref

from moldau.records.batch import Buffer
from moldau.storage.files import CorruptFile, File, Mapping, no_file
from moldau.storage.open_files import OpenFiles

Entry = tuple[int, int]
_Read = Callable[[int, int], Buffer | None]

_NOT_COUNTED = -1
_ENTRIES_MAX_LEAST = 2  # a time index keeps one for its end
_GUESSES_MAX = 3


class IndexFile:
    """Entries ascending by their first field, which a subclass gives a meaning."""

    ENTRY: ClassVar[Struct]
    NOTHING: ClassVar[Entry]  # stands before the first entry

    __slots__ = ("_entries", "_entries_max", "_last", "_mapped", "_open_files", "_room", "base_offset", "path")

    def __init__(self, open_files: OpenFiles, path: Path, base_offset: int, max_bytes: int) -> None:
        """Opens nothing; `path` may be set again when the file is renamed, after `OpenFiles.forget`."""
        self.path = path
        self.base_offset = base_offset
        self._open_files = open_files
        self._entries_max = max(_ENTRIES_MAX_LEAST, max_bytes // self.ENTRY.size)
        self._entries = _NOT_COUNTED
        self._last = self.NOTHING
        self._mapped: Callable[[], File | None] = no_file  # as long as `OpenFiles` keeps it
        self._room = _NOT_COUNTED  # entries for which there is space on disk; none before they are counted

    @property
    def entries(self) -> int:
        if self._entries == _NOT_COUNTED:
            self._count()
        return self._entries

    @property
    def size_bytes(self) -> int:
        """The bytes of the entries, which is the file's size once it is trimmed."""
        return self.entries * self.ENTRY.size

    def preallocate(self) -> None:
        """Make the file if it is missing, and give it the full size."""
        file = self._open_files.get(self.path, create=True)
        if file.size < self._full_bytes:
            file.truncate(self._full_bytes)
            self._mapped = no_file

    def trim(self) -> None:
        """Cut the file to its entries and end the mapping: the segment is not appended to for now."""
        size = self.size_bytes
        self._mapped = no_file
        self._open_files.get(self.path, create=not size).truncate(size)
        self._room = self._entries

    def reset(self) -> None:
        """Remove all entries, to build them again."""
        self._set(0, self.NOTHING)
        self.trim()

    def sync(self) -> None:
        """Make the entries durable; may run in any thread."""
        file = self._open_files.files.open(self.path)
        try:
            file.sync()
        finally:
            file.close()

    def check(self) -> None:
        """`CorruptFile` if the entries cannot be those of this segment, as far as a look at the ends tells."""
        size = self._open_files.files.size(self.path)
        if size % self.ENTRY.size:
            raise CorruptFile(self.path, f"its size {size} is no multiple of an entry's {self.ENTRY.size} bytes")
        if self.entries and self._last < self._entry(self._file(), 0):
            raise CorruptFile(self.path, f"its last entry {self._last} is less than its first")

    @property
    def _last_entry(self) -> Entry:
        if self._entries == _NOT_COUNTED:
            self._count()
        return self._last

    @property
    def _full_bytes(self) -> int:
        # Larger than the settings say if they were lowered while the segment grew: its last entry must fit.
        return max(self._entries_max, self.entries + 1) * self.ENTRY.size

    def _set(self, entries: int, last: Entry) -> None:
        self._entries = entries
        self._last = last

    def _file(self) -> File:
        return self._open_files.get(self.path)

    def _entry(self, file: File, slot: int) -> Entry:
        size = self.ENTRY.size
        return self._unpack(file.read(size, slot * size), 0, slot)

    def _unpack(self, data: Buffer | Mapping, position: int, slot: int) -> Entry:
        if len(data) < position + self.ENTRY.size:
            raise CorruptFile(self.path, f"it ends before entry {slot}")
        first, second = self.ENTRY.unpack_from(data, position)
        return first, second

    def _count(self) -> None:
        """Find out how many entries there are: all that fit into the file, less the zeros at its end."""
        try:
            file = self._file()
        except FileNotFoundError:
            self._set(0, self.NOTHING)
            return
        entries = file.size // self.ENTRY.size
        if entries > 1 and self._entry(file, entries - 1) == (0, 0):
            slots = range(1, entries)
            entries = 1 + bisect_left(slots, True, key=lambda slot: self._entry(file, slot) == (0, 0))
            if entries == 1 and self._entry(file, 0) == (0, 0):
                entries = 0
        self._set(entries, self._entry(file, entries - 1) if entries else self.NOTHING)

    def _make_room(self, count: int = 1) -> File:
        """Map the file if it is not mapped, and take space for more entries, in whole pages, if there is none."""
        size, entries = self.ENTRY.size, self.entries
        file = self._open_files.get(self.path, create=not entries)
        mapping = file.map(self._full_bytes)
        self._mapped = ref(file)
        if entries + count > self._room:
            start = entries * size
            end = min(-(-(start + count * size) // PAGESIZE) * PAGESIZE, len(mapping))
            file.reserve(start, end)
            self._room = end // size
        return file

    def _append(self, first: int, second: int) -> None:
        """Where there is room and a mapping, the subclasses do the same themselves: it is the hot path of every log."""
        mapping = self._make_room().mapping
        assert mapping is not None
        self.ENTRY.pack_into(mapping, self._entries * self.ENTRY.size, first, second)
        self._set(self._entries + 1, (first, second))

    def extend(self, entries: Sequence[Entry]) -> None:
        """Append entries that ascend and for which there is room; the first field is relative as in the file."""
        if not entries:
            return
        assert self._last_entry < entries[0] <= entries[-1], (self.path, self._last, entries[0])
        assert self.room >= len(entries), self.path
        mapping = self._make_room(len(entries)).mapping
        assert mapping is not None
        start = self._entries * self.ENTRY.size
        data = b"".join(starmap(self.ENTRY.pack, entries))
        mapping[start : start + len(data)] = data
        self._set(self._entries + len(entries), entries[-1])

    @property
    def room(self) -> int:
        """How many entries fit, beside the last one of a time index."""
        return self._entries_max - 1 - self.entries

    def _truncate_to(self, bound: int, field: int) -> None:
        """Remove the entries that have at least `bound` in a field.

        Their bytes become zeros or go, so that there is never anything but zeros after the last entry.
        """
        if not self.entries or self._last[field] < bound:
            return
        file = self._file()
        entries = bisect_left(range(self._entries), bound, key=lambda slot: self._entry(file, slot)[field])
        last = self._entry(file, entries - 1) if entries else self.NOTHING
        size = self.ENTRY.size
        if file.mapping is None:
            file.truncate(entries * size)
            self._mapped = no_file
            self._room = entries
        else:
            file.mapping[entries * size : self._entries * size] = bytes((self._entries - entries) * size)
        self._set(entries, last)

    def _find(self, first: int, now: bool) -> Entry | None:
        """The last entry whose first field is at most `first`, or NOTHING.

        With `now`, None if the disk would have to be waited for.
        """
        if not self.entries or first >= self._last[0]:
            return self._last
        file = self._mapped() or self._file()
        file.is_recent = True
        if file.mapping is None:
            return self._search(file.read_now if now else file.read, first)
        count = self._entries_at_most(file.mapping, self._entries, first)
        return self._unpack(file.mapping, (count - 1) * self.ENTRY.size, count) if count else self.NOTHING

    def _entries_at_most(self, data: Buffer | Mapping, entries: int, first: int) -> int:
        """How many entries of a block have a first field that is at most `first`.

        A loop, because it is faster than `bisect` with a key.
        """
        unpack, size = self.ENTRY.unpack_from, self.ENTRY.size
        low, high = 0, entries
        while low < high:
            middle = (low + high) >> 1
            if unpack(data, middle * size)[0] <= first:
                low = middle + 1
            else:
                high = middle
        return low

    def _search(self, read: _Read, first: int) -> Entry | None:
        """Look into one block after the other.

        The first are those where the entry must be if entries are evenly spread between the ends, as they mostly are,
        so that one or two blocks are enough; the others halve what is left.
        """
        size = self.ENTRY.size
        block_entries = PAGESIZE // size
        data = read(size, 0)
        if data is None:
            return None
        low, low_entry = 1, self._unpack(data, 0, 0)
        if first < low_entry[0]:
            return self.NOTHING
        high, high_first = self._entries, self._last[0]
        guesses = 0
        while low < high:
            guess = (low + high) // 2
            if guesses < _GUESSES_MAX and high_first > low_entry[0]:
                guess = low + (first - low_entry[0]) * (high - low) // (high_first - low_entry[0])
            guesses += 1
            start = max(low, min(guess - block_entries // 2, high - block_entries))
            end = min(start + block_entries, high)
            data = read((end - start) * size, start * size)
            if data is None:
                return None
            last_entry = self._unpack(data, (end - start - 1) * size, end - 1)
            if last_entry[0] <= first:
                low, low_entry = end, last_entry
                continue
            count = self._entries_at_most(data, end - start, first)
            if count:
                return self._unpack(data, (count - 1) * size, start)
            high, high_first = start, self._unpack(data, 0, start)[0]
        return low_entry
