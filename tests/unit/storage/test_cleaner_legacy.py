"""Messages of magic 0 and 1 in a compacted log: they are cleaned with the others, and stay what they are."""

from __future__ import annotations

import struct
import zlib
from dataclasses import replace

import pytest

from moldau.base.errors import CorruptRecord
from moldau.records.batch import LOG_APPEND_TIME_FLAG
from moldau.records.builder import build_batch
from moldau.records.compression import CompressionType, compress
from moldau.records.legacy import LegacyEntry, build_message_set, entries
from moldau.records.record import NO_TIMESTAMP, Record, TimestampType
from moldau.storage.cleaner.offset_map import ENTRY_BYTES
from moldau.storage.log_settings import LogSettings
from tests.unit.records.record_strategies import LEGACY_CODECS
from tests.unit.storage.compacted_log import HOUR_MS, CompactedLog

RETENTION_MS = 24 * HOUR_MS
SEGMENTS_APART = LogSettings(
    compact=True, delete=False, segment_index_bytes=4096, segment_bytes=200, delete_retention_ms=RETENTION_MS
)
FILLING = bytes(120)  # a batch with it leaves no room for another in such a segment
COMPRESSED = [codec for codec in LEGACY_CODECS if codec is not CompressionType.NONE]

each_magic = pytest.mark.parametrize("magic", [0, 1])
each_codec = pytest.mark.parametrize("codec", LEGACY_CODECS)


def old(first_offset: int, *pairs: tuple[bytes | None, bytes | None]) -> list[Record]:
    return [Record(offset, 1_000 + offset, *pair) for offset, pair in enumerate(pairs, first_offset)]


def entry_of(data: bytes) -> LegacyEntry:
    (entry,) = entries(data, whole=True)
    return entry


def put_wrapper(log: CompactedLog, magic: int, codec: CompressionType, inner: bytes, offset: int) -> None:
    """A wrapper around anything."""
    value = compress(codec, inner, magic=magic)
    message = struct.pack(">bb", magic, codec) + (struct.pack(">q", 1_000) if magic else b"")
    message += struct.pack(">ii", -1, len(value)) + value
    log.put(struct.pack(">qiI", offset, len(message) + 4, zlib.crc32(message)) + message)


@each_magic
@each_codec
def test_old_messages_go_for_newer_records_of_any_format(magic: int, codec: CompressionType) -> None:
    log = CompactedLog()
    log.put(
        build_message_set(old(0, *((b"k%d" % (offset % 3), b"old %d" % offset) for offset in range(5))), magic, codec)
    )
    log.put(
        build_message_set(
            old(5, *((b"k%d" % (offset % 3), b"old %d" % offset) for offset in range(5, 8))), magic, codec
        )
    )
    log.roll()
    log.append((b"k1", b"new"))
    log.roll()
    size_bytes = log.log.size_bytes
    statistics = log.clean()
    assert (statistics.records_read, statistics.records_written, statistics.bytes_read) == (9, 3, size_bytes)
    assert statistics.bytes_written == log.log.size_bytes < size_bytes
    assert log.records() == [(5, b"k2", b"old 5"), (6, b"k0", b"old 6"), (8, b"k1", b"new")]
    assert {stored.magic for stored in log.stored() if stored.records[0].offset < 8} == {magic}
    assert [record.timestamp for stored in log.stored() for record in stored.records][:2] == (
        [1_005, 1_006] if magic else [NO_TIMESTAMP, NO_TIMESTAMP]
    )
    log.check_files()
    after = [stored.data for stored in log.stored()]
    log.clean()
    log.reopen()
    log.check_files()
    assert [stored.data for stored in log.stored()] == after


@each_magic
@each_codec
def test_an_entry_of_which_all_stays_is_the_same_bytes(magic: int, codec: CompressionType) -> None:
    log = CompactedLog()
    log.put(build_message_set(old(0, (b"a", b"1" * 50), (b"b", None), (b"c", b"")), magic, codec))
    log.append((b"d", b"2"))
    log.roll()
    before = [stored.data for stored in log.stored()]
    log.clean()
    assert [stored.data for stored in log.stored()] == before


