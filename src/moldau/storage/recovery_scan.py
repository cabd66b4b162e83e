"""Reading a `.log` file after a crash: all of it is read, every batch is checked, and what is good goes to the indexes.

Bytes come into one buffer, a window after the other, and stay where they are: a checksum is a look at a part of it. The
buffer is small enough to stay in the processor's cache, which is why this goes nearly as fast as the checksums alone.
What costs time is Python for each batch, so it is one loop with nothing in it that could be done once for a window.
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct
from typing import NamedTuple

from moldau.base.errors import CorruptRecord
from moldau.records.batch import (
    HEADER_BYTES,
    LOG_OVERHEAD_BYTES,
    MAGIC_V2,
    NO_LEADER_EPOCH,
    RecordBatch,
)
from moldau.records.checksum import crc32c
from moldau.records.legacy import LegacyEntry
from moldau.records.walk import LEGACY_ENTRY_BYTES_MIN, Span
from moldau.storage.files import File
from moldau.storage.segment import NotedBatch

RECOVERY_WINDOW_BYTES = 512 * 1024
_LENGTH_MIN = HEADER_BYTES - LOG_OVERHEAD_BYTES
# Base offset, length, leader epoch, magic, checksum, last offset delta, max timestamp, producer id, record count of a
# batch; of the entry of an old message set the first two and the magic.
_HEADER = Struct(">qiibI2xi8xqq6xi")
_unpack = _HEADER.unpack_from


class EpochRun(NamedTuple):
    """Batches of the same leader epoch, one after the other."""

    epoch: int
    first_offset: int
    last_base_offset: int


class RecoveryScan:
    """One pass over a file; the attributes tell how far it has come."""

    def __init__(self, file: File, size_bytes: int, base_offset: int) -> None:
        """Offsets are to rise from `base_offset` on."""
        self.good_bytes = 0
        self.end_offset = base_offset
        self.epoch_runs: list[EpochRun] = []
        self._file = file
        self._size_bytes = size_bytes
        # After the window there is room for a header, so that one can be unpacked before it is known to be whole.
        self._buffer = bytearray(min(RECOVERY_WINDOW_BYTES, size_bytes) + HEADER_BYTES)

    def windows(self) -> Iterator[tuple[list[NotedBatch], list[RecordBatch]]]:
        """The batches of each window, and those of idempotent producers, which are good until the next window.

        Ends before a torn last batch; raises `CorruptRecord` at the first damaged one. What came before is good.
        """
        size_bytes = self._size_bytes
        while size_bytes - self.good_bytes >= LEGACY_ENTRY_BYTES_MIN:
            room = min(len(self._buffer) - HEADER_BYTES, size_bytes - self.good_bytes)
            filled = self._file.read_into(memoryview(self._buffer)[:room], self.good_bytes)
            batches: list[NotedBatch] = []
            producers: list[RecordBatch] = []
            damage: CorruptRecord | None = None
            try:
                self._take_window(filled, batches, producers)
            except CorruptRecord as error:
                damage = error
            if batches:
                yield batches, producers
            if damage is not None:
                raise damage
            if not batches and not self._grow(filled):
                return

    def _take_window(self, filled: int, batches: list[NotedBatch], producers: list[RecordBatch]) -> None:
        """Everything whole in a window; `CorruptRecord` if what comes then is not just cut off by its end."""
        at = 0
        while True:
            at = self._take_batches(at, filled, batches, producers)
            if filled - at < LEGACY_ENTRY_BYTES_MIN:
                return
            offset, length, _, magic, *_ = _unpack(self._buffer, at)
            size_bytes = LOG_OVERHEAD_BYTES + length
            if size_bytes < LEGACY_ENTRY_BYTES_MIN:
                raise CorruptRecord(f"a batch has a size of {size_bytes} bytes")
            if size_bytes > filled - at:
                return
            if offset < self.end_offset:
                raise CorruptRecord(f"offset {offset} comes after {self.end_offset - 1}")
            if magic >= MAGIC_V2:
                RecordBatch(memoryview(self._buffer)[:filled], at).check()
                raise CorruptRecord(f"the batch of offset {offset} has a size of {size_bytes} bytes")
            entry = LegacyEntry(self._buffer, Span(at, size_bytes, magic))
            batches.append((self.good_bytes, size_bytes, offset, entry.timestamp))
            self.good_bytes += size_bytes
            self.end_offset = offset + 1
            at += size_bytes

    def _take_batches(self, at: int, filled: int, batches: list[NotedBatch], producers: list[RecordBatch]) -> int:
        """The batches of today's format from a place in the window on; up to where they are whole and right."""
        buffer, shift, next_offset, runs = self._buffer, self.good_bytes - at, self.end_offset, self.epoch_runs
        view, run_epoch = memoryview(buffer)[:filled], runs[-1].epoch if runs else NO_LEADER_EPOCH
        last_base_offset = runs[-1].last_base_offset if runs else 0
        while filled - at >= LEGACY_ENTRY_BYTES_MIN:
            base, length, epoch, magic, crc, delta, timestamp, producer_id, count = _unpack(buffer, at)
            end = at + 12 + length  # LOG_OVERHEAD_BYTES and ATTRIBUTES_AT are written out in this loop
            if (
                not _LENGTH_MIN <= length <= filled - at - 12
                or crc32c(view[at + 21 : end]) != crc
                or magic != MAGIC_V2
                or base < next_offset
                or not 0 <= count <= delta + 1
            ):
                break
            if epoch != run_epoch:
                if runs:
                    runs[-1] = runs[-1]._replace(last_base_offset=last_base_offset)
                runs.append(EpochRun(epoch, base, base))
                run_epoch = epoch
            last_base_offset = base
            next_offset = base + delta + 1
            batches.append((shift + at, end - at, next_offset - 1, timestamp))
            if producer_id >= 0:
                producers.append(RecordBatch(buffer, at))
            at = end
        if runs:
            runs[-1] = runs[-1]._replace(last_base_offset=last_base_offset)
        self.good_bytes, self.end_offset = shift + at, next_offset
        return at

    def _grow(self, filled: int) -> bool:
        """Make room for a batch that is larger than the window; False if the file ends before the batch does."""
        if filled < LEGACY_ENTRY_BYTES_MIN:
            return False
        size_bytes = LOG_OVERHEAD_BYTES + _unpack(self._buffer)[1]
        if size_bytes <= filled or size_bytes > self._size_bytes - self.good_bytes:
            return False
        self._buffer = bytearray(size_bytes + HEADER_BYTES)
        return True
