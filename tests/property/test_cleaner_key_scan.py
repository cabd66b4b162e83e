"""The cleaner's look at records against the reader that decodes all of them."""

from __future__ import annotations

import hypothesis.strategies as st
from hypothesis import given, settings

from moldau.base.errors import CorruptRecord
from moldau.records.batch import RecordBatch
from moldau.records.builder import build_batch, encode_header
from moldau.records.compression import CompressionType
from moldau.records.reader import read_batch
from moldau.records.record import Record
from moldau.storage.cleaner.key_scan import KEY_BYTES_MAX, scan_records

SIZES = st.one_of(st.integers(0, 70), st.integers(8000, 8300))
BYTES = st.builds(lambda size, byte: bytes([byte]) * size, SIZES, st.integers(0, 255))
FIELDS = st.tuples(
    st.integers(-(2**40), 2**40),
    st.none() | BYTES,
    st.none() | BYTES,
    st.lists(st.tuples(st.text(max_size=3), st.none() | st.binary(max_size=3)), max_size=2).map(tuple),
)


def batch_of(rows: list[tuple[int, bytes | None, bytes | None, tuple[tuple[str, bytes | None], ...]]]) -> list[Record]:
    return [Record(index * 3, *row) for index, row in enumerate(rows)]


@settings(max_examples=60)
@given(rows=st.lists(FIELDS, max_size=8), codec=st.sampled_from(CompressionType))
def test_keys_places_and_tombstones_are_those_of_the_records(
    rows: list[tuple[int, bytes | None, bytes | None, tuple[tuple[str, bytes | None], ...]]], codec: CompressionType
) -> None:
    records = batch_of(rows)
    batch = RecordBatch(build_batch(records, codec, base_offset=0, last_offset=100))
    scanned = scan_records(batch)
    assert scanned.offset_deltas == [record.offset for record in records]
    assert scanned.tombstones == [index for index, record in enumerate(records) if record.value is None]
    for key, record in zip(scanned.keys, records, strict=True):
        if record.key is None or len(record.key) <= KEY_BYTES_MAX:
            assert key == record.key
        else:
            assert key is not None
            assert len(key) == KEY_BYTES_MAX + 1
    for index, record in enumerate(records):
        piece = scanned.section[scanned.bounds[index] : scanned.bounds[index + 1]]
        header = encode_header(
            piece, attributes=0, count=1, last_offset_delta=100, base_timestamp=batch.base_timestamp, max_timestamp=0
        )
        assert read_batch(RecordBatch(header + piece)) == [record]


@settings(max_examples=100)
@given(
    rows=st.lists(FIELDS, min_size=1, max_size=4),
    place=st.floats(0, 1, exclude_max=True),
    byte=st.integers(0, 255),
    cut=st.booleans(),
)
def test_damaged_records_are_refused_or_lie_where_the_reader_finds_them(
    rows: list[tuple[int, bytes | None, bytes | None, tuple[tuple[str, bytes | None], ...]]],
    place: float,
    byte: int,
    cut: bool,
) -> None:
    section = bytearray(RecordBatch(build_batch(batch_of(rows), base_offset=0, last_offset=100)).records_section)
    at = int(place * len(section))
    if cut:
        del section[at:]
    else:
        section[at] = byte
    header = encode_header(
        bytes(section), attributes=0, count=len(rows), last_offset_delta=100, base_timestamp=0, max_timestamp=0
    )
    batch = RecordBatch(header + section)
    try:
        records = read_batch(batch)
    except CorruptRecord:
        records = None
    try:
        scanned = scan_records(batch)
    except CorruptRecord:
        assert records is None
        return
    if records is not None:
        assert scanned.offset_deltas == [record.offset for record in records]
        assert [key is None for key in scanned.keys] == [record.key is None for record in records]
