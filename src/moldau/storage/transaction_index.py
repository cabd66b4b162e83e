"""The transaction index of a segment, `<base offset>.txnindex`: the aborted transactions whose end is in the segment.

    entry: int16 version 0 | int64 producer id | int64 first offset | int64 last offset | int64 last stable offset

The last offset is that of the abort marker, which lies in this segment; the first may lie in an earlier one. The last
stable offset is the log's after the abort. Entries come in the order of the markers, so both of these ascend, and a
search can start at the first marker that matters and end at the first entry beyond which nothing can matter. Most
segments have no aborted transaction and so no such file: it is made with the first entry.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from pathlib import Path
from struct import Struct
from typing import NamedTuple

from moldau.storage.files import CorruptFile, File
from moldau.storage.open_files import OpenFiles

_ENTRY = Struct(">hqqqq")
_VERSION = 0
_BLOCK_ENTRIES = 120  # a page
_NOT_COUNTED = -1


class AbortedTransaction(NamedTuple):
    """The offsets from a transaction's first record to its abort marker, and the last stable offset after it."""

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


class TransactionIndex:
    __slots__ = ("_entries", "_last_offset", "_open_files", "base_offset", "path")

    def __init__(self, open_files: OpenFiles, path: Path, base_offset: int) -> None:
        """Opens nothing; `path` may be set again when the file is renamed, after `OpenFiles.forget`."""
        self.path = path
        self.base_offset = base_offset
        self._open_files = open_files
        self._entries = _NOT_COUNTED
        self._last_offset = -1

    @property
    def entries(self) -> int:
        if self._entries == _NOT_COUNTED:
            self._count()
        return self._entries

    def append(self, transaction: AbortedTransaction) -> None:
        entries = self.entries
        assert transaction.last_offset > self._last_offset, (self.path, transaction, self._last_offset)
        file = self._open_files.get(self.path, create=True)
        file.append(_ENTRY.pack(_VERSION, *transaction))
        self._entries = entries + 1
        self._last_offset = transaction.last_offset

    def all(self) -> list[AbortedTransaction]:
        return list(self._from(0)) if self.entries else []

    def collect(self, fetch_offset: int, upper_bound_offset: int) -> tuple[list[AbortedTransaction], bool]:
        """The aborted transactions with an offset in the range, and whether later segments can have no more of them."""
        found: list[AbortedTransaction] = []
        if self.entries and self._last_offset >= fetch_offset:
            for transaction in self._from(self._entries_before(fetch_offset)):
                if transaction.first_offset < upper_bound_offset:
                    found.append(transaction)
                if transaction.last_stable_offset >= upper_bound_offset:
                    return found, True
        return found, False

    def truncate_to(self, offset: int) -> None:
        """Remove the transactions whose marker is at or after `offset`."""
        if self.entries and self._last_offset >= offset:
            entries = self._entries_before(offset)
            self._last_offset = self._entry(entries - 1).last_offset if entries else -1
            self._file().truncate(entries * _ENTRY.size)
            self._entries = entries

    def reset(self) -> None:
        """Remove all entries, to build them again."""
        if self._size():
            self._file().truncate(0)
        self._entries, self._last_offset = 0, -1

    def sync(self) -> None:
        """Make the entries durable; may run in any thread."""
        if self.entries:
            file = self._open_files.files.open(self.path)
            try:
                file.sync()
            finally:
                file.close()

    def check(self) -> None:
        """`CorruptFile` if an entry cannot be one of this segment."""
        size = self._size()
        if size % _ENTRY.size:
            raise CorruptFile(self.path, f"its size {size} is no multiple of an entry's {_ENTRY.size} bytes")
        last_offset = self.base_offset - 1
        for transaction in self.all():
            if not last_offset < transaction.last_offset >= transaction.first_offset:
                raise CorruptFile(self.path, f"{transaction} cannot come after offset {last_offset}")
            last_offset = transaction.last_offset

    def _file(self) -> File:
        return self._open_files.get(self.path)

    def _count(self) -> None:
        self._entries = self._size() // _ENTRY.size
        self._last_offset = self._entry(self._entries - 1).last_offset if self._entries else -1

    def _size(self) -> int:
        try:
            return self._file().size
        except FileNotFoundError:
            return 0

    def _entry(self, slot: int) -> AbortedTransaction:
        return self._read(self._file(), slot, 1)[0]

    def _entries_before(self, offset: int) -> int:
        """How many transactions ended before an offset."""
        return bisect_left(range(self._entries), offset, key=lambda slot: self._entry(slot).last_offset)

    def _from(self, slot: int) -> Iterator[AbortedTransaction]:
        file = self._file()
        for start in range(slot, self._entries, _BLOCK_ENTRIES):
            yield from self._read(file, start, min(_BLOCK_ENTRIES, self._entries - start))

    def _read(self, file: File, slot: int, count: int) -> list[AbortedTransaction]:
        data = file.read(count * _ENTRY.size, slot * _ENTRY.size)
        if len(data) < count * _ENTRY.size:
            raise CorruptFile(self.path, f"it ends before entry {slot + count - 1}")
        transactions = []
        for version, *fields in _ENTRY.iter_unpack(data):
            if version != _VERSION:
                raise CorruptFile(self.path, f"an entry has version {version}, not {_VERSION}")
            transactions.append(AbortedTransaction(*fields))
        return transactions
