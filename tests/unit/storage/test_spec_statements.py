"""The testable statements of the specification that storage has to make true, each under its number.

Statements 12, 59 and 60 of the book and 000-3, 000-4, 000-5 and 001-5 of its corrections have tests beside what they
are about: directories, retention, the cleaner, `meta.properties`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from moldau.base.config.broker_config import load_broker_config
from moldau.records.batch import HEADER_BYTES
from moldau.records.builder import build_batch
from moldau.records.compression import CompressionType
from moldau.records.legacy import build_message_set
from moldau.records.record import Record, TimestampType
from moldau.storage.log import Log
from moldau.storage.log_reading import find_timestamp
from moldau.storage.log_settings import LogSettings
from moldau.storage.retention import enforce_retention
from moldau.storage.scan import scan
from tests.unit.storage.log_workbench import START_MS, Workbench, append, batch, read_all

KEYED = Record(0, START_MS, b"key", b"hello")
KEYLESS = Record(1, START_MS, None, b"hello")
FULL_BATCH_RECORDS, FULL_BATCH_BYTES = 819, 16_377


def log_file(bench: Workbench, base_offset: int = 0, kind: str = "log") -> Path:
    return bench.directory / f"{base_offset:020d}.{kind}"


def left_by_an_old_broker(tmp_path: Path, message_set: bytes) -> tuple[Workbench, Log]:
    """A log whose only file is one that a broker before 0.11 has written."""
    bench = Workbench(tmp_path)
    bench.directory.mkdir()
    log_file(bench).write_bytes(message_set)
    return bench, bench.open()


@pytest.mark.parametrize(
    ("records", "magic", "size_bytes"),
    [([KEYED], 1, 42), ([KEYED, KEYLESS], 1, 81), ([KEYED], 0, 12 + 22), ([KEYED, KEYLESS], 0, 12 + 22 + 12 + 19)],
)
def test_statement_53_sizes_of_logs_in_old_formats(
    tmp_path: Path, records: list[Record], magic: int, size_bytes: int
) -> None:
    bench, log = left_by_an_old_broker(tmp_path, build_message_set(records, magic))
    assert log_file(bench).stat().st_size == log.size_bytes == size_bytes
    assert log.log_end_offset == len(records)
    assert [summary.last_offset for summary in log.segments.active.scan()] == [record.offset for record in records]


def test_statement_53_key_hello_takes_76_bytes_of_which_the_record_has_15(tmp_path: Path) -> None:
    bench = Workbench(tmp_path)
    bench.open().append_as_leader(bytearray(build_batch([KEYED])), 0)
    assert log_file(bench).stat().st_size == 76 == HEADER_BYTES + 15


def test_statement_13_milliseconds_win_over_minutes_and_minutes_over_hours() -> None:
    values = {"log.retention.hours": "3", "log.retention.minutes": "7", "log.retention.ms": "11"}
    for expected in (11, 7 * 60_000, 3 * 3_600_000):
        assert LogSettings.of(load_broker_config(values).topic({})).retention_ms == expected
        values.popitem()


def test_statement_58_a_full_segment_is_followed_by_a_triple_and_its_indexes_are_trimmed(tmp_path: Path) -> None:
    bench = Workbench(tmp_path, segment_bytes=50_000)
    log = bench.open()
    append(log, 30, size_bytes=4_500)
    bases = [segment.base_offset for segment in log.segments]
    assert len(bases) == 3
    for base_offset in bases[:-1]:
        assert log_file(bench, base_offset).stat().st_size <= 50_000
        assert log_file(bench, base_offset, "index").stat().st_size % 8 == 0
        assert log_file(bench, base_offset, "timeindex").stat().st_size % 12 == 0
        assert 0 < log_file(bench, base_offset, "index").stat().st_size < 1_000
    assert log_file(bench, bases[-1], "index").stat().st_size == 10 * 1024 * 1024
    assert log_file(bench, bases[-1], "timeindex").stat().st_size == 10 * 1024 * 1024 // 12 * 12
    first = log.segments.first
    entry = first.offset_index.lookup(5)
    assert 0 < entry.offset <= 5
    assert entry.position > 0, "the search does not begin at the start of the file"
    found = first.locate(5)
    assert found is not None
    assert found.base_offset == 5


def test_statement_59_only_whole_segments_go_and_never_the_active_one(tmp_path: Path) -> None:
    log = Workbench(tmp_path, segment_bytes=1_000, retention_bytes=0, retention_ms=-1).open()
    append(log, 20)
    log.append_as_leader(batch(b"not replicated"), 0)
    active = log.segments.active
    enforce_retention(log, START_MS)
    assert list(log.segments) == [active]
    assert log.log_start_offset == active.base_offset
    assert [record.offset for record in read_all(log)] == list(range(active.base_offset, 21))


def test_corrections_000_1_and_2_full_batches_of_12_byte_values(tmp_path: Path) -> None:
    bench = Workbench(tmp_path, segment_bytes=104_857_600)
    log = bench.open()
    sent = bytearray(build_batch([Record(n, START_MS, None, b"x" * 12) for n in range(FULL_BATCH_RECORDS)]))
    assert len(sent) == FULL_BATCH_BYTES
    while len(log.segments) == 1:
        sent[0:8] = bytes(8)
        log.append_as_leader(sent, 0)
    first, second = log.segments
    assert second.base_offset == 5_243_238
    assert log_file(bench, 0, "index").stat().st_size == 51_208
    for row in (1, 2, 100, 6_401):
        last_offset = (row + 1) * FULL_BATCH_RECORDS - 1
        assert first.offset_index.lookup(last_offset) == (last_offset, row * FULL_BATCH_BYTES)


@pytest.mark.parametrize("timestamp_type", [TimestampType.CREATE_TIME, TimestampType.LOG_APPEND_TIME])
def test_corrections_001_2_six_old_messages_after_offset_1024(tmp_path: Path, timestamp_type: TimestampType) -> None:
    bench = Workbench(tmp_path, message_timestamp_type=timestamp_type)
    log = bench.open()
    log.append_as_leader(bytearray(build_batch([Record(n, START_MS, None, b"v") for n in range(1025)])), 0)
    bench.clock.advance(5_000)
    six = build_message_set([Record(n, START_MS + n, None, b"v") for n in range(6)], 1, CompressionType.LZ4)
    result = log.append_as_leader(six, 0)
    assert (result.first_offset, result.last_offset) == (1025, 1030)
    later = read_all(log, 1025)
    assert [record.offset for record in later] == [1025, 1026, 1027, 1028, 1029, 1030]
    stamped = timestamp_type is TimestampType.LOG_APPEND_TIME
    expected = [START_MS + 5_000] * 6 if stamped else [START_MS + n for n in range(6)]
    assert [record.timestamp for record in later] == expected
    assert log.append_as_leader(batch(b"next"), 0).first_offset == 1031


def test_corrections_001_3_key_value_in_magic_0_takes_34_bytes(tmp_path: Path) -> None:
    bench, log = left_by_an_old_broker(tmp_path, build_message_set([Record(0, -1, b"key", b"value")], 0))
    assert log_file(bench).stat().st_size == log.size_bytes == 34


def test_logs_of_old_brokers_are_recovered_up_to_the_first_damage(tmp_path: Path) -> None:
    old = build_message_set([Record(n, START_MS + n, b"key", b"v" * 50) for n in range(10)], 1)
    wrapped = build_message_set([Record(n, START_MS, b"k", b"v") for n in range(10, 15)], 1, CompressionType.GZIP)
    new = build_batch([Record(15 + n, START_MS, b"k", b"v") for n in range(3)], base_offset=15, leader_epoch=2)
    damaged = bytearray(build_message_set([Record(18, START_MS, b"key", b"value")], 1))
    damaged[-1] ^= 1
    _, log = left_by_an_old_broker(tmp_path, old + wrapped + new + damaged)
    assert (log.log_end_offset, log.size_bytes) == (18, len(old + wrapped + new))
    assert log.leader_epochs.entries == [(2, 15)]
    assert [s.last_offset for s in scan(log.segments.active.file.read, 0, log.size_bytes)] == [*range(10), 14, 17]
    assert log.segments.active.largest_timestamp == (START_MS + 9, 9)
    assert find_timestamp(log, START_MS + 4) == (4, START_MS + 4, -1)
