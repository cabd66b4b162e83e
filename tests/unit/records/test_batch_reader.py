"""Reading records strictly: what is not exactly a batch's records is corrupt."""

from __future__ import annotations

import pytest

from moldau.base.errors import CorruptRecord
from moldau.records.batch import RecordBatch
from moldau.records.builder import build_batch, encode_records
from moldau.records.reader import read_batch, read_section
from moldau.records.record import Record
from moldau.records.varint import SMALL_VARINTS, decode_varint, encode_varint
from tests.unit.records.record_strategies import reseal, some_records


def record_bytes(body: str) -> bytes:
    content = bytes.fromhex(body)
    return encode_varint(len(content)) + content


def test_zigzag_makes_small_numbers_small() -> None:
    assert [encode_varint(number)[0] for number in (0, -1, 1, -2, 2)] == [0, 1, 2, 3, 4]
    assert [len(encode_varint(number)) for number in (63, 64, 8191, 8192, 2**31 - 1, -(2**63))] == [1, 2, 2, 3, 5, 10]


def test_the_table_of_small_varints_is_right() -> None:
    assert len(SMALL_VARINTS) == 8192
    assert all(encoded == encode_varint(number) for number, encoded in enumerate(SMALL_VARINTS))


def test_a_varint_has_at_most_5_bytes_and_a_varlong_10() -> None:
    assert decode_varint(b"\xff\xff\xff\xff\x0f", 0) == (-(2**31), 5)
    assert decode_varint(b"\xff" * 9 + b"\x01", 0, 10) == (-(2**63), 10)
    with pytest.raises(CorruptRecord, match="goes on after 5 bytes"):
        decode_varint(b"\x80" * 5 + b"\x01", 0)
    with pytest.raises(CorruptRecord, match="does not fit in 32 bits"):
        decode_varint(b"\xff\xff\xff\xff\x1f", 0)
    with pytest.raises(CorruptRecord, match="goes on after 10 bytes"):
        decode_varint(b"\x80" * 10 + b"\x01", 0, 10)
    with pytest.raises(CorruptRecord, match="does not fit in 64 bits"):
        decode_varint(b"\xff" * 9 + b"\x02", 0, 10)


@pytest.mark.parametrize("delta", [1 << 31, 1 << 40, -(1 << 40), (1 << 62) + 1])
def test_timestamp_deltas_are_64_bits(delta: int) -> None:
    records = [Record(0, 0, None, b"a"), Record(1, delta, None, b"b")]
    assert read_batch(RecordBatch(build_batch(records))) == records


def test_timestamps_at_both_ends_of_64_bits_share_a_batch() -> None:
    records = [Record(0, -1, None, b""), Record(1, 2**63 - 1, None, b""), Record(2, 0, None, b"")]
    assert read_batch(RecordBatch(build_batch(records))) == records


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ("00 00 00 01 01", "1 records cannot be in 6 bytes"),
        ("00 00 00 01 01 00 00", "record 0 of the batch says that it ends at byte 8, and ends at 7"),
        ("00 00 00 04 61 01 00", "the 1 records go on after their 8 bytes"),
        ("00 00 00 03 61 01 00", "negative length or offset delta"),
        ("00 00 00 01 03 61 00", "negative length or offset delta"),
        ("00 00 01 01 01 00", "negative length or offset delta"),
        ("00 00 02 01 01 00", "offset delta 1, the last is 0"),
        ("00 00 00 01 01 01", "-1 headers cannot be in 0 bytes"),
        ("00 00 00 01 01 04 00 01", "2 headers cannot be in 2 bytes"),
        ("00 00 00 01 01 02 01 01", "a header has a negative length"),
        ("00 00 00 01 01 02 00 03 00", "a header has a negative length"),
        ("00 00 80 80 80 80 80 01 01 01 00", "goes on after 5 bytes"),
        ("00 80 80 80 80 80 80 80 80 80 80 01 00 01 01 00", "goes on after 10 bytes"),
    ],
)
def test_a_record_that_is_not_one_is_corrupt(body: str, problem: str) -> None:
    with pytest.raises(CorruptRecord) as raised:
        read_section(record_bytes(body), 1, 0, 0, 0)
    assert problem in raised.value.message


def test_the_count_must_be_exact() -> None:
    section = encode_records(some_records(3), 0, 0)
    assert len(read_section(section, 3, 0, 2, 0)) == 3
    with pytest.raises(CorruptRecord, match="bytes follow the last of 2 records"):
        read_section(section, 2, 0, 2, 0)
    with pytest.raises(CorruptRecord, match="the 4 records go on after"):
        read_section(section, 4, 0, 3, 0)
    with pytest.raises(CorruptRecord, match="2147483647 records cannot be in"):
        read_section(section, 2**31 - 1, 0, 3, 0)
    with pytest.raises(CorruptRecord, match="-1 records cannot be in"):
        read_section(section, -1, 0, 3, 0)


def test_an_emptied_batch_has_no_records() -> None:
    empty = RecordBatch(build_batch([], base_offset=5, last_offset=9))
    empty.check()
    assert (read_batch(empty), empty.next_offset) == ([], 10)


def test_header_keys_that_are_not_utf8_survive() -> None:
    section = record_bytes("00 00 00 01 01 02 04 ff fe 02 61")
    (record,) = read_section(section, 1, 0, 0, 0)
    assert record.headers == (("\udcff\udcfe", b"a"),)
    assert encode_records([record], 0, 0) == section


def test_more_bytes_than_allowed_are_refused_also_uncompressed() -> None:
    batch = RecordBatch(build_batch(some_records()))
    with pytest.raises(CorruptRecord, match="more than 100"):
        read_batch(batch, 100)


def test_every_truncation_of_the_records_is_corrupt() -> None:
    data = build_batch(some_records(6))
    for end in range(61, len(data)):
        batch = RecordBatch(reseal(data[:end]))
        batch.check()
        with pytest.raises(CorruptRecord):
            read_batch(batch)
