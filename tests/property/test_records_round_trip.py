"""Random records through every format and codec come out as they went in."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from moldau.records.batch import Producer, RecordBatch
from moldau.records.builder import BatchBuilder, build_batch
from moldau.records.compression import CompressionType
from moldau.records.convert import down_convert, up_convert
from moldau.records.legacy import build_message_set, entries, read_message_set
from moldau.records.reader import read_batch
from moldau.records.rebuild import recompress, retain_records
from moldau.records.record import Record
from moldau.records.varint import VARLONG_BYTES_MAX, decode_varint, encode_varint
from tests.unit.records.record_strategies import CODECS, LEGACY_CODECS, record_lists, without_headers

codecs = st.sampled_from(CODECS)
legacy_codecs = st.sampled_from(LEGACY_CODECS)


@given(st.integers(-(2**63), 2**63 - 1))
def test_every_number_of_64_bits_is_a_varint(number: int) -> None:
    encoded = encode_varint(number)
    assert decode_varint(encoded + b"more", 0, VARLONG_BYTES_MAX) == (number, len(encoded))


@given(record_lists(gaps=True), codecs)
def test_batches(records: list[Record], codec: CompressionType) -> None:
    base_offset = records[0].offset
    batch = RecordBatch(build_batch(records, codec, base_offset=base_offset, producer=Producer(1, 2, 3)))
    batch.check()
    assert read_batch(batch) == records
    assert batch.last_offset == records[-1].offset


@given(record_lists(), codecs, st.integers(0, 2**40))
def test_builders_and_assigned_offsets(records: list[Record], codec: CompressionType, base_offset: int) -> None:
    builder = BatchBuilder(1 << 30, codec)
    for record in records:
        builder.append(*record[1:])
    data = bytearray(builder.build())
    RecordBatch(data).assign(base_offset, 5)
    batch = RecordBatch(data)
    batch.check_produced()
    expected = [record._replace(offset=base_offset + index) for index, record in enumerate(records)]
    assert read_batch(batch) == expected


@given(record_lists(), codecs, codecs, st.data())
def test_rebuilt_batches(
    records: list[Record], codec: CompressionType, other: CompressionType, data: st.DataObject
) -> None:
    batch = RecordBatch(build_batch(records, codec, base_offset=records[0].offset))
    again = RecordBatch(recompress(batch, other))
    again.check()
    assert read_batch(again) == records
    kept = [record for record in records if data.draw(st.booleans())]
    rest = RecordBatch(retain_records(again, kept, delete_horizon_ms=data.draw(st.none() | st.integers(0, 2**62))))
    rest.check()
    assert read_batch(rest) == kept


@given(record_lists(gaps=True, headers=False), st.sampled_from((0, 1)), legacy_codecs)
def test_message_sets(records: list[Record], magic: int, codec: CompressionType) -> None:
    data = build_message_set(records, magic, codec)
    assert read_message_set(entries(data, whole=True)) == without_headers(records, magic)


@given(record_lists(), st.sampled_from((0, 1)), legacy_codecs)
def test_conversion_down_and_up(records: list[Record], magic: int, codec: CompressionType) -> None:
    base_offset = records[0].offset
    down = down_convert(build_batch(records, codec, base_offset=base_offset), magic)
    assert read_message_set(entries(down)) == without_headers(records, magic)
    batch = RecordBatch(bytearray(up_convert(down)))
    batch.check_produced()
    batch.assign(base_offset, 0)
    assert read_batch(batch) == without_headers(records, magic)
