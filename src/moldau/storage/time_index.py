"""The time index of a segment, `<base offset>.timeindex`: from which offset on a timestamp can be found.

    entry: int64 largest timestamp so far in the segment | int32 offset of the record that has it, less the base offset

An entry is added along with one of the offset index, and only if a larger timestamp has come since the last one; so
both fields ascend although timestamps in the log need not. When the segment ends, its largest timestamp gets a last
entry, for which one place is always kept free: retention and searches by time read it.
"""

from __future__ import annotations

from struct import Struct
from typing import NamedTuple

from moldau.records.record import NO_TIMESTAMP
from moldau.storage.files import CorruptFile
from moldau.storage.index_file import Entry, IndexFile

_INT32_MAX = (1 << 31) - 1


class TimestampOffset(NamedTuple):
    """A timestamp and the offset of the record that has it."""

    timestamp: int
    offset: int


class TimeIndex(IndexFile):
    """Timestamps ascend strictly, offsets do not descend."""

    ENTRY = Struct(">qi")
    NOTHING = (NO_TIMESTAMP, 0)

    __slots__ = ()

    @property
    def last(self) -> TimestampOffset:
        """The largest timestamp that has an entry, or no timestamp at the base offset."""
        return self._absolute(self._last_entry)

    @property
    def is_full(self) -> bool:
        """Whether only the place for the last entry is left."""
        return self.entries >= self._entries_max - 1

    def append(self, timestamp: int, offset: int, on_roll: bool = False) -> bool:
        """Add the largest timestamp so far, unless the last entry has it; `on_roll` takes the place kept free.

        Whether there is room only for the last entry now.
        """
        entries = self._entries
        if entries < 0:
            entries = self.entries
        relative_offset = offset - self.base_offset
        last_timestamp, last_relative_offset = self._last
        assert timestamp >= last_timestamp, (self.path, timestamp, last_timestamp)
        if timestamp == last_timestamp:
            return entries >= self._entries_max - 1
        assert last_relative_offset <= relative_offset <= _INT32_MAX, (self.path, offset)
        assert on_roll or entries < self._entries_max - 1, self.path
        self._append(timestamp, relative_offset)
        return entries + 1 >= self._entries_max - 1

    def lookup(self, timestamp: int) -> TimestampOffset:
        """The last entry at or before `timestamp`, or no timestamp at the base offset.

        A record with a larger timestamp is not before the entry's offset.
        """
        return self._absolute(self._find(timestamp, now=False) or self.NOTHING)

    def truncate_to(self, offset: int) -> None:
        """Remove the entries at and after `offset`."""
        self._truncate_to(offset - self.base_offset, field=1)

    def check(self) -> None:
        super().check()
        if self.last.offset < self.base_offset:
            raise CorruptFile(self.path, f"its last offset {self.last.offset} is before the segment's first")

    def _absolute(self, entry: Entry) -> TimestampOffset:
        return TimestampOffset(entry[0], self.base_offset + entry[1])
