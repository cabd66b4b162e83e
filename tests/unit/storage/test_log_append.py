"""What a log takes in: offsets, checks, rolling, and what stands in the files afterwards."""

from __future__ import annotations

from pathlib import Path

import pytest

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError, CorruptRecord
from moldau.records.batch import Producer, RecordBatch
from moldau.records.compression import CompressionType
from moldau.records.legacy import build_message_set
from moldau.records.reader import read_batch
from moldau.records.record import Record, TimestampType
from moldau.storage.log_reading import find_slice
from tests.unit.storage.log_workbench import START_MS, Workbench, append, batch, read_all, records


def refused(log: object, data: bytearray) -> ErrorCode:
    with pytest.raises(ApiError) as caught:
        log.append_as_leader(data, 0)  # type: ignore[attr-defined]
    return caught.value.code


def test_batches_get_consecutive_offsets_and_the_leaders_epoch(tmp_path: Path) -> None:
    log = Workbench(tmp_path).open()
    assert log.append_as_leader(batch(b"a", b"b"), 7)[:2] == (0, 1)
    assert log.append_as_leader(batch(b"c"), 7)[:2] == (2, 2)
    piece = find_slice(log, 0, 3, 10_000)
    assert piece is not None
    first = RecordBatch(piece.read())
    assert (first.base_offset, first.leader_epoch) == (0, 7)
    assert [(r.offset, r.value) for r in read_all(log)] == [(0, b"a"), (1, b"b"), (2, b"c")]
    assert log.leader_epochs.entries == [(7, 0)]


def test_key_hello_takes_76_bytes(tmp_path: Path) -> None:
    bench = Workbench(tmp_path)
    log = bench.open()
    log.append_as_leader(batch(b"hello"), 0)
    assert (bench.directory / "00000000000000000000.log").stat().st_size == 76


def test_a_producers_bytes_are_stored_as_they_came_but_for_offset_and_epoch(tmp_path: Path) -> None:
    log = Workbench(tmp_path).open()
    sent = batch(b"x" * 500, codec=CompressionType.LZ4)
    before = bytes(sent)
    log.append_as_leader(memoryview(sent), 3)
    piece = find_slice(log, 0, 1, 10_000)
    assert piece is not None
    assert bytes(piece.read())[16:] == before[16:]


@pytest.mark.parametrize("damage", [17, 22, 26, 58, 62, 70])
def test_damaged_batches_are_refused_and_leave_nothing(tmp_path: Path, damage: int) -> None:
    log = Workbench(tmp_path).open()
    append(log, 2)
    broken = batch(b"value")
    broken[damage] ^= 0x10
    with pytest.raises(CorruptRecord):
        log.append_as_leader(broken, 0)
    assert (log.log_end_offset, len(read_all(log))) == (2, 2)


@pytest.mark.parametrize("cut", [0, 1, 60, 70])
def test_half_a_batch_is_refused(tmp_path: Path, cut: int) -> None:
    log = Workbench(tmp_path).open()
    with pytest.raises(CorruptRecord):
        log.append_as_leader(batch(b"value")[:cut], 0)


def test_a_batch_larger_than_allowed_is_refused(tmp_path: Path) -> None:
    log = Workbench(tmp_path, max_message_bytes=200).open()
    assert refused(log, batch(b"x" * 200)) == ErrorCode.MESSAGE_TOO_LARGE
    log.append_as_leader(batch(b"x" * 100), 0)


def test_a_compacted_topic_needs_keys(tmp_path: Path) -> None:
    log = Workbench(tmp_path, compact=True).open()
    assert refused(log, batch(b"value", key=None)) == ErrorCode.INVALID_RECORD
    log.append_as_leader(batch(b"value"), 0)


def test_timestamps_are_bounded_where_the_topic_says_so(tmp_path: Path) -> None:
    log = Workbench(tmp_path, message_timestamp_before_max_ms=1000, message_timestamp_after_max_ms=500).open()
    assert refused(log, batch(timestamp=START_MS - 1001)) == ErrorCode.INVALID_TIMESTAMP
    assert refused(log, batch(timestamp=START_MS + 501)) == ErrorCode.INVALID_TIMESTAMP
    log.append_as_leader(batch(timestamp=START_MS - 1000), 0)
    log.append_as_leader(batch(timestamp=START_MS + 500), 0)


def test_log_append_time_is_the_brokers_for_all_records(tmp_path: Path) -> None:
    bench = Workbench(tmp_path, message_timestamp_type=TimestampType.LOG_APPEND_TIME)
    log = bench.open()
    bench.clock.advance(1234)
    result = log.append_as_leader(batch(b"a", b"b", timestamp=5), 0)
    assert result.log_append_time == START_MS + 1234
    assert {record.timestamp for record in read_all(log)} == {START_MS + 1234}


@pytest.mark.parametrize("codec", list(CompressionType))
def test_a_topic_may_ask_for_another_codec(tmp_path: Path, codec: CompressionType) -> None:
    log = Workbench(tmp_path, compression_type=codec).open()
    log.append_as_leader(batch(b"x" * 300, b"y" * 300, codec=CompressionType.GZIP), 0)
    piece = find_slice(log, 0, 2, 10_000)
    assert piece is not None
    stored = RecordBatch(piece.read())
    stored.check()
    assert stored.compression_type is codec
    assert [record.value for record in read_batch(stored)] == [b"x" * 300, b"y" * 300]


