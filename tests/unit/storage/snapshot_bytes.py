"""Producer snapshots as bytes."""

from __future__ import annotations

import struct

from crc32c import crc32c

ENTRIES_AT, ENTRY_BYTES, ID_BYTES = 10, 46, 8


def with_crc(body: bytes, version: int = 1) -> bytes:
    return struct.pack(">hI", version, crc32c(body)) + body


def as_kafka_reads_it(snapshot: bytes) -> bytes:
    """Of several entries of a producer Kafka takes the last."""
    entries = {
        snapshot[at : at + ID_BYTES]: snapshot[at : at + ENTRY_BYTES]
        for at in range(ENTRIES_AT, len(snapshot), ENTRY_BYTES)
    }
    return with_crc(struct.pack(">i", len(entries)) + b"".join(entries.values()))
