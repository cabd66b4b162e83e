"""The bytes of a `.snapshot` file: the producers of a partition up to the offset in the file's name.

    int16 version = 1 | uint32 CRC-32C of what follows | int32 count | count entries of 46 bytes

    int64 producer id | int16 producer epoch | int32 last sequence | int64 last offset | int32 offset delta |
    int64 last timestamp | int32 coordinator epoch | int64 first offset of the open transaction, or -1

Each of a producer's last five batches has an entry, oldest first. Kafka writes one, for the last batch, and so forgets
the others with a restart: a producer that then repeats what was in flight is told that it is out of order, which ends
it. Where Kafka reads several entries of one producer, the last one counts, as it should; only that one has the open
transaction and the time of the last marker. A snapshot only saves reading the log again, so one that is damaged is
deleted and an earlier one taken.
"""

from __future__ import annotations

from collections.abc import Mapping
from struct import Struct

from moldau.base.errors import CorruptRecord
from moldau.records.batch import NO_SEQUENCE
from moldau.records.checksum import crc32c
from moldau.storage.producer_entry import BATCHES_RETAINED, NO_OFFSET, PACKED_BATCH, ProducerEntry

VERSION = 1

_HEADER = Struct(">hI")
_COUNT = Struct(">i")
_ENTRY = Struct(f">qh{PACKED_BATCH.size}siq")  # from last sequence to timestamp it is a batch as it is in memory
_NO_BATCH = PACKED_BATCH.pack(NO_SEQUENCE, NO_OFFSET, 0, 0)
_RETAINED_BYTES = BATCHES_RETAINED * PACKED_BATCH.size
_ENTRIES_AT = _HEADER.size + _COUNT.size


def encode_snapshot(producers: Mapping[int, ProducerEntry]) -> bytes:
    entries: list[bytes] = []
    for producer_id, entry in producers.items():
        producer_epoch, coordinator_epoch, last_timestamp, transaction_first_offset, batches = entry
        *earlier, last = PACKED_BATCH.iter_unpack(batches or _NO_BATCH)
        for *where, timestamp in earlier:
            # None later than the last one, or it would be left when Kafka drops that one for its age.
            packed = PACKED_BATCH.pack(*where, min(timestamp, last_timestamp))
            entries.append(_ENTRY.pack(producer_id, producer_epoch, packed, coordinator_epoch, NO_OFFSET))
        packed = PACKED_BATCH.pack(*last[:3], last_timestamp)
        entries.append(_ENTRY.pack(producer_id, producer_epoch, packed, coordinator_epoch, transaction_first_offset))
    body = b"".join((_COUNT.pack(len(entries)), *entries))
    return _HEADER.pack(VERSION, crc32c(body)) + body


def decode_snapshot(data: bytes) -> dict[int, ProducerEntry]:
    """The producers by id; `CorruptRecord` for anything but a whole snapshot of the version that is known."""
    if len(data) < _ENTRIES_AT:
        raise CorruptRecord(f"a producer snapshot has at least {_ENTRIES_AT} bytes, not {len(data)}")
    version, crc = _HEADER.unpack_from(data)
    if version != VERSION:
        raise CorruptRecord(f"the producer snapshot is of version {version}, not {VERSION}")
    body = memoryview(data)[_HEADER.size :]
    if (actual := crc32c(body)) != crc:
        raise CorruptRecord(f"the producer snapshot's checksum is {crc}, its contents' is {actual}")
    (count,) = _COUNT.unpack_from(body)
    entries = body[_COUNT.size :]
    if len(entries) != count * _ENTRY.size:
        raise CorruptRecord(f"{count} entries of {_ENTRY.size} bytes cannot be in {len(entries)} bytes")
    producers: dict[int, ProducerEntry] = {}
    for producer_id, producer_epoch, packed, coordinator_epoch, first_offset in _ENTRY.iter_unpack(entries):
        _, last_offset, _, timestamp = PACKED_BATCH.unpack(packed)
        batches = packed if last_offset >= 0 else b""
        earlier = producers.get(producer_id)
        if earlier is not None and earlier.producer_epoch == producer_epoch:
            batches = (earlier.packed_batches + batches)[-_RETAINED_BYTES:]
        producers[producer_id] = ProducerEntry(producer_epoch, coordinator_epoch, timestamp, first_offset, batches)
    return producers
