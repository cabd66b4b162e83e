"""Columns in and out: the same bytes and the same records as one by one."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime

import pyarrow as pa
import pytest

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError, CorruptRecord
from moldau.records.batch import Producer, RecordBatch
from moldau.records.builder import build_batch, encode_records
from moldau.records.columns import SCHEMA, batches_from_columns, columns_from_batches, headless_batches
from moldau.records.columns.header_lists import HEADERS_TYPE
from moldau.records.compression import CompressionType
from moldau.records.control import ControlRecordType, EndTransactionMarker, build_end_transaction_marker
from moldau.records.reader import read_batch
from moldau.records.record import Record
from tests.unit.records.record_strategies import CODECS, reseal, some_records


def columns_of(records: list[Record]) -> pa.Table:
    headers = [[{"key": key, "value": value} for key, value in record.headers] for record in records]
    return pa.table(
        {
            "timestamp": pa.array([record.timestamp for record in records], pa.int64()),
            "key": pa.array([record.key for record in records], pa.binary()),
            "value": pa.array([record.value for record in records], pa.binary()),
            "headers": pa.array(headers, HEADERS_TYPE),
        }
    )


def records_of(table: pa.Table) -> list[Record]:
    table.validate(full=True)
    return [
        Record(
            row["offset"],
            row["timestamp"],
            row["key"],
            row["value"],
            tuple((header["key"], header["value"]) for header in row["headers"]),
        )
        for row in table.to_pylist()
    ]


@pytest.mark.parametrize("codec", CODECS)
def test_columns_make_the_batch_that_records_make(codec: CompressionType) -> None:
    records = some_records(200)
    (data,) = batches_from_columns(columns_of(records), codec, producer=Producer(4, 0, 11), transactional=True)
    assert bytes(data) == build_batch(records, codec, producer=Producer(4, 0, 11), transactional=True)


@pytest.mark.parametrize("without", [["headers"], ["key", "headers"], ["key"]])
def test_columns_that_are_not_there_are_null(without: list[str]) -> None:
    records = [
        record._replace(
            key=None if "key" in without else record.key, headers=() if "headers" in without else record.headers
        )
        for record in some_records(200)
    ]
    (data,) = batches_from_columns(columns_of(records).drop_columns(without))
    assert bytes(data) == build_batch(records)


@pytest.mark.parametrize("batch_bytes", [1, 500, 16384, 100_000])
def test_rows_are_cut_into_batches_that_follow_each_other(batch_bytes: int) -> None:
    records = some_records(500)
    made = batches_from_columns(
        columns_of(records), batch_bytes=batch_bytes, producer=Producer(4, 0, 2**31 - 100), transactional=True
    )
    first = 0
    for data in made:
        count = RecordBatch(data).count
        part = [record._replace(offset=index) for index, record in enumerate(records[first : first + count])]
        sequence = (2**31 - 100 + first) % 2**31
        assert bytes(data) == build_batch(part, producer=Producer(4, 0, sequence), transactional=True)
        assert count == 1 or len(data) <= batch_bytes
        first += count
    assert first == 500


def test_many_rows_take_several_joins() -> None:
    records = [Record(index % 900, 5 + index % 7, b"%d" % index, b"v" * (index % 50)) for index in range(30_000)]
    table = columns_of(records)
    for columns in (table, table.drop_columns(["headers"])):
        made = list(batches_from_columns(columns, batch_bytes=20_000))
        rows = [row[1:4] for data in made for row in read_batch(RecordBatch(data))]
        assert rows == [record[1:4] for record in records]
        for data in made:
            RecordBatch(data).check_produced()


def test_numbers_too_large_for_cells_are_encoded_record_by_record() -> None:
    records = [record._replace(timestamp=index << 56) for index, record in enumerate(some_records(100))]
    for columns in (columns_of(records), columns_of(records).drop_columns(["headers"])):
        made = list(batches_from_columns(columns, batch_bytes=4000))
        assert len(made) > 1
        rows = [row[1:4] for data in made for row in read_batch(RecordBatch(data))]
        assert rows == [record[1:4] for record in records]


def test_long_cells_take_two_words() -> None:
    records = [Record(index, 1_700_000_000_000 + (index << 28), bytes(9000), bytes(1 << index)) for index in range(18)]
    (data,) = batches_from_columns(columns_of(records).drop_columns(["headers"]))
    assert bytes(data) == build_batch(records)
    records = [record._replace(key=None) for record in records]
    (data,) = batches_from_columns(columns_of(records).drop_columns(["key", "headers"]))
    assert bytes(data) == build_batch(records)


def test_text_slices_chunks_and_timestamps_are_taken_as_they_come() -> None:
    when = datetime(2024, 5, 6, 7, 8, 9, 123456, tzinfo=UTC)
    table = pa.table(
        {
            "key": pa.array(["dropped", "schlüssel", None, ""], pa.string()),
            "value": pa.array([b"dropped", b"one", None, b"three"], pa.large_binary()),
            "timestamp": pa.array([when, when, None, when], pa.timestamp("us", "UTC")),
        }
    ).slice(1)
    milliseconds = 1_714_979_289_123
    expected = [
        Record(0, milliseconds, "schlüssel".encode(), b"one"),
        Record(1, 77, None, None),
        Record(2, milliseconds, b"", b"three"),
    ]
    (data,) = batches_from_columns(table, timestamp_ms=77)
    assert read_batch(RecordBatch(data)) == expected
    (data,) = batches_from_columns(pa.concat_tables([table, table]), timestamp_ms=77)
    assert [record[1:] for record in read_batch(RecordBatch(data))] == [record[1:] for record in expected] * 2
    (data,) = batches_from_columns(table.to_batches()[0].select(["value"]), timestamp_ms=5)
    assert [record.timestamp for record in read_batch(RecordBatch(data))] == [5, 5, 5]


def test_no_rows_make_no_batches_and_no_batches_no_rows() -> None:
    assert list(batches_from_columns(columns_of([]))) == []
    empty = columns_from_batches([RecordBatch(build_batch([], last_offset=3))])
    assert (empty.num_rows, empty.schema) == (0, SCHEMA)


def test_batches_are_made_as_they_are_taken() -> None:
    table = pa.table({"value": pa.array([bytes(1000)] * 40_000, pa.binary())})
    before_bytes = pa.total_allocated_bytes()
    made = headless_batches(table)
    next(made)
    assert pa.total_allocated_bytes() - before_bytes < 12_000_000
    assert 1 + sum(1 for _ in made) == len(list(batches_from_columns(table))) > 38


def test_a_header_without_key_is_refused() -> None:
    nullable = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
    table = pa.table({"value": [b"v"], "headers": pa.array([[{"key": None, "value": b"x"}]], nullable)})
    with pytest.raises(ApiError, match="a header has no key") as raised:
        batches_from_columns(table)
    assert raised.value.code is ErrorCode.INVALID_RECORD


@pytest.mark.parametrize("codec", CODECS)
def test_columns_hold_what_the_reader_reads(codec: CompressionType) -> None:
    records = some_records(200, base_offset=1000)
    one = RecordBatch(build_batch(records[:150], codec, base_offset=1000))
    two = RecordBatch(build_batch(records[150:], base_offset=1150, log_append_time_ms=99))
    marker = EndTransactionMarker(ControlRecordType.ABORT, 0)
    control = RecordBatch(build_end_transaction_marker(marker, 1, 0, 5, base_offset=1200))
    table = columns_from_batches([one, two, control])
    assert table.schema == SCHEMA
    assert records_of(table) == read_batch(one) + read_batch(two)
    assert table["timestamp_type"].to_pylist() == [0] * 150 + [1] * 50


def test_keys_and_values_of_all_short_lengths_are_read() -> None:
    records = [Record(size, 5, bytes(range(size)), bytes(range(100, 100 + size))) for size in range(20)]
    assert records_of(columns_from_batches([RecordBatch(build_batch(records))])) == records


def test_a_record_with_very_many_headers_is_read_by_way_of_records() -> None:
    headers = tuple((f"key-{index}", b"%d" % index) for index in range(500))
    records = [Record(0, 5, b"k", b"v", headers), Record(1, 6, None, None)]
    assert records_of(columns_from_batches([RecordBatch(build_batch(records))])) == records


def test_header_keys_that_are_not_utf8_are_replaced() -> None:
    for many in (1, 100):
        records = [Record(0, 5, None, None, (("bad \udcff", b"x"),) * many)]
        (read,) = records_of(columns_from_batches([RecordBatch(build_batch(records))]))
        assert read.headers == (("bad �", b"x"),) * many


def test_all_batches_share_one_limit() -> None:
    batch = RecordBatch(build_batch(some_records(), CompressionType.ZSTD))
    size = len(encode_records(some_records(), 0, some_records()[0].timestamp))
    assert columns_from_batches([batch] * 3, 3 * size).num_rows == 120
    with pytest.raises(CorruptRecord):
        columns_from_batches([batch] * 3, 3 * size - 1)


def test_bytes_in_a_batch_of_no_records_are_corrupt() -> None:
    data = bytearray(build_batch(some_records(3)))
    data[57:61] = bytes(4)  # the count
    batch = RecordBatch(data)
    with pytest.raises(CorruptRecord):
        read_batch(batch)
    with pytest.raises(CorruptRecord):
        columns_from_batches([batch])
    nothing = RecordBatch(build_batch([], CompressionType.GZIP, last_offset=3))
    assert (read_batch(nothing), columns_from_batches([nothing]).num_rows) == ([], 0)


def test_every_truncation_of_the_records_is_corrupt() -> None:
    data = build_batch(some_records(6))
    for end in range(61, len(data)):
        with pytest.raises(CorruptRecord):
            columns_from_batches([RecordBatch(reseal(data[:end]))])


def test_arrow_is_imported_only_for_columns() -> None:
    program = (
        "import sys, moldau.records.convert, moldau.records.rebuild, moldau.records.control\n"
        "assert not {'pyarrow', 'numpy'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
