"""Whatever bytes come in, what comes out is records or `CorruptRecord`: nothing else is raised, nothing hangs."""

from __future__ import annotations

from contextlib import suppress

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError, CorruptRecord
from moldau.records.batch import HEADER_BYTES, RecordBatch
from moldau.records.builder import build_batch
from moldau.records.columns import columns_from_batches
from moldau.records.compression import CompressionType, compress, decompress
from moldau.records.convert import down_convert, up_convert
from moldau.records.legacy import build_message_set, entries, read_message_set
from moldau.records.reader import read_batch
from moldau.records.record import Record
from tests.unit.records.record_strategies import (
    CODECS,
    LEGACY_CODECS,
    READ_BYTES_MAX,
    read_all,
    record_lists,
    reseal,
)


@st.composite
def mutations(draw: st.DrawFn, data: bytes, start: int = 0) -> bytes:
    """The bytes with a few changed, cut out, put in or cut off, none before `start`."""
    changed = bytearray(data)
    for _ in range(draw(st.integers(1, 4))):
        position = draw(st.integers(start, max(start, len(changed) - 1)))
        match draw(st.integers(0, 3)):
            case 0:
                changed[position : position + 1] = bytes([draw(st.integers(0, 255))])
            case 1:
                del changed[position : position + draw(st.integers(1, 5))]
            case 2:
                changed[position:position] = draw(st.binary(min_size=1, max_size=11))
            case _:
                del changed[position:]
    return bytes(changed)


def read_or_none(batch: RecordBatch) -> list[Record] | None:
    try:
        return read_batch(batch, READ_BYTES_MAX)
    except CorruptRecord:
        return None


def columns_or_none(batch: RecordBatch) -> pa.Table | None:
    try:
        return columns_from_batches([batch], READ_BYTES_MAX)
    except CorruptRecord:
        return None


@given(record_lists(), st.sampled_from(CODECS), st.data())
def test_batches_of_any_bytes(records: list[Record], codec: CompressionType, data: st.DataObject) -> None:
    batch = build_batch(records, codec, base_offset=records[0].offset)
    read_all(data.draw(mutations(batch + batch)))


@given(record_lists(), st.sampled_from(CODECS), st.data())
def test_records_of_any_bytes_behind_a_right_checksum(
    records: list[Record], codec: CompressionType, data: st.DataObject
) -> None:
    batch = build_batch(records, codec, base_offset=records[0].offset)
    read_all(reseal(data.draw(mutations(batch, HEADER_BYTES))))


@given(record_lists(), st.data())
def test_headers_of_any_bytes_behind_a_right_checksum(records: list[Record], data: st.DataObject) -> None:
    batch = bytearray(build_batch(records, base_offset=records[0].offset))
    for _ in range(data.draw(st.integers(1, 4))):
        batch[data.draw(st.integers(17, HEADER_BYTES - 1))] = data.draw(st.integers(0, 255))
    changed = reseal(bytes(batch))
    read = read_all(changed)
    if read is not None:
        assert build_batch(read, base_offset=records[0].offset, last_offset=RecordBatch(changed).last_offset)


@given(record_lists(), st.data())
def test_columns_and_reader_agree_on_any_bytes(records: list[Record], data: st.DataObject) -> None:
    batch = build_batch(records, base_offset=records[0].offset)
    changed = RecordBatch(reseal(data.draw(mutations(batch, HEADER_BYTES))))
    read, table = read_or_none(changed), columns_or_none(changed)
    assert (read is None) == (table is None)
    if read is None or table is None:
        return
    table.validate(full=True)
    assert table["offset"].to_pylist() == [record.offset for record in read]
    assert table["timestamp"].to_pylist() == [record.timestamp for record in read]
    assert table["key"].to_pylist() == [record.key for record in read]
    assert table["value"].to_pylist() == [record.value for record in read]
    headers: list[list[bytes | None]] = [[value for _, value in record.headers] for record in read]
    assert [[header["value"] for header in row] for row in table["headers"].to_pylist()] == headers


@given(record_lists(headers=False), st.sampled_from((0, 1)), st.sampled_from(LEGACY_CODECS), st.data())
def test_message_sets_of_any_bytes(
    records: list[Record], magic: int, codec: CompressionType, data: st.DataObject
) -> None:
    changed = data.draw(mutations(build_message_set(records, magic, codec)))
    with suppress(CorruptRecord):
        read_message_set(entries(changed), READ_BYTES_MAX)


@given(record_lists(headers=False), st.sampled_from((0, 1)), st.sampled_from(LEGACY_CODECS), st.data())
def test_wrapped_message_sets_of_any_bytes_are_converted_or_corrupt(
    records: list[Record], magic: int, codec: CompressionType, data: st.DataObject
) -> None:
    inner = data.draw(mutations(build_message_set(records, magic)))
    (message,) = entries(build_message_set([Record(9, 5, None, compress(codec, inner, magic=magic))], magic))
    message.attributes = int(codec)
    with suppress(CorruptRecord):
        read = message.records(READ_BYTES_MAX)
        assert RecordBatch(up_convert(build_message_set(read, magic))).count == len(read)


@given(record_lists(), st.sampled_from(CODECS), st.sampled_from((0, 1)), st.data())
def test_conversion_of_any_bytes(
    records: list[Record], codec: CompressionType, magic: int, data: st.DataObject
) -> None:
    changed = reseal(data.draw(mutations(build_batch(records, codec, base_offset=records[0].offset), HEADER_BYTES)))
    if codec is CompressionType.ZSTD:
        with pytest.raises(ApiError) as raised:
            down_convert(changed, magic)
        assert raised.value.code is ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
        return
    with suppress(CorruptRecord):
        down_convert(changed, magic, limit_bytes=READ_BYTES_MAX)


@given(st.binary(max_size=300), st.sampled_from(CODECS), st.sampled_from((0, 1, 2)))
def test_compressed_data_of_any_bytes(data: bytes, codec: CompressionType, magic: int) -> None:
    with suppress(CorruptRecord):
        assert len(decompress(codec, data, 1 << 16, magic)) <= 1 << 16


@given(st.sampled_from(CODECS), st.data())
def test_compressed_data_with_changes(codec: CompressionType, data: st.DataObject) -> None:
    compressed = compress(codec, b"the same words again " * 40)
    with suppress(CorruptRecord):
        assert len(decompress(codec, data.draw(mutations(compressed)), 1 << 16)) <= 1 << 16


@pytest.mark.slow
@pytest.mark.parametrize("codec", CODECS)
def test_every_byte_of_a_batch_changed_to_every_value(codec: CompressionType) -> None:
    """Exhaustive where it can be: each byte of the records takes all 256 values, for the reader and for columns."""
    records = [Record(0, 5, b"k", b"v", (("h", b"x"),)), Record(1, 9, None, None), Record(2, 1 << 40, b"", b"")]
    batch = build_batch(records, codec)
    for position in range(HEADER_BYTES, len(batch)):
        for value in range(256):
            changed = RecordBatch(reseal(batch[:position] + bytes([value]) + batch[position + 1 :]))
            read = read_or_none(changed)
            table = columns_or_none(changed)
            assert (read is None) == (table is None)
            if read is not None and table is not None:
                assert table["value"].to_pylist() == [record.value for record in read]
