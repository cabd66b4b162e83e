"""Up for old producers, down for old consumers."""

from __future__ import annotations

import pytest

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError, CorruptRecord
from moldau.records.batch import Producer, RecordBatch
from moldau.records.builder import build_batch
from moldau.records.compression import CompressionType
from moldau.records.control import ControlRecordType, EndTransactionMarker, build_end_transaction_marker
from moldau.records.convert import down_convert, up_convert
from moldau.records.legacy import build_message_set, entries, read_message_set
from moldau.records.reader import read_batch
from moldau.records.record import Record, TimestampType
from tests.unit.records.record_strategies import LEGACY_CODECS, some_records, without_headers


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("codec", LEGACY_CODECS)
def test_a_produced_message_set_becomes_one_batch_of_its_codec(codec: CompressionType, magic: int) -> None:
    records = some_records(50, base_offset=900)
    batch = RecordBatch(up_convert(build_message_set(records, magic, codec)))
    batch.check_produced()
    expected = [record._replace(offset=index) for index, record in enumerate(without_headers(records, magic))]
    assert read_batch(batch) == expected
    assert (batch.compression_type, batch.count, batch.base_offset) == (codec, 50, 0)
    assert batch.max_timestamp == max(record.timestamp for record in expected)


def test_six_messages_after_offset_1024_are_1025_to_1030_for_an_old_consumer() -> None:
    produced = build_message_set([Record(index, 50 + index, None, b"m") for index in range(6)], 1, CompressionType.LZ4)
    data = bytearray(up_convert(produced))
    RecordBatch(data).assign(1025, 0)
    (wrapper,) = entries(down_convert(data, 1))
    assert wrapper.offset == 1030
    assert [record.offset for record in wrapper.records()] == [1025, 1026, 1027, 1028, 1029, 1030]
    assert RecordBatch(data).next_offset == 1031
    RecordBatch(data).set_log_append_time(777)
    (wrapper,) = entries(down_convert(data, 1))
    assert wrapper.timestamp_type is TimestampType.LOG_APPEND_TIME
    assert {record.timestamp for record in wrapper.records()} == {777}


def test_offsets_that_old_clients_number_wrongly_do_not_matter() -> None:
    messages = b"".join(build_message_set([Record(0, 0, None, b"%d" % index)], 1) for index in range(3))
    assert [(r.offset, r.value) for r in read_batch(RecordBatch(up_convert(messages)))] == [
        (0, b"0"),
        (1, b"1"),
        (2, b"2"),
    ]


def test_what_an_old_producer_may_not_send_is_refused() -> None:
    one, other = build_message_set(some_records(1), 0), build_message_set(some_records(1), 1)
    with pytest.raises(CorruptRecord, match="of different magics") as raised:
        up_convert(one + other)
    assert raised.value.code is ErrorCode.INVALID_RECORD
    with pytest.raises(CorruptRecord, match="there is no message in the set") as raised:
        up_convert(b"")
    assert raised.value.code is ErrorCode.INVALID_RECORD
    with pytest.raises(CorruptRecord, match="may not set a log append time") as raised:
        up_convert(build_message_set(some_records(1), 1, log_append_time_ms=5))
    assert raised.value.code is ErrorCode.INVALID_TIMESTAMP
    with pytest.raises(CorruptRecord, match="bytes follow the last message"):
        up_convert(one + b"half a message")


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("codec", LEGACY_CODECS)
def test_batches_are_converted_down_with_offsets_and_codec(codec: CompressionType, magic: int) -> None:
    records = some_records(30, base_offset=50)
    data = build_batch(records, codec, base_offset=50, producer=Producer(1, 0, 0), transactional=True)
    converted = down_convert(data, magic)
    assert converted == build_message_set(records, magic, codec)
    assert read_message_set(entries(converted)) == without_headers(records, magic)


def test_a_fetch_inside_a_batch_drops_what_is_before_it_unless_compressed() -> None:
    records = some_records(10)
    plain, packed = build_batch(records), build_batch(records, CompressionType.SNAPPY)
    assert [r.offset for r in read_message_set(entries(down_convert(plain, 1, 7)))] == [7, 8, 9]
    assert [r.offset for r in read_message_set(entries(down_convert(packed, 1, 7)))] == list(range(10))


def test_control_batches_and_empty_ones_are_left_out() -> None:
    marker = build_end_transaction_marker(EndTransactionMarker(ControlRecordType.COMMIT, 0), 1, 0, 5, base_offset=3)
    data = build_batch(some_records(3)) + marker + build_batch([], base_offset=4, last_offset=6)
    assert down_convert(data, 1) == build_message_set(some_records(3), 1)
    assert down_convert(marker, 0) == b""


def test_zstd_has_no_older_format() -> None:
    with pytest.raises(ApiError, match="the batch at offset 0 is compressed with zstd") as raised:
        down_convert(build_batch(some_records(), CompressionType.ZSTD), 1)
    assert raised.value.code is ErrorCode.UNSUPPORTED_COMPRESSION_TYPE


@pytest.mark.parametrize("codec", LEGACY_CODECS)
def test_older_formats_stay_or_lose_their_times(codec: CompressionType) -> None:
    old, newer = build_message_set(some_records(5), 0, codec), build_message_set(some_records(5), 1, codec)
    assert down_convert(old + newer, 1) == old + newer
    assert read_message_set(entries(down_convert(old + newer, 0))) == without_headers(some_records(5), 0) * 2
    assert down_convert(newer + b"partial", 1) == newer
