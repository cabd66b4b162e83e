"""The header view: fields, in-place changes, and every check with its text."""

from __future__ import annotations

import mmap
import struct
import tempfile

import pytest
from crc32c import crc32c as crc32c_of_the_package

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import CorruptRecord
from moldau.records.batch import Producer, RecordBatch, add_to_sequence
from moldau.records.builder import build_batch
from moldau.records.checksum import crc32c
from moldau.records.compression import CompressionType
from moldau.records.reader import read_batch
from moldau.records.record import Record, TimestampType
from moldau.records.walk import batches
from tests.unit.records.record_strategies import reseal, some_records

# A batch of one record (value `hello`, no key), base offset 7 and leader epoch 3, laid out by hand from the format's
# description; its checksum is left open.
STORED = bytes.fromhex(
    "0000000000000007"
    "0000003d"
    "00000003"
    "02"
    "00000000"
    "0000"
    "00000000"
    "0000018bcfe56800"
    "0000018bcfe56800"
    "ffffffffffffffff"
    "ffff"
    "ffffffff"
    "00000001"
    "16000000010a68656c6c6f00"
)


def batch_of(data: bytes, **fields: int) -> RecordBatch:
    """A batch whose header says otherwise than its builder did, with the right checksum."""
    batch = RecordBatch(bytearray(data))
    for name, value in fields.items():
        setattr(batch, name, value)
    batch.set_max_timestamp(batch.max_timestamp)
    return RecordBatch(batch.buffer)


def test_the_checksum_is_crc_32c() -> None:
    assert crc32c(b"123456789") == 0xE3069283
    assert crc32c(b"6789", crc32c(b"12345")) == 0xE3069283
    assert crc32c_of_the_package(b"123456789") == 0xE3069283


def test_fields_of_the_header_are_where_kafka_has_them() -> None:
    batch = RecordBatch(reseal(STORED))
    batch.check()
    assert (batch.base_offset, batch.last_offset, batch.next_offset) == (7, 7, 8)
    assert (batch.size_bytes, batch.count, batch.magic, batch.leader_epoch) == (73, 1, 2, 3)
    assert (batch.base_timestamp, batch.max_timestamp) == (1_700_000_000_000, 1_700_000_000_000)
    assert batch.producer == Producer(-1, -1, -1)
    assert batch.compression_type is CompressionType.NONE
    assert batch.timestamp_type is TimestampType.CREATE_TIME
    assert (batch.is_transactional, batch.is_control, batch.delete_horizon_ms) == (False, False, None)
    assert read_batch(batch) == [Record(7, 1_700_000_000_000, None, b"hello")]
    assert bytes(batch.data) == reseal(STORED)
    assert bytes(batch.records_section) == STORED[61:]


def test_attributes_name_codec_time_transaction_and_control() -> None:
    data = build_batch(
        some_records(),
        CompressionType.LZ4,
        producer=Producer(9, 2, 5),
        transactional=True,
        control=True,
        log_append_time_ms=77,
        delete_horizon_ms=88,
    )
    batch = RecordBatch(data)
    batch.check()
    assert batch.attributes == 0x7B
    assert batch.compression_type is CompressionType.LZ4
    assert batch.timestamp_type is TimestampType.LOG_APPEND_TIME
    assert (batch.is_transactional, batch.is_control, batch.delete_horizon_ms) == (True, True, 88)
    assert batch.producer == (9, 2, 5)
    assert "offsets=[0, 39], count=40" in repr(batch)


def test_offset_and_epoch_are_assigned_in_place_without_touching_the_checksum() -> None:
    data = bytearray(build_batch(some_records()))
    before = bytes(data)
    batch = RecordBatch(data)
    batch.assign(1_000_000_000_000, 12)
    fresh = RecordBatch(data)
    fresh.check()
    assert (fresh.base_offset, fresh.leader_epoch, fresh.crc) == (1_000_000_000_000, 12, RecordBatch(before).crc)
    assert data[16:] == before[16:]
    assert [record.offset for record in read_batch(fresh)] == [1_000_000_000_000 + index for index in range(40)]


def test_log_append_time_becomes_the_time_of_every_record() -> None:
    data = bytearray(b"before" + build_batch(some_records(), CompressionType.GZIP) + b"after")
    RecordBatch(data, 6).set_log_append_time(1_800_000_000_000)
    batch = RecordBatch(data, 6)
    batch.check()
    assert data.startswith(b"before")
    assert data.endswith(b"after")
    assert batch.timestamp_type is TimestampType.LOG_APPEND_TIME
    assert {record.timestamp for record in read_batch(batch)} == {1_800_000_000_000}