@each_magic
@pytest.mark.parametrize("codec", COMPRESSED)
def test_a_wrapper_with_fewer_messages_is_of_its_magic_and_codec(magic: int, codec: CompressionType) -> None:
    log = CompactedLog()
    messages = old(0, (b"a", b"1"), (b"b", b"2"), (b"c", b"3"), (b"d", b"4"), (b"e", b"5"))
    log.put(build_message_set(messages, magic, codec))
    log.append((b"a", b"6"), (b"c", b"6"), (b"e", b"6"))
    log.roll()
    log.clean()
    wrapper = entry_of(next(log.stored()).data)
    assert (wrapper.magic, wrapper.compression_type, wrapper.offset) == (magic, codec, 3)
    assert wrapper.timestamp == (1_003 if magic else NO_TIMESTAMP)
    assert [record[:4] for record in wrapper.records()] == [
        (offset, 1_000 + offset if magic else NO_TIMESTAMP, key, value)
        for offset, key, value in ((1, b"b", b"2"), (3, b"d", b"4"))
    ]
    assert [message.offset for message in wrapper.messages()] == ([0, 2] if magic else [1, 3])


@each_codec
def test_a_log_append_time_stays_one(codec: CompressionType) -> None:
    log = CompactedLog()
    log.put(build_message_set(old(0, (b"a", b"1"), (b"b", b"2")), 1, codec, log_append_time_ms=777))
    log.append((b"a", b"3"))
    log.roll()
    log.clean()
    kept = entry_of(next(log.stored()).data)
    assert (kept.timestamp_type, kept.timestamp) == (TimestampType.LOG_APPEND_TIME, 777)
    assert kept.attributes == codec | LOG_APPEND_TIME_FLAG
    assert kept.records() == [Record(1, 777, b"b", b"2")]


def test_three_formats_in_one_segment_each_stay_their_own() -> None:
    log = CompactedLog()
    log.put(build_message_set(old(0, (b"a", b"1"), (b"b", b"1")), 0, CompressionType.SNAPPY))
    log.put(build_message_set(old(2, (b"c", b"1"), (b"b", b"2")), 1))
    log.append((b"d", b"1"), (b"e", b"1"), codec=CompressionType.LZ4)
    log.put(build_message_set(old(6, (b"d", b"2"), (b"f", b"1"), (b"a", b"2")), 1, CompressionType.LZ4))
    log.append((b"f", b"2"))
    log.roll()
    log.clean()
    assert [(stored.magic, [record.offset for record in stored.records]) for stored in log.stored()] == [
        (1, [2]),
        (1, [3]),
        (2, [5]),
        (1, [6, 8]),
        (2, [9]),
    ]
    log.check_files()


@each_magic
@each_codec
def test_a_message_without_a_key_goes(magic: int, codec: CompressionType) -> None:
    log = CompactedLog()
    log.put(build_message_set(old(0, (None, b"1"), (b"a", b"2"), (None, None)), magic, codec))
    log.append((b"b", b"3"))
    log.roll()
    assert log.clean().invalid_records == 2
    assert log.records() == [(1, b"a", b"2"), (3, b"b", b"3")]


@each_magic
@each_codec
@pytest.mark.parametrize("younger_ms", [RETENTION_MS - 1, RETENTION_MS])
def test_a_tombstone_goes_by_the_times_of_files(magic: int, codec: CompressionType, younger_ms: int) -> None:
    log = CompactedLog(settings=SEGMENTS_APART)
    tombstone = build_message_set(old(0, (b"a", None), (b"b", b"1")), magic, codec)
    log.put(tombstone)
    tombstone_ms = log.files.modified_ms(log.log.segments.first.path)
    log.roll()
    log.clock.advance(younger_ms)
    log.append((b"c", FILLING))
    log.roll()
    log.clean()
    # The first run has no clean part to go by. It leaves the times of files alone.
    assert b"".join(stored.data for stored in log.stored() if stored.magic == magic) == tombstone
    times = [log.files.modified_ms(segment.path) for segment in log.log.segments]
    assert times[:2] == [tombstone_ms, tombstone_ms + younger_ms]
    log.append((b"d", FILLING))
    log.roll()
    log.clean()
    goes = younger_ms == RETENTION_MS
    assert [offset for offset, _, _ in log.records()] == ([1, 2, 3] if goes else [0, 1, 2, 3])
    log.check_files()


