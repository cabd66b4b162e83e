"""Kafka's own DumpLogSegments reads our segments, indexes and snapshots, and has nothing to complain about."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from moldau.records.batch import Producer
from moldau.records.builder import BatchBuilder
from moldau.records.compression import CompressionType
from moldau.records.reader import read_batch
from moldau.storage.log import Log
from tests.compat.jvm_kafka import dump_log_segments
from tests.compat.storage_samples import ABORTING_ID, COMMITTING_ID, IDEMPOTENT_ID, write_samples
from tests.property.log_agreement import contents
from tests.unit.storage.log_workbench import START_MS, Workbench, whole

pytestmark = [pytest.mark.java, pytest.mark.slow]

SETTINGS = {"segment_bytes": 8000, "index_interval_bytes": 500, "segment_index_bytes": 4096}
DUMPED = (".log", ".index", ".timeindex", ".txnindex", ".snapshot")
BATCH_LINE = re.compile(
    r"^baseOffset: (\d+) lastOffset: (\d+) count: (\d+) .* position: (\d+) .* size: (\d+) ", re.MULTILINE
)


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> tuple[Workbench, Log]:
    bench = Workbench(tmp_path_factory.mktemp("dump"), None, **SETTINGS)
    log = bench.open()
    write_samples(log)
    log.close()
    return bench, log


def files_of(bench: Workbench, *suffixes: str) -> list[Path]:
    return [path for path in sorted(bench.directory.iterdir()) if path.suffix in (suffixes or DUMPED)]


def assert_no_complaint(text: str) -> None:
    """Complaints of the tool: an invalid batch, `Mismatches in …`, `Indexed offset …, found log offset …`."""
    assert not re.search(
        r"isvalid: false|mismatch|out of order|non-consecutive|found log|not found|error|exception", text, re.IGNORECASE
    )


def test_every_record_of_every_codec_is_read(sample: tuple[Workbench, Log]) -> None:
    bench, log = sample
    text = dump_log_segments(files_of(bench), "--deep-iteration", "--print-data-log")
    assert_no_complaint(text)
    stored = list(whole(contents(log, 0)))
    batches = [tuple(map(int, match.groups()[:3])) for match in BATCH_LINE.finditer(text)]
    assert batches == [(batch.base_offset, batch.last_offset, batch.count) for batch in stored]
    assert text.count("isvalid: true") == len(stored)
    for codec in CompressionType:
        assert f"compresscodec: {codec.name.lower()} " in text
    records = re.findall(r"^\| offset: (\d+) .*payload: (value\S*)$", text, re.MULTILINE)
    ours = [record for batch in stored if not batch.is_control for record in read_batch(batch)]
    assert records == [(str(record.offset), (record.value or b"").decode()) for record in ours]
    assert len(re.findall(r"endTxnMarker: (?:COMMIT|ABORT) coordinatorEpoch: 0$", text, re.MULTILINE)) == sum(
        batch.is_control for batch in stored
    )


def test_the_indexes_pass_its_sanity_check(sample: tuple[Workbench, Log]) -> None:
    bench, _ = sample
    indexes = files_of(bench, ".index", ".timeindex")
    text = dump_log_segments(indexes, "--index-sanity-check")
    assert_no_complaint(text)
    assert text.count("passed sanity check.") == len(indexes)


def test_what_the_indexes_say_is_true_of_the_log(sample: tuple[Workbench, Log]) -> None:
    bench, _ = sample
    assert_no_complaint(dump_log_segments(files_of(bench, ".index", ".timeindex"), "--verify-index-only"))


def test_an_index_that_is_wrong_is_noticed(sample: tuple[Workbench, Log], tmp_path: Path) -> None:
    """So that the tests above would notice as well."""
    _, log = sample
    segment = log.segments.first
    data = bytearray(segment.offset_index.path.read_bytes())
    data[7] ^= 1
    (tmp_path / segment.offset_index.path.name).write_bytes(data)
    (tmp_path / segment.path.name).write_bytes(segment.path.read_bytes())
    with pytest.raises(AssertionError):
        assert_no_complaint(dump_log_segments([tmp_path / segment.offset_index.path.name]))


def test_indexes_of_a_log_in_use_are_read(tmp_path: Path) -> None:
    """Preallocated, with zeros behind the last entry, as a killed broker leaves them."""
    bench = Workbench(tmp_path, None, **SETTINGS)
    log = bench.open()
    write_samples(log)
    text = dump_log_segments(files_of(bench))
    assert_no_complaint(text)
    active = log.segments.active
    assert f"offset: {active.offset_index.last_offset} position: " in text


def test_aborted_transactions_and_producers_are_read(sample: tuple[Workbench, Log]) -> None:
    bench, log = sample
    text = dump_log_segments(files_of(bench, ".txnindex"))
    found = re.findall(r"producerId: (\d+) firstOffset: (\d+) lastOffset: (\d+) lastStableOffset: (\d+)", text)
    ours = [transaction for segment in log.segments for transaction in segment.transaction_index.all()]
    assert [tuple(map(int, fields)) for fields in found] == ours
    assert {transaction.producer_id for transaction in ours} == {ABORTING_ID}

    newest = max(files_of(bench, ".snapshot"))
    text = dump_log_segments([newest])
    producers = re.findall(r"producerId: (\d+) producerEpoch: 0 .* lastSequence: (\d+) lastOffset: (\d+)", text)
    state = log.producer_state.producers
    assert [tuple(map(int, fields)) for fields in producers] == [
        (key, batch.last_sequence, batch.last_offset) for key, entry in state.items() for batch in entry.batches
    ]
    assert state.keys() == {IDEMPOTENT_ID, COMMITTING_ID, ABORTING_ID}


def test_ten_million_small_records_lie_where_they_should(tmp_path: Path) -> None:
    """Values of 12 bytes without keys, `batch.size` 16384 and `segment.bytes` 104857600."""
    builder = BatchBuilder(16384)
    while builder.append(START_MS, None, b"hello world ") is not None:
        pass
    assert (builder.count, builder.size_bytes) == (819, 16377)
    data = bytearray(builder.build(Producer()))
    bench = Workbench(tmp_path, None, segment_bytes=104_857_600)
    log = bench.open()
    for _ in range(6403):
        log.append_as_leader(data, 0)
    log.close()
    first, second = log.segments
    assert (first.size_bytes, second.base_offset) == (104_845_554, 5_243_238)
    assert second.path.name == "00000000000005243238.log"
    assert first.offset_index.path.stat().st_size == 51_208

    text = dump_log_segments([first.path], "--max-bytes", str(20 * 16377))
    rows = [tuple(map(int, match.groups())) for match in BATCH_LINE.finditer(text)]
    assert rows == [(k * 819, k * 819 + 818, 819, k * 16377, 16377) for k in range(20)]
    text = dump_log_segments([first.offset_index.path])
    assert_no_complaint(text)
    entries = re.findall(r"^offset: (\d+) position: (\d+)$", text, re.MULTILINE)
    assert [tuple(map(int, entry)) for entry in entries] == [(k * 819 + 818, k * 16377) for k in range(1, 6402)]