def test_producer_can_be_changed_in_place() -> None:
    data = bytearray(build_batch(some_records(), producer=Producer(1, 0, 40)))
    RecordBatch(data).set_producer(Producer(1, 1, 0))
    batch = RecordBatch(data)
    batch.check_produced()
    assert (batch.producer, batch.last_sequence) == (Producer(1, 1, 0), 39)


def test_sequences_wrap_at_31_bits() -> None:
    assert add_to_sequence(2**31 - 1, 1) == 0
    assert add_to_sequence(2**31 - 2, 3) == 1
    batch = RecordBatch(build_batch(some_records(3), producer=Producer(1, 0, 2**31 - 2)))
    assert batch.last_sequence == 0
    assert RecordBatch(build_batch(some_records(3))).last_sequence == -1


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"length": 48}, "its size 60 is less than a header's 61 bytes"),
        ({"length": 1000}, "its size is 1012 bytes, but 73 are there"),
        ({"magic": 3}, "its magic is 3, not 2"),
        ({"count": -1}, "it has -1 records and last offset delta 0"),
        ({"count": 2}, "it has 2 records and last offset delta 0"),
        ({"last_offset_delta": -1, "count": 0}, "it has 0 records and last offset delta -1"),
        ({"base_offset": -5}, "its base offset is -5"),
        ({"base_offset": 2**63 - 1}, "its base offset is 9223372036854775807"),
    ],
)
def test_a_header_that_contradicts_itself_is_corrupt(changes: dict[str, int], problem: str) -> None:
    batch = RecordBatch(bytearray(reseal(STORED)))
    for name, value in changes.items():
        setattr(batch, name, value)
    if "length" not in changes:
        batch.set_max_timestamp(batch.max_timestamp)
    with pytest.raises(CorruptRecord) as raised:
        batch.check()
    assert raised.value.code is ErrorCode.CORRUPT_MESSAGE
    assert raised.value.message == f"record batch at 0, base offset {batch.base_offset}: {problem}"


def test_one_flipped_bit_anywhere_after_the_checksum_is_found() -> None:
    data = build_batch(some_records(3))
    for position in range(21, len(data)):
        flipped = bytearray(data)
        flipped[position] ^= 1
        with pytest.raises(CorruptRecord, match="its checksum is"):
            RecordBatch(flipped).check()


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"count": 39}, "it has 39 records and last offset delta 39"),
        ({"attributes": 0x20}, "clients may not write control records"),
        ({"attributes": 0x40}, "clients may not set a delete horizon"),
        ({"producer_id": 4}, "its base sequence is -1 with producer id 4"),
    ],
)
def test_what_only_brokers_may_write_is_an_invalid_record(fields: dict[str, int], problem: str) -> None:
    batch = batch_of(build_batch(some_records()), **fields)
    batch.check()
    with pytest.raises(CorruptRecord) as raised:
        batch.check_produced()
    assert raised.value.code is ErrorCode.INVALID_RECORD
    assert raised.value.message.endswith(problem)


def test_a_log_append_time_of_a_producer_is_an_invalid_timestamp() -> None:
    batch = batch_of(build_batch(some_records()), attributes=0x08)
    with pytest.raises(CorruptRecord, match="clients may not set a log append time") as raised:
        batch.check_produced()
    assert raised.value.code is ErrorCode.INVALID_TIMESTAMP


def test_a_codec_that_does_not_exist_is_corrupt() -> None:
    batch = batch_of(build_batch(some_records()), attributes=5)
    with pytest.raises(CorruptRecord, match="there is no compression type 5"):
        read_batch(batch)


def test_a_batch_in_a_mapped_file_is_read_where_it_lies() -> None:
    data = build_batch(some_records()) * 3
    with tempfile.TemporaryFile() as file:
        file.write(data)
        file.flush()
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
            found = [(batch.position, len(read_batch(batch))) for batch in batches(mapped)]
            for batch in batches(mapped):
                batch.check()
            del batch
    assert found == [(index * len(data) // 3, 40) for index in range(3)]


def test_a_buffer_shorter_than_a_header_is_not_a_batch() -> None:
    with pytest.raises(struct.error):
        RecordBatch(bytes(60))
