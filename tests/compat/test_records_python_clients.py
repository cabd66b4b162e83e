"""Batches and message sets of kafka-python and aiokafka are ours, and ours are theirs."""

from __future__ import annotations

import importlib.util
from typing import Any

import pytest
from aiokafka.record.default_records import DefaultRecordBatch, DefaultRecordBatchBuilder
from aiokafka.record.legacy_records import LegacyRecordBatchBuilder
from aiokafka.record.memory_records import MemoryRecords as AiokafkaRecords
from kafka import codec as kafka_python_codecs
from kafka.record import MemoryRecords, MemoryRecordsBuilder

from moldau.records.batch import Producer, RecordBatch
from moldau.records.builder import build_batch
from moldau.records.compression import CompressionType
from moldau.records.control import ControlRecordType, EndTransactionMarker, build_end_transaction_marker
from moldau.records.legacy import build_message_set, entries, read_message_set
from moldau.records.reader import read_batch
from moldau.records.record import Record
from tests.unit.records.record_strategies import CODECS, LEGACY_CODECS, some_records, without_headers

RECORDS = some_records(120)
PRODUCER = Producer(77, 4, 1000)


def needs_codec(codec: CompressionType, magic: int = 2) -> None:
    """kafka-python finds its codecs at run time; magic 0 with lz4 needs a hash of its own."""
    if codec and not getattr(kafka_python_codecs, f"has_{codec.name.lower()}")():
        pytest.skip(f"kafka-python has no library for {codec.name.lower()} here")
    if codec is CompressionType.LZ4 and magic == 0 and importlib.util.find_spec("xxhash") is None:
        pytest.skip("kafka-python needs xxhash for lz4 in magic 0")


def theirs(records: Any) -> list[Record]:
    """Records of either client, which have the same attributes; a missing timestamp is None there."""
    return [
        Record(
            record.offset,
            -1 if record.timestamp is None else record.timestamp,
            record.key,
            record.value,
            tuple(record.headers),
        )
        for record in records
    ]


@pytest.mark.parametrize("codec", CODECS)
def test_batches_of_kafka_python_are_read(codec: CompressionType) -> None:
    needs_codec(codec)
    builder = MemoryRecordsBuilder(magic=2, compression_type=int(codec), batch_size=1 << 20)
    for record in RECORDS:
        builder.append(record.timestamp, record.key, record.value, list(record.headers))
    builder.close()
    data = bytes(builder.buffer())
    batch = RecordBatch(data)
    batch.check_produced()
    assert read_batch(batch) == RECORDS
    if codec is CompressionType.NONE:
        assert data == build_batch(RECORDS, leader_epoch=0)


@pytest.mark.parametrize("codec", CODECS)
def test_our_batches_are_read_by_kafka_python(codec: CompressionType) -> None:
    needs_codec(codec)
    (batch,) = MemoryRecords(build_batch(RECORDS, codec, producer=PRODUCER, transactional=True))
    assert batch.validate_crc()
    assert (batch.producer_id, batch.producer_epoch, batch.base_sequence) == PRODUCER
    assert (batch.is_transactional, batch.is_control_batch) == (True, False)
    assert theirs(batch) == RECORDS


@pytest.mark.parametrize("codec", CODECS)
def test_batches_of_aiokafka_are_read(codec: CompressionType) -> None:
    builder = DefaultRecordBatchBuilder(
        magic=2,
        compression_type=int(codec),
        is_transactional=1,
        producer_id=PRODUCER.producer_id,
        producer_epoch=PRODUCER.producer_epoch,
        base_sequence=PRODUCER.base_sequence,
        batch_size=1 << 20,
    )
    for record in RECORDS:
        builder.append(record.offset, record.timestamp, record.key, record.value, list(record.headers))
    data = bytes(builder.build())
    batch = RecordBatch(data)
    batch.check_produced()
    assert read_batch(batch) == RECORDS
    assert (batch.producer, batch.is_transactional) == (PRODUCER, True)
    if codec is CompressionType.NONE:
        assert data == build_batch(RECORDS, producer=PRODUCER, transactional=True)


@pytest.mark.parametrize("codec", CODECS)
def test_our_batches_are_read_by_aiokafka(codec: CompressionType) -> None:
    batch = DefaultRecordBatch(build_batch(RECORDS, codec, producer=PRODUCER))
    assert batch.validate_crc()
    assert theirs(batch) == RECORDS


def test_our_markers_are_markers_to_both() -> None:
    data = build_end_transaction_marker(EndTransactionMarker(ControlRecordType.ABORT, 5), 9, 1, 77, base_offset=4)
    (kafka_python,) = MemoryRecords(data)
    aiokafka = DefaultRecordBatch(data)
    assert kafka_python.is_control_batch
    assert aiokafka.is_control_batch
    (record,) = kafka_python
    assert (record.abort, record.commit, record.offset) == (True, False, 4)


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("codec", LEGACY_CODECS)
def test_message_sets_of_kafka_python_are_read_and_ours_by_it(codec: CompressionType, magic: int) -> None:
    needs_codec(codec, magic)
    expected = without_headers(RECORDS, magic)
    builder = MemoryRecordsBuilder(magic=magic, compression_type=int(codec), batch_size=1 << 20)
    for record in RECORDS:
        builder.append(record.timestamp, record.key, record.value)
    builder.close()
    assert read_message_set(entries(bytes(builder.buffer()), whole=True)) == expected
    ours = [record for batch in MemoryRecords(build_message_set(RECORDS, magic, codec)) for record in theirs(batch)]
    assert ours == expected


@pytest.mark.parametrize(
    ("codec", "magic"),
    [(codec, magic) for codec in LEGACY_CODECS for magic in (0, 1) if (codec, magic) != (CompressionType.LZ4, 0)],
)
def test_message_sets_of_aiokafka_are_read_and_ours_by_it(codec: CompressionType, magic: int) -> None:
    expected = without_headers(RECORDS, magic)
    builder = LegacyRecordBatchBuilder(magic, int(codec), 1 << 20)
    for record in RECORDS:
        builder.append(record.offset, record.timestamp, record.key, record.value)
    assert read_message_set(entries(bytes(builder.build()), whole=True)) == expected
    reader = AiokafkaRecords(build_message_set(RECORDS, magic, codec))
    ours = []
    while reader.has_next():
        ours += theirs(reader.next_batch())
    assert ours == expected