@each_magic
@pytest.mark.parametrize("last", [(b"a", None), (None, b"1")])
@each_codec
def test_the_last_message_stays_so_that_followers_reach_the_end(
    magic: int, codec: CompressionType, last: tuple[bytes | None, bytes | None]
) -> None:
    log = CompactedLog(settings=replace(SEGMENTS_APART, delete_retention_ms=0))
    log.put(build_message_set(old(0, (b"x", b"1"), last), magic, codec))
    log.roll()
    for _ in range(2):
        log.clean()
        assert log.records() == [(0, b"x", b"1"), (1, *last)]
    log.append((b"x", FILLING))
    log.roll()
    log.clean()
    assert [offset for offset, _, _ in log.records()] == [2]


@each_magic
def test_keys_of_any_length_are_those_of_newer_formats(magic: int) -> None:
    log = CompactedLog()
    log.put(build_message_set(old(0, *((b"x" * size, b"1") for size in (31, 32, 33, 5000)), (b"y" * 33, b"1")), magic))
    log.append(*((b"x" * size, b"2") for size in (31, 32, 33, 5000)))
    log.roll()
    log.clean()
    assert [offset for offset, _, _ in log.records()] == [4, 5, 6, 7, 8]


@each_magic
@each_codec
def test_a_map_that_is_too_small_cleans_in_several_runs(magic: int, codec: CompressionType) -> None:
    log = CompactedLog()
    for first in range(0, 40, 4):
        pairs = ((b"k%d" % (offset % 10), None if offset % 2 else b"1") for offset in range(first, first + 4))
        log.put(build_message_set(old(first, *pairs), magic, codec))
    log.roll()
    runs = 0
    while log.clean_offset != 40:
        log.clean(budget_bytes=8 * ENTRY_BYTES)
        runs += 1
        assert runs <= 10
        assert {offset % 10 for offset, _, _ in log.records()} == set(range(10))
    assert runs > 1
    assert [offset for offset, _, _ in log.records()] == list(range(30, 40))
    log.check_files()


@pytest.mark.parametrize("codec", COMPRESSED)
def test_messages_of_magic_0_in_a_wrapper_of_magic_1_are_written_as_they_should_have_been(
    codec: CompressionType,
) -> None:
    log = CompactedLog()
    put_wrapper(log, 1, codec, build_message_set(old(0, (b"a", b"1"), (b"b", b"2")), 0), offset=1)
    put_wrapper(log, 1, codec, build_message_set(old(0, (b"c", b"3"), (b"a", b"4")), 0), offset=3)
    log.append((b"d", b"5"))
    log.roll()
    log.clean()
    assert log.records() == [(1, b"b", b"2"), (2, b"c", b"3"), (3, b"a", b"4"), (4, b"d", b"5")]
    for stored in list(log.stored())[:2]:
        wrapper = entry_of(stored.data)
        assert {wrapper.magic, *(message.magic for message in wrapper.messages())} == {1}
        assert wrapper.compression_type is codec
        assert {record.timestamp for record in wrapper.records()} == {NO_TIMESTAMP}


@pytest.mark.parametrize(
    ("magic", "offsets", "offset"),
    [(1, (0, 2, 1), 5), (0, (4, 4), 4), (0, (4, 6), 5), (0, (-1, 4), 5), (0, (1,), 2**32)],
)
def test_a_wrapper_whose_offsets_cannot_be_true_stops_the_cleaning_and_changes_nothing(
    magic: int, offsets: tuple[int, ...], offset: int
) -> None:
    log = CompactedLog()
    inner = b"".join(build_message_set([Record(one, 0, b"a", b"1")], magic) for one in offsets)
    put_wrapper(log, magic, CompressionType.GZIP, inner, offset)
    log.roll()
    before = log.log.segments.first.file.read(1000, 0)
    with pytest.raises(CorruptRecord, match=f"of the entry at offset {offset}"):
        log.clean()
    assert log.log.segments.first.file.read(1000, 0) == before


def test_a_cleaned_segment_is_never_larger() -> None:
    """As batches, messages this small would be more than twice as large, and a full segment more than 2 GiB."""
    log = CompactedLog()
    log.put(build_message_set(old(0, *((b"%d" % number, b"") for number in range(200))), 0))
    log.put(build_batch([Record(index, 5, b"%d" % index, b"") for index in range(200, 210)], base_offset=200))
    log.roll()
    size_bytes = log.log.segments.first.size_bytes
    log.clean()
    assert log.log.segments.first.size_bytes == size_bytes
