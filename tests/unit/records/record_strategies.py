"""What the tests of records share: records of every shape, for hypothesis and for plain tests."""

from __future__ import annotations

import random

from hypothesis import strategies as st

from moldau.base.errors import CorruptRecord
from moldau.records.batch import RecordBatch
from moldau.records.compression import CompressionType
from moldau.records.reader import read_batch
from moldau.records.record import Record
from moldau.records.walk import batches

CODECS = tuple(CompressionType)
LEGACY_CODECS = tuple(codec for codec in CODECS if codec is not CompressionType.ZSTD)
READ_BYTES_MAX = 4 << 20

_payloads = st.none() | st.binary(max_size=20) | st.binary(min_size=1, max_size=4).map(lambda part: part * 100)
_header_keys = st.sampled_from(["", "name", "größe" * 20, "not UTF-8: \udcff"])
_headers = st.just(()) | st.lists(st.tuples(_header_keys, _payloads), max_size=3).map(tuple)
_timestamps = st.integers(1_700_000_000_000, 1_700_000_100_000) | st.integers(-1, (1 << 63) - 1)


@st.composite
def record_lists(draw: st.DrawFn, *, gaps: bool = False, headers: bool = True) -> list[Record]:
    """Records of one batch, from some offset on; with gaps as compaction leaves them."""
    offset = draw(st.integers(0, 1 << 40))
    records = []
    for _ in range(draw(st.integers(1, 5))):
        records.append(
            Record(
                offset,
                draw(_timestamps),
                draw(_payloads),
                draw(_payloads),
                draw(_headers) if headers else (),
            )
        )
        offset += draw(st.integers(1, 300)) if gaps else 1
    return records


def some_records(count: int = 40, base_offset: int = 0) -> list[Record]:
    """The same records each time: nulls, empties, headers, text that compresses and noise that does not."""
    noise = random.Random(7)
    records = []
    for index in range(count):
        headers = (("trace", noise.randbytes(8)), ("trace", None), ("größe", b"")) if index % 4 == 0 else ()
        records.append(
            Record(
                base_offset + index,
                1_700_000_000_000 + index * 37 % 1009,
                None if index % 3 == 0 else b"key-%d" % index,
                None if index % 7 == 6 else noise.randbytes(index) + b"the same words again " * index,
                headers,
            )
        )
    return records


def without_headers(records: list[Record], magic: int = 1) -> list[Record]:
    """What is left of records in a message set."""
    return [record._replace(headers=(), timestamp=record.timestamp if magic else -1) for record in records]


def read_all(data: bytes) -> list[Record] | None:
    """Every record of v2 batches, or None if that is `CorruptRecord`; any other error is the caller's failure."""
    try:
        records = []
        for batch in batches(data):
            batch.check()
            records += read_batch(batch, READ_BYTES_MAX)
    except CorruptRecord:
        return None
    return records


def reseal(data: bytes) -> bytes:
    """The batch with its length and checksum made right again after its bytes were changed."""
    batch = RecordBatch(bytearray(data))
    batch.length = len(data) - 12
    batch.set_max_timestamp(batch.max_timestamp)
    return bytes(batch.buffer)
