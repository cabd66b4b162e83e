"""What compaction has to know of the records in a batch: their keys, offsets and places, and nothing else.

Values and headers are passed over by the length of their record, so this takes half the time of decoding records. What
stays of a batch is then cut out of its bytes: a record's encoding does not depend on its neighbours.

A key stands for itself up to 32 bytes. A longer one is represented by a BLAKE2b digest of 33 bytes, a length that no
key of its own has: so the offset map has a bound, and two keys are never taken for each other.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import NamedTuple

from moldau.base.errors import CorruptRecord
from moldau.records.batch import HEADER_BYTES, RecordBatch
from moldau.records.reader import RECORD_BYTES_MIN, decompress_section, read_section
from moldau.records.varint import VARLONG_BYTES_MAX, finish_varint

KEY_BYTES_MAX = 32
_DIGEST_BYTES = KEY_BYTES_MAX + 1
_LONG_KEY = KEY_BYTES_MAX << 1  # zigzag, as lengths are
_CODEC_BITS = 0x07
_REST_BYTES_MIN = 2  # after the key: a value length and a header count


class ScannedRecords(NamedTuple):
    """The records of a batch, in columns."""

    section: bytes
    keys: list[bytes | None]
    offset_deltas: list[int]
    timestamp_deltas: list[int]
    """Zigzag, as they are stored."""
    bounds: list[int]
    """Record i is `section[bounds[i] : bounds[i + 1]]`."""
    tombstones: list[int]
    """Which records have no value."""


def scan_records(batch: RecordBatch) -> ScannedRecords:
    """The records of a batch whose checksum is right; `CorruptRecord` if they are not what the batch says."""
    section = _section(batch)
    scanned = None
    if batch.count <= len(section) // RECORD_BYTES_MIN:
        try:
            scanned = _scan(section, batch.count)
        except IndexError:
            scanned = None
    if scanned is None or scanned.bounds[-1] != len(section):
        read_section(section, batch.count, batch.base_offset, batch.last_offset_delta, batch.base_timestamp)
        raise CorruptRecord(f"the records at offset {batch.base_offset} are not where they should be")
    return scanned


def _section(batch: RecordBatch) -> bytes:
    if batch.attributes & _CODEC_BITS:
        return decompress_section(batch)
    # Most batches of small topics hold one record: what costs a microsecond for each of them is worth leaving out.
    start = batch.position
    return bytes(batch.buffer[start + HEADER_BYTES : start + batch.size_bytes])


def _scan(data: bytes, count: int) -> ScannedRecords | None:  # noqa: C901 - one loop with its varints written out
    """None if lengths contradict each other; the caller finds out how."""
    keys: list[bytes | None] = []
    offset_deltas: list[int] = []
    timestamp_deltas: list[int] = []
    bounds = [0]
    tombstones: list[int] = []
    position = 0
    signs = 0  # zigzag makes negative numbers odd: one bit tells of all that must not be negative
    for index in range(count):
        number = data[position]
        position += 1
        if number > 127:
            if (byte := data[position]) > 127:
                number, position = finish_varint(data, position, number)
            else:
                number += (byte << 7) - 128
                position += 1
        signs |= number
        end = position + (number >> 1)
        number = data[position + 1]  # after the attributes
        position += 2
        if number > 127:
            if (byte := data[position]) > 127:
                number, position = finish_varint(data, position, number, VARLONG_BYTES_MAX)
            else:
                number += (byte << 7) - 128
                position += 1
        timestamp_deltas.append(number)
        number = data[position]
        position += 1
        if number > 127:
            if (byte := data[position]) > 127:
                number, position = finish_varint(data, position, number)
            else:
                number += (byte << 7) - 128
                position += 1
        signs |= number
        offset_deltas.append(number >> 1)
        number = data[position]
        position += 1
        if number == 1:
            keys.append(None)
        elif number <= _LONG_KEY:
            signs |= number
            keys.append(data[position : (position := position + (number >> 1))])
        else:
            if number > 127:
                number, position = finish_varint(data, position, number)
            signs |= number
            key = data[position : (position := position + (number >> 1))]
            keys.append(blake2b(key, digest_size=_DIGEST_BYTES).digest())
        if data[position] == 1:
            tombstones.append(index)
        if position + _REST_BYTES_MIN > end:
            return None
        bounds.append(end)
        position = end
    if signs & 1:
        return None
    return ScannedRecords(data, keys, offset_deltas, timestamp_deltas, bounds, tombstones)
