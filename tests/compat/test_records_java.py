"""The Java client's records are ours and ours are its, in every format and codec; `RecordsOracle.java` asks it."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from moldau.records.batch import NO_PRODUCER, Producer, RecordBatch
from moldau.records.builder import build_batch
from moldau.records.columns import columns_from_batches
from moldau.records.compression import LEVELS, CompressionType
from moldau.records.control import ControlRecordType, EndTransactionMarker, build_end_transaction_marker
from moldau.records.convert import down_convert, up_convert
from moldau.records.legacy import build_message_set, entries, read_message_set
from moldau.records.reader import read_batch
from moldau.records.rebuild import recompress, retain_records
from moldau.records.record import Record
from moldau.records.walk import batches
from tests.java_tools import fetch_jars, require_java, run_java
from tests.unit.records.record_strategies import CODECS, LEGACY_CODECS, some_records, without_headers

pytestmark = [pytest.mark.java, pytest.mark.slow]

SOURCE = Path(__file__).parent / "java" / "RecordsOracle.java"
LIBRARIES = [
    "org.slf4j:slf4j-api:1.7.36",
    "org.slf4j:slf4j-nop:1.7.36",
    "org.xerial.snappy:snappy-java:1.1.10.5",
    "org.lz4:lz4-java:1.8.0",
    "com.github.luben:zstd-jni:1.5.6-4",
]
BASE_OFFSET = 900
RECORDS = some_records(150, BASE_OFFSET)
LARGE = [Record(BASE_OFFSET, 5, None, random.Random(1).randbytes(200_000) + bytes(200_000))]
PRODUCER = Producer(77, 4, 1000)


class Oracle:
    """The Java client of one version, which answers all questions of a test in one run."""

    def __init__(self, version: str) -> None:
        self._jars = fetch_jars(f"org.apache.kafka:kafka-clients:{version}", *LIBRARIES)

    def ask(self, commands: list[str]) -> list[str]:
        return run_java(SOURCE, self._jars, stdin="".join(f"{command}\n" for command in commands)).splitlines()


@pytest.fixture(scope="module", params=["3.9.1", "4.0.0"])
def oracle(request: pytest.FixtureRequest) -> Oracle:
    require_java()
    return Oracle(str(request.param))


def text(data: bytes | None) -> str:
    return "n" if data is None else "x" + data.hex()


def data_of(word: str) -> bytes:
    assert word.startswith("x"), word
    return bytes.fromhex(word[1:])


def words_of(records: list[Record]) -> str:
    return " ".join(
        ":".join(
            [str(record.offset), str(record.timestamp), text(record.key), text(record.value)]
            + [part for key, value in record.headers for part in (text(key.encode()), text(value))]
        )
        for record in records
    )


def records_of(answer: str) -> list[Record]:
    records = []
    for word in answer.split():
        if word.startswith("batch:"):
            continue
        offset, timestamp, *parts = word.split(":")
        key, value, *headers = (None if part == "n" else data_of(part) for part in parts)
        pairs = tuple(
            ((name or b"").decode(), content) for name, content in zip(headers[::2], headers[1::2], strict=True)
        )
        records.append(Record(int(offset), int(timestamp), key, value, pairs))
    return records


def build_command(
    records: list[Record], magic: int, codec: CompressionType, producer: Producer = NO_PRODUCER, time: int = -1
) -> str:
    transactional = str(producer != NO_PRODUCER).lower()
    fields = (magic, codec.name.lower(), time, BASE_OFFSET, 6, *producer, transactional)
    return f"build {' '.join(map(str, fields))} {words_of(records)}"


def test_their_batches_are_read_by_us(oracle: Oracle) -> None:
    commands = [build_command(records, 2, codec, PRODUCER) for codec in CODECS for records in (RECORDS, LARGE)]
    answers = iter(oracle.ask(commands))
    for codec in CODECS:
        for records in (RECORDS, LARGE):
            data = data_of(next(answers))
            batch = RecordBatch(data)
            batch.check()
            assert read_batch(batch) == records
            assert columns_from_batches([batch])["value"].to_pylist() == [record.value for record in records]
            assert (batch.compression_type, batch.producer, batch.leader_epoch) == (codec, PRODUCER, 6)
            if codec is CompressionType.NONE:
                assert data == build_batch(
                    records, base_offset=BASE_OFFSET, leader_epoch=6, producer=PRODUCER, transactional=True
                )


def test_our_batches_are_read_by_them(oracle: Oracle) -> None:
    made = [
        (records, codec, build_batch(records, codec, level, base_offset=BASE_OFFSET, producer=PRODUCER))
        for codec in CODECS
        for level in {None, *LEVELS.get(codec, ())}
        for records in (RECORDS, LARGE)
    ]
    answers = oracle.ask([f"read {data.hex()}" for _, _, data in made])
    for (records, codec, _), answer in zip(made, answers, strict=True):
        last = records[-1].offset
        assert answer.split()[0] == f"batch:2:900:{last}:{codec.name.lower()}:0:-1:77:4:1000::-1"
        assert records_of(answer) == records


def test_their_message_sets_are_read_by_us_and_ours_by_them(oracle: Oracle) -> None:
    cases = [
        (magic, codec, time) for magic in (0, 1) for codec in LEGACY_CODECS for time in ((-1, 7777) if magic else (-1,))
    ]
    plain = without_headers(RECORDS)
    commands = [build_command(plain, magic, codec, time=time) for magic, codec, time in cases]
    ours = [
        build_message_set(RECORDS, magic, codec, log_append_time_ms=None if time < 0 else time)
        for magic, codec, time in cases
    ]
    answers = oracle.ask(commands + [f"read {data.hex()}" for data in ours])
    for (magic, codec, time), data, built, read in zip(cases, ours, answers, answers[len(cases) :], strict=False):
        expected = without_headers(RECORDS, magic)
        if time >= 0:
            expected = [record._replace(timestamp=time) for record in expected]
        assert read_message_set(entries(data_of(built), whole=True)) == expected
        assert records_of(read) == expected
        if codec is CompressionType.NONE:
            assert data == data_of(built)


def test_markers_are_the_same_bytes(oracle: Oracle) -> None:
    answers = oracle.ask([f"marker {commit} 12 99 7 3 1000 5" for commit in ("true", "false")])
    for kind, answer in zip((ControlRecordType.COMMIT, ControlRecordType.ABORT), answers, strict=True):
        marker = EndTransactionMarker(kind, 12)
        assert data_of(answer) == build_end_transaction_marker(marker, 1000, 5, 99, base_offset=7, leader_epoch=3)


def test_conversion_down_is_theirs(oracle: Oracle) -> None:
    marker = build_end_transaction_marker(EndTransactionMarker(ControlRecordType.COMMIT, 0), 1, 0, 5, base_offset=1050)
    cases = [
        (magic, first_offset, codec, time)
        for magic in (0, 1)
        for first_offset in (0, 950)
        for codec in LEGACY_CODECS
        for time in (None, 7777)
    ]
    fetched = [
        build_batch(RECORDS, codec, base_offset=BASE_OFFSET, log_append_time_ms=time) + marker
        for _, _, codec, time in cases
    ]
    commands = [f"down {magic} {first} {data.hex()}" for (magic, first, _, _), data in zip(cases, fetched, strict=True)]
    answers = oracle.ask([*commands, f"down 1 0 {build_batch(RECORDS, CompressionType.ZSTD).hex()}"])
    assert answers.pop() == "UnsupportedCompressionTypeException"
    for (magic, first_offset, codec, _), data, answer in zip(cases, fetched, answers, strict=True):
        converted = down_convert(data, magic, first_offset)
        assert read_message_set(entries(converted)) == read_message_set(entries(data_of(answer)))
        assert len(list(entries(converted))) == len(list(entries(data_of(answer))))
        if codec is CompressionType.NONE:
            assert converted == data_of(answer)


def test_rebuilt_and_converted_batches_are_read_by_them(oracle: Oracle) -> None:
    batch = RecordBatch(build_batch(RECORDS, base_offset=BASE_OFFSET, producer=PRODUCER, transactional=True))
    kept = RECORDS[10:90:7]
    made = [(retain_records(batch, kept, delete_horizon_ms=1_900_000_000_000), kept), (retain_records(batch, []), [])]
    made += [(recompress(batch, codec), RECORDS) for codec in CODECS]
    for magic in (0, 1):
        for codec in LEGACY_CODECS:
            converted = [record._replace(offset=index) for index, record in enumerate(without_headers(RECORDS, magic))]
            made.append((up_convert(build_message_set(RECORDS, magic, codec)), converted))
    answers = oracle.ask([f"read {data.hex()}" for data, _ in made])
    for (_, expected), answer in zip(made, answers, strict=True):
        assert records_of(answer) == expected
    assert answers[0].split()[0] == "batch:2:900:1049:none:0:-1:77:4:1000:t:1900000000000"
    assert answers[1].split() == ["batch:2:900:1049:none:0:-1:77:4:1000:t:-1"]


def test_several_batches_in_one_buffer_are_found_by_both(oracle: Oracle) -> None:
    data = b"".join(build_batch(RECORDS, codec, base_offset=BASE_OFFSET) for codec in CODECS)
    (answer,) = oracle.ask([f"read {(data + data[:100]).hex()}"])
    assert records_of(answer) == RECORDS * 5
    assert len(list(batches(data + data[:100]))) == 5
