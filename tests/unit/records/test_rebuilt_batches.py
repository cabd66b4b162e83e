"""Batches made from batches: other codecs, fewer records."""

from __future__ import annotations

import pytest

from moldau.records.batch import Producer, RecordBatch
from moldau.records.builder import build_batch
from moldau.records.compression import CompressionType
from moldau.records.reader import read_batch
from moldau.records.rebuild import recompress, retain_records
from moldau.records.record import TimestampType
from tests.unit.records.record_strategies import CODECS, some_records

HEADER_FIELDS = (
    "base_offset",
    "leader_epoch",
    "last_offset_delta",
    "base_timestamp",
    "max_timestamp",
    "producer",
    "count",
    "timestamp_type",
    "is_transactional",
)


def original(codec: CompressionType = CompressionType.NONE, log_append_time_ms: int | None = None) -> RecordBatch:
    return RecordBatch(
        build_batch(
            some_records(30, base_offset=400),
            codec,
            base_offset=400,
            leader_epoch=6,
            producer=Producer(8, 1, 70),
            transactional=True,
            log_append_time_ms=log_append_time_ms,
        )
    )


@pytest.mark.parametrize("target", CODECS)
@pytest.mark.parametrize("source", CODECS)
def test_recompression_changes_the_codec_and_nothing_else(source: CompressionType, target: CompressionType) -> None:
    before = original(source, log_append_time_ms=5)
    after = RecordBatch(recompress(before, target))
    after.check_produced() if after.timestamp_type is TimestampType.CREATE_TIME else after.check()
    assert after.compression_type is target
    assert [getattr(after, name) for name in HEADER_FIELDS] == [getattr(before, name) for name in HEADER_FIELDS]
    assert read_batch(after) == read_batch(before)
    if target is CompressionType.NONE:
        assert bytes(after.data) == bytes(original(log_append_time_ms=5).data)


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("log_append_time_ms", [None, 1_800_000_000_000])
def test_compaction_keeps_offsets_times_and_producer(codec: CompressionType, log_append_time_ms: int | None) -> None:
    before = original(codec, log_append_time_ms)
    kept = read_batch(before)[5:20:3]
    after = RecordBatch(retain_records(before, kept))
    after.check()
    assert read_batch(after) == kept
    assert (after.base_offset, after.last_offset, after.count) == (400, 429, 5)
    assert (after.producer, after.last_sequence) == (before.producer, before.last_sequence)
    assert after.timestamp_type is before.timestamp_type
    assert after.max_timestamp == log_append_time_ms or max(record.timestamp for record in kept)


def test_a_delete_horizon_moves_the_base_of_the_timestamps_but_not_the_timestamps() -> None:
    before = original()
    kept = read_batch(before)[3:9]
    marked = RecordBatch(retain_records(before, kept, delete_horizon_ms=1_900_000_000_000))
    marked.check()
    assert (marked.delete_horizon_ms, marked.base_timestamp) == (1_900_000_000_000, 1_900_000_000_000)
    assert read_batch(marked) == kept
    again = RecordBatch(retain_records(marked, kept[:2]))
    assert (again.delete_horizon_ms, read_batch(again)) == (1_900_000_000_000, kept[:2])


@pytest.mark.parametrize("codec", CODECS)
def test_a_batch_with_no_records_left_remembers_its_producer(codec: CompressionType) -> None:
    before = original(codec)
    empty = RecordBatch(retain_records(before, []))
    empty.check()
    assert (empty.size_bytes, empty.count, read_batch(empty)) == (61, 0, [])
    assert (empty.base_offset, empty.last_offset, empty.last_sequence) == (400, 429, before.last_sequence)
    assert (empty.compression_type, empty.is_transactional) == (CompressionType.NONE, True)
    assert recompress(empty, CompressionType.ZSTD) == bytes(empty.data)
