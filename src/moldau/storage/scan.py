"""Walking the batches of a `.log` file.

A search starts at an index entry and looks at the headers of the next few batches, so a small window is read first and
larger ones if the walk goes on; what the headers say was checked when the batches were appended or recovered. Recovery
trusts nothing: it reads everything and checks every batch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from struct import Struct
from typing import NamedTuple

from moldau.base.errors import CorruptRecord
from moldau.records.batch import HEADER_BYTES, LOG_OVERHEAD_BYTES, MAGIC_AT, MAGIC_V2, Buffer, RecordBatch
from moldau.records.convert import as_batch
from moldau.records.legacy import LegacyEntry
from moldau.records.record import NO_TIMESTAMP
from moldau.records.walk import Span

# base offset, length, leader epoch, magic, last offset delta, max timestamp, producer id; v0 and v1 have the first four
_SUMMARY = Struct(">qiib6xi8xqq")
_TIMESTAMP_V1 = Struct(">18xq")
ENTRY_BYTES_MIN = LOG_OVERHEAD_BYTES + 14  # the smallest entry of any format

WINDOW_BYTES = 4 * 1024
WINDOW_BYTES_MAX = 256 * 1024
RECOVERY_WINDOW_BYTES = 1024 * 1024

Read = Callable[[int, int], Buffer]  # size, position → bytes, fewer at the end of the file


class BatchSummary(NamedTuple):
    """What a search needs to know of a batch."""

    position: int
    size_bytes: int
    base_offset: int
    last_offset: int
    max_timestamp: int
    leader_epoch: int
    producer_id: int


def scan(read: Read, position: int, end: int) -> Iterator[BatchSummary]:
    """The batches from a position on, which must be the start of one, up to a partial last one before `end`."""
    window: Buffer = b""
    start, window_bytes = position, WINDOW_BYTES
    while end - position >= ENTRY_BYTES_MIN:
        if position + _SUMMARY.size > start + len(window):
            start = position
            window = read(min(window_bytes, end - position), position)
            window_bytes = min(window_bytes * 2, WINDOW_BYTES_MAX)
            if len(window) < _SUMMARY.size:
                window = bytes(window).ljust(_SUMMARY.size, b"\0")
        base_offset, length, epoch, magic, delta, timestamp, producer = _SUMMARY.unpack_from(window, position - start)
        size_bytes = LOG_OVERHEAD_BYTES + length
        if size_bytes < ENTRY_BYTES_MIN:
            raise CorruptRecord(f"the batch at {position} has a size of {size_bytes} bytes")
        if position + size_bytes > end:
            return
        if magic < MAGIC_V2:  # an entry of an old message set: its offset is the last one in it
            timestamp = _TIMESTAMP_V1.unpack_from(window, position - start)[0] if magic else NO_TIMESTAMP
            yield BatchSummary(position, size_bytes, base_offset, base_offset, timestamp, -1, -1)
        else:
            yield BatchSummary(position, size_bytes, base_offset, base_offset + delta, timestamp, epoch, producer)
        position += size_bytes


def whole_batches(read: Read, position: int, end: int) -> Iterator[tuple[int, int, RecordBatch]]:
    """Every batch from a position on with its position and its size in the file, read whole and checked.

    Messages of the old formats become batches of the same offsets. Ends before a torn last batch; raises
    `CorruptRecord` at the first damaged one. What came before is good.
    """
    while end - position >= ENTRY_BYTES_MIN:
        window = read(min(RECOVERY_WINDOW_BYTES, end - position), position)
        size_bytes = _size_at(window, 0)
        if position + size_bytes > end:
            return
        if size_bytes > len(window):
            window = read(size_bytes, position)
        at = 0
        while len(window) - at >= ENTRY_BYTES_MIN and at + (size_bytes := _size_at(window, at)) <= len(window):
            if window[at + MAGIC_AT] < MAGIC_V2:
                batch = as_batch(LegacyEntry(window, Span(at, size_bytes, window[at + MAGIC_AT])))
            else:
                batch = RecordBatch(window, at)
                batch.check()
            yield position + at, size_bytes, batch
            at += size_bytes
        position += at
        if not at:
            return


def _size_at(window: Buffer, at: int) -> int:
    size_bytes = LOG_OVERHEAD_BYTES + int.from_bytes(window[at + 8 : at + 12], "big", signed=True)
    if size_bytes < (ENTRY_BYTES_MIN if window[at + MAGIC_AT] < MAGIC_V2 else HEADER_BYTES):
        raise CorruptRecord(f"a batch has a size of {size_bytes} bytes")
    return size_bytes
