"""gzip, by the standard library's zlib: as fast as cramjam's on large batches, twice as fast on small ones."""

from __future__ import annotations

import zlib

from moldau.base.errors import CorruptRecord

_GZIP_WINDOW_BITS = 31  # 15, plus 16 for gzip's header and trailer


def compress(data: bytes, level: int) -> bytes:
    """One gzip member; level -1 is zlib's own default."""
    return zlib.compress(data, level, _GZIP_WINDOW_BITS)


def decompress(data: bytes | memoryview, limit_bytes: int) -> bytes:
    """All members of the data; zlib stops at the limit by itself."""
    parts = []
    room_bytes = limit_bytes
    rest: bytes | memoryview = data
    while True:  # each member takes at least its 18 bytes of header and trailer
        stream = zlib.decompressobj(_GZIP_WINDOW_BITS)
        part = stream.decompress(rest, room_bytes + 1)
        room_bytes -= len(part)
        if room_bytes < 0:
            raise CorruptRecord(f"gzip data decompresses to more than {limit_bytes} bytes")
        if not stream.eof:
            raise CorruptRecord("gzip data ends in the middle")
        parts.append(part)
        rest = stream.unused_data
        if not rest:
            return parts[0] if len(parts) == 1 else b"".join(parts)
