"""Message sets of magic 0 and 1: sizes of the specification, wrappers, offsets and times, corruption."""

from __future__ import annotations

import struct
import zlib

import pytest

from moldau.base.errors import CorruptRecord
from moldau.records.compression import CompressionType, compress
from moldau.records.legacy import LegacyEntry, build_message_set, entries, read_message_set
from moldau.records.record import Record, TimestampType
from moldau.records.walk import spans
from tests.unit.records.record_strategies import LEGACY_CODECS, some_records, without_headers

COMPRESSED = [codec for codec in LEGACY_CODECS if codec is not CompressionType.NONE]


def read(data: bytes) -> list[Record]:
    return read_message_set(entries(data))


def entry_bytes(magic: int, attributes: int, tail: bytes, offset: int = 0) -> bytes:
    message = struct.pack(">bb", magic, attributes) + (bytes(8) if magic else b"") + tail
    return struct.pack(">qiI", offset, len(message) + 4, zlib.crc32(message)) + message


@pytest.mark.parametrize(
    ("magic", "key", "value", "size_bytes"),
    [
        (0, b"key", b"value", 34),
        (0, b"key", b"hello", 12 + 22),
        (0, None, b"hello", 12 + 19),
        (1, b"key", b"hello", 42),
        (1, None, b"hello", 39),
        (0, None, None, 26),
    ],
)
def test_sizes_are_those_of_the_format(magic: int, key: bytes | None, value: bytes | None, size_bytes: int) -> None:
    assert len(build_message_set([Record(0, 5, key, value)], magic)) == size_bytes


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("codec", LEGACY_CODECS)
def test_a_message_set_is_read_as_written_without_headers(codec: CompressionType, magic: int) -> None:
    records = some_records(50, base_offset=700)
    data = build_message_set(records, magic, codec)
    assert read(data) == without_headers(records, magic)
    assert len(list(spans(data))) == (1 if codec else 50)


def test_a_wrapper_has_the_offset_of_its_last_message_and_counts_inside_from_0() -> None:
    records = [Record(1025 + index, 100 + index, None, b"m") for index in range(6)]
    (wrapper,) = entries(build_message_set(records, 1, CompressionType.LZ4))
    assert (wrapper.offset, wrapper.key, wrapper.timestamp) == (1030, None, 105)
    assert wrapper.timestamp_type is TimestampType.CREATE_TIME
    assert wrapper.records() == records
    wrapper.offset = 5
    assert [record.offset for record in wrapper.records()] == [0, 1, 2, 3, 4, 5]


def test_a_wrapper_of_magic_0_has_absolute_offsets_inside() -> None:
    records = [Record(1025 + index, -1, None, b"m") for index in range(6)]
    (wrapper,) = entries(build_message_set(records, 0, CompressionType.GZIP))
    wrapper.offset = 99
    assert wrapper.records() == records
    assert wrapper.timestamp_type is TimestampType.NO_TIMESTAMP_TYPE


@pytest.mark.parametrize("codec", LEGACY_CODECS)
def test_log_append_time_is_the_time_of_all_messages(codec: CompressionType) -> None:
    data = build_message_set(some_records(), 1, codec, log_append_time_ms=1_800_000_000_000)
    assert all(entry.timestamp_type is TimestampType.LOG_APPEND_TIME for entry in entries(data))
    assert {record.timestamp for record in read(data)} == {1_800_000_000_000}


def test_a_wrapper_with_offset_0_keeps_the_offsets_inside() -> None:
    (wrapper,) = entries(build_message_set(some_records(3), 1, CompressionType.GZIP))
    wrapper.offset = 0
    assert [record.offset for record in wrapper.records()] == [0, 1, 2]


