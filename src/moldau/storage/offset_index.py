"""The offset index of a segment, `<base offset>.index`: where in the `.log` file to look for an offset.

    entry: int32 last offset of a batch, less the base offset | int32 position of that batch in the file

Entries are sparse: one for at most `index.interval.bytes` of batches, and none for the first batch of the segment. A
search finds the last entry at or before an offset, and the batches are walked from its position on.
"""

from __future__ import annotations

from struct import Struct
from typing import NamedTuple

from moldau.storage.files import CorruptFile
from moldau.storage.index_file import Entry, IndexFile

_INT32_MAX = (1 << 31) - 1
_ENTRY = Struct(">ii")
_ENTRY_BYTES = _ENTRY.size
_pack_into = _ENTRY.pack_into


class OffsetPosition(NamedTuple):
    """The last offset of a batch, and the batch's position in its segment."""

    offset: int
    position: int


class OffsetIndex(IndexFile):
    """Offsets ascend strictly, and positions with them."""

    ENTRY = _ENTRY
    NOTHING = (0, 0)

    __slots__ = ()

    @property
    def last_offset(self) -> int:
        """The last entry's offset, or the base offset."""
        return self.base_offset + self._last_entry[0]

    @property
    def is_full(self) -> bool:
        return self.entries >= self._entries_max

    def append(self, offset: int, position: int) -> bool:
        """Whether the index is full now."""
        relative_offset = offset - self.base_offset
        assert self._last[0] < relative_offset <= _INT32_MAX, (self.path, offset, self.last_offset)
        assert 0 < position <= _INT32_MAX, (self.path, position)
        file, entries = self._mapped(), self._entries
        if file is None or entries >= self._room:
            assert self.entries < self._entries_max, self.path
            self._append(relative_offset, position)
            return self._entries >= self._entries_max
        file.is_recent = True
        _pack_into(file.mapping, entries * _ENTRY_BYTES, relative_offset, position)  # type: ignore[arg-type]
        self._last = relative_offset, position
        self._entries = entries = entries + 1
        return entries >= self._entries_max

    def lookup(self, offset: int) -> OffsetPosition:
        """The last entry at or before `offset`, or the start of the segment."""
        return self._absolute(self._find(offset - self.base_offset, now=False) or self.NOTHING)

    def lookup_now(self, offset: int) -> OffsetPosition | None:
        """As `lookup`, or None if the disk would have to be waited for."""
        entry = self._find(offset - self.base_offset, now=True)
        return None if entry is None else self._absolute(entry)

    def truncate_to(self, offset: int) -> None:
        """Remove the entries at and after `offset`."""
        self._truncate_to(offset - self.base_offset, field=0)

    def check(self) -> None:
        super().check()
        if self.last_offset < self.base_offset:
            raise CorruptFile(self.path, f"its last offset {self.last_offset} is before the segment's first")

    def _absolute(self, entry: Entry) -> OffsetPosition:
        return OffsetPosition(self.base_offset + entry[0], entry[1])
