"""Building batches: sizes of the specification, room, codecs."""

from __future__ import annotations

import pytest

from moldau.records.batch import Producer, RecordBatch
from moldau.records.builder import BatchBuilder, build_batch, encode_record
from moldau.records.compression import CompressionType
from moldau.records.reader import read_batch
from moldau.records.record import Record
from tests.unit.records.record_strategies import CODECS, some_records


def test_a_batch_of_16384_bytes_holds_819_records_of_12() -> None:
    builder = BatchBuilder(16384)
    while builder.append(1_700_000_000_000, None, b"hello world ") is not None:
        pass
    assert (builder.count, builder.size_bytes, len(builder.build())) == (819, 16377, 16377)


def test_sizes_of_single_records_are_those_of_the_format() -> None:
    assert len(build_batch([Record(0, 1, b"key", b"hello")])) == 61 + 15
    assert len(build_batch([Record(0, 1, None, bytes(15))])) == 83
    length, body = encode_record(100, 100, b"key", b"hello", (("key", b"hello"),))
    assert len(length) + len(body) == 27
    length, body = encode_record(100, 100, None, b"hello", (("key", b"hello"),))
    assert len(length) + len(body) == 24


def test_the_first_record_always_has_room_and_a_full_batch_says_so() -> None:
    builder = BatchBuilder(100)
    assert [builder.is_full, builder.append(5, b"k", bytes(1000)), builder.is_full] == [False, 0, True]
    assert builder.append(5, None, b"") is None
    assert builder.count == 1


@pytest.mark.parametrize("codec", CODECS)
def test_appended_records_make_the_batch_that_all_at_once_make(codec: CompressionType) -> None:
    records = some_records(300)
    builder = BatchBuilder(1 << 20, codec)
    assert [builder.append(*record[1:]) for record in records] == list(range(300))
    data = builder.build(Producer(3, 1, 9), transactional=True)
    assert data == build_batch(records, codec, producer=Producer(3, 1, 9), transactional=True)
    batch = RecordBatch(data)
    batch.check_produced()
    assert read_batch(batch) == records
    assert batch.max_timestamp == max(record.timestamp for record in records)
    assert batch.base_timestamp == records[0].timestamp


def test_a_compressed_batch_takes_as_much_as_the_ratio_promises() -> None:
    plain, squeezed = BatchBuilder(10_000), BatchBuilder(10_000, CompressionType.ZSTD, compression_ratio=0.1)
    while plain.append(0, None, bytes(90)) is not None:
        pass
    while squeezed.append(0, None, bytes(90)) is not None:
        pass
    assert squeezed.count > 9 * plain.count
    assert squeezed.size_bytes <= 10_000
    assert squeezed.records_bytes > 85_000
    assert len(squeezed.build()) < 2000


def test_numbers_of_every_size_are_encoded() -> None:
    records = [
        Record(0, 1 << 40, b"", b""),
        Record(63, 0, bytes(63), bytes(64)),
        Record(64, (1 << 40) + 8191, bytes(8191), bytes(8192)),
        Record(8192, (1 << 40) + 8192, None, bytes(1 << 20)),
        Record((1 << 31) - 1, (1 << 63) - 1, None, None, (("k" * 9000, bytes(9000)),)),
    ]
    batch = RecordBatch(build_batch(records))
    batch.check()
    assert read_batch(batch) == records


def test_a_producer_builds_no_empty_batch() -> None:
    with pytest.raises(AssertionError):
        BatchBuilder(100).build()