def test_a_message_of_13_bytes_is_refused() -> None:
    message = struct.pack(">qiI", 0, 13, 0) + bytes(9)
    with pytest.raises(CorruptRecord, match="entry at 0: 25 bytes are too few for magic 0"):
        read(message)
    shorter_than_magic_1 = struct.pack(">qiI", 0, 21, 0) + b"\x01" + bytes(16)
    with pytest.raises(CorruptRecord, match="33 bytes are too few for magic 1"):
        read(shorter_than_magic_1)


def test_a_partial_last_message_is_left_out_of_what_was_fetched() -> None:
    data = build_message_set(some_records(2), 1)
    assert len(read(data[:-1])) == 1
    with pytest.raises(CorruptRecord, match="bytes follow the last message of a set"):
        list(entries(data[:-1], whole=True))


def test_one_flipped_bit_in_a_message_is_found() -> None:
    data = build_message_set([Record(0, 5, b"key", b"value")], 1)
    for position in range(12, len(data)):
        flipped = bytearray(data)
        flipped[position] ^= 1
        with pytest.raises(CorruptRecord):
            read(bytes(flipped))


@pytest.mark.parametrize(
    ("attributes", "tail", "problem"),
    [
        (0, struct.pack(">ii", -1, 5), "a key or value of length 5 is not in 0 bytes"),
        (0, struct.pack(">ii", -2, 0), "a key or value of length -2 is not in 4 bytes"),
        (0, struct.pack(">ii", 4, 0), "its 34 bytes end before its value"),
        (0, struct.pack(">iib", -1, -1, 0), "it ends at byte 34 of 35"),
        (1, struct.pack(">ii", -1, -1), "it is compressed and has no value"),
        (4, struct.pack(">ii", -1, 0), "message format 1 cannot be compressed with zstd"),
        (7, struct.pack(">ii", -1, 0), "there is no compression type 7"),
    ],
)
def test_a_message_that_contradicts_itself_is_corrupt(attributes: int, tail: bytes, problem: str) -> None:
    with pytest.raises(CorruptRecord) as raised:
        read(entry_bytes(1, attributes, tail))
    assert problem in raised.value.message


def wrapper_of(inner: bytes, offset: int = 9) -> bytes:
    value = compress(CompressionType.GZIP, inner)
    return entry_bytes(1, CompressionType.GZIP, struct.pack(">ii", -1, len(value)) + value, offset)


@pytest.mark.parametrize(
    ("inner", "problem"),
    [
        (b"", "there is no message in the wrapper"),
        (build_message_set(some_records(1), 0), "of another magic or compressed itself"),
        (build_message_set(some_records(2), 1, CompressionType.GZIP), "of another magic or compressed itself"),
        (build_message_set([Record(10, 0, None, None)], 1), "has the larger offset 10"),
        (build_message_set(some_records(1), 1) + b"x", "1 bytes follow the last message of a set"),
    ],
)
def test_a_wrapper_around_what_is_no_message_set_is_corrupt(inner: bytes, problem: str) -> None:
    with pytest.raises(CorruptRecord) as raised:
        read(wrapper_of(inner))
    assert problem in raised.value.message


@pytest.mark.parametrize("codec", COMPRESSED)
def test_wrappers_share_one_limit(codec: CompressionType) -> None:
    wrapper = build_message_set([Record(0, 0, None, bytes(100_000))], 1, codec)
    assert len(read_message_set(entries(wrapper * 3), 400_000)) == 3
    with pytest.raises(CorruptRecord):
        read_message_set(entries(wrapper * 5), 400_000)


def test_uncompressed_messages_count_too() -> None:
    data = build_message_set(some_records(20), 1)
    with pytest.raises(CorruptRecord, match="bytes larger than it may be"):
        read_message_set(entries(data), 100)


def test_batches_are_not_entries() -> None:
    (span,) = spans(build_message_set(some_records(1), 1))
    with pytest.raises(CorruptRecord, match="a message set has no messages of magic 2"):
        LegacyEntry(build_message_set(some_records(1), 1), span._replace(magic=2))