@pytest.mark.parametrize("magic", [0, 1])
def test_message_sets_of_old_clients_become_batches(tmp_path: Path, magic: int) -> None:
    log = Workbench(tmp_path).open()
    append(log, 3)
    old = build_message_set(records(b"a", b"b"), magic)
    assert log.append_as_leader(bytearray(old), 0)[:2] == (3, 4)
    assert [(r.offset, r.value) for r in read_all(log, 3)] == [(3, b"a"), (4, b"b")]


def test_a_retried_batch_is_answered_with_its_first_offset_and_stored_once(tmp_path: Path) -> None:
    log = Workbench(tmp_path).open()
    append(log, 5)
    sent = [batch(b"%d" % n, producer=Producer(9, 0, n)) for n in range(3)]
    assert [log.append_as_leader(bytearray(one), 0).first_offset for one in sent] == [5, 6, 7]
    again = log.append_as_leader(bytearray(sent[1]), 0)
    assert (again.first_offset, again.duplicate, log.log_end_offset) == (6, True, 8)
    assert refused(log, batch(b"gap", producer=Producer(9, 0, 5))) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert log.log_end_offset == 8


def test_a_segment_rolls_before_it_would_grow_too_large(tmp_path: Path) -> None:
    bench = Workbench(tmp_path, segment_bytes=1000, index_interval_bytes=100, segment_index_bytes=800)
    log = bench.open()
    append(log, 20)
    size = len(batch(b".".ljust(100)))
    per_segment = 1000 // size
    bases = [segment.base_offset for segment in log.segments]
    assert bases == list(range(0, 20, per_segment))
    names = bench.names
    for base in bases:
        for kind in (".log", ".index", ".timeindex"):
            assert f"{base:020d}{kind}" in names
        assert (f"{base:020d}.snapshot" in names) == (base > 0)
    rolled = bench.directory / f"{bases[0]:020d}.index"
    assert rolled.stat().st_size % 8 == 0 < rolled.stat().st_size < 800
    assert (bench.directory / f"{bases[0]:020d}.timeindex").stat().st_size % 12 == 0
    assert (bench.directory / f"{bases[-1]:020d}.index").stat().st_size == 800
    assert (bench.directory / f"{bases[-1]:020d}.timeindex").stat().st_size == 792


def test_a_segment_rolls_by_the_time_between_its_first_batch_and_the_next(tmp_path: Path) -> None:
    bench = Workbench(tmp_path, segment_ms=1000)
    log = bench.open()
    log.append_as_leader(batch(timestamp=START_MS), 0)
    bench.clock.advance(5000)  # a quiet topic does not roll by the clock alone
    log.append_as_leader(batch(timestamp=START_MS + 1000), 0)
    assert len(log.segments) == 1
    log.append_as_leader(batch(timestamp=START_MS + 1001), 0)
    assert [segment.base_offset for segment in log.segments] == [0, 2]


def test_a_full_index_begins_a_new_segment(tmp_path: Path) -> None:
    log = Workbench(tmp_path, segment_index_bytes=40, index_interval_bytes=0).open()
    append(log, 30)
    assert len(log.segments) > 3
    assert [int(record.value.rstrip(b".")) for record in read_all(log) if record.value] == list(range(30))


def test_a_follower_keeps_offsets_and_epochs(tmp_path: Path) -> None:
    leader, follower = Workbench(tmp_path / "a").open(), Workbench(tmp_path / "b").open()
    append(leader, 3, epoch=1)
    append(leader, 2, epoch=4)
    piece = find_slice(leader, 0, 5, 10_000)
    assert piece is not None
    data = bytes(piece.read())
    follower.append_as_follower(data + data[:30])  # fetched data may end in the middle of a batch
    assert follower.log_end_offset == 5
    assert follower.leader_epochs.entries == [(1, 0), (4, 3)]
    assert (follower.place.directory / "00000000000000000000.log").read_bytes() == data
    with pytest.raises(ApiError, match="the leader sent offset 0 where 5"):
        follower.append_as_follower(data)


@pytest.mark.parametrize("codec", [CompressionType.NONE, CompressionType.GZIP])
@pytest.mark.parametrize("magic", [0, 1])
def test_a_follower_keeps_the_messages_of_an_old_log(tmp_path: Path, magic: int, codec: CompressionType) -> None:
    bench = Workbench(tmp_path)
    follower = bench.open()
    follower.append_as_follower(bytes(batch(b"new", b"newer")))
    sent = [Record(offset, START_MS + offset, None, b"old %d" % offset) for offset in range(2, 7)]
    data = build_message_set(sent, magic, codec)
    result = follower.append_as_follower(data + data[:20])
    assert result is not None
    assert (result.first_offset, follower.log_end_offset) == (2, 7)
    assert (bench.directory / "00000000000000000000.log").read_bytes().endswith(data)
    torn = bytearray(build_message_set([Record(7, START_MS, None, b"old 7")], magic, codec))
    torn[-1] ^= 1
    with pytest.raises(CorruptRecord):
        follower.append_as_follower(torn)


def test_appends_go_on_in_the_file_that_is_kept_while_somebody_holds_the_one_of_before(tmp_path: Path) -> None:
    log = Workbench(tmp_path).open()
    log.append_as_leader(batch(b"one"), 0)
    open_files, path = log.place.open_files, log.segments.active.path
    syncing = open_files.get(path)  # as a thread does
    open_files.forget(path)
    log.append_as_leader(batch(b"two"), 0)
    assert open_files.get(path) is not syncing
    open_files.get(path).truncate(log.segments.active.size_bytes)
    log.append_as_leader(batch(b"three"), 0)
    assert [record.value for record in read_all(log)] == [b"one", b"two", b"three"]
