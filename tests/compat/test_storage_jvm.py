"""One data directory, two implementations: a JVM broker on what we wrote, and we on what it wrote.

The broker is started twice. At first it makes the topics and fills two of them, and is stopped; we open what it left.
Then our partitions are put in its directory, it is started on them, read through an independent client, filled further
and killed; we open what that left.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import pytest

from moldau.base.clock import SystemClock
from moldau.records.reader import read_batch
from moldau.records.walk import batches
from moldau.storage.checkpoints import (
    LEADER_EPOCH_CHECKPOINT,
    LOG_START_CHECKPOINT,
    RECOVERY_POINT_CHECKPOINT,
    REPLICATION_CHECKPOINT,
    read_leader_epochs,
    read_offsets,
)
from moldau.storage.directory_files import read_meta_properties, was_clean_shutdown, write_meta_properties
from moldau.storage.disk_files import DiskFiles
from moldau.storage.log import Log
from moldau.storage.log_loading import Checkpointed, load_log
from moldau.storage.log_place import LogPlace
from moldau.storage.log_reading import aborted_transactions
from moldau.storage.log_settings import LogSettings
from moldau.storage.open_files import OpenFiles
from tests.compat.jvm_kafka import JvmKafka
from tests.compat.storage_samples import write_samples
from tests.property.log_agreement import check_indexes, contents
from tests.unit.storage.compacted_log import SETTINGS as COMPACTED
from tests.unit.storage.compacted_log import CompactedLog, latest
from tests.unit.storage.log_workbench import Workbench
from tests.unit.storage.snapshot_bytes import as_kafka_reads_it

pytestmark = [pytest.mark.java, pytest.mark.slow]

FILES = DiskFiles()
SMALL: dict[str, Any] = {"segment_bytes": 8000, "index_interval_bytes": 500}
READ_S_MAX = 15
PLAIN_COUNT = 600
DERIVED = (".index", ".timeindex", ".txnindex", ".snapshot")


class Interop(NamedTuple):
    """What each side wrote, and the copies of the broker's directory after its stop and after its death."""

    stopped: Path
    killed: Path
    plain: list[bytes]
    committed: list[bytes]
    aborted: list[bytes]
    more: list[bytes]
    read: dict[str, list[tuple[bytes | None, bytes | None]]]
    our_values: list[bytes]
    our_aborted: list[bytes]
    our_state: dict[bytes | None, bytes | None]


@pytest.fixture(scope="module")
def interop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Interop]:
    folder = tmp_path_factory.mktemp("jvm")
    with JvmKafka(folder, log_retention_ms=-1) as kafka:  # our records are from long ago
        kafka.start()
        for topic in ("ours", "theirs", "transactions"):
            kafka.create_topic(topic, **SMALL)
        kafka.create_topic("compacted", cleanup_policy="compact", **SMALL)
        plain = produce(kafka, "theirs", PLAIN_COUNT)
        committed, aborted = produce_in_transactions(kafka, "transactions")
        kafka.stop()
        stopped = copy(kafka.data, folder / "stopped")
        our_values, our_aborted = put_our_log(kafka.data, folder)
        our_state = put_our_compacted_log(kafka.data, folder)
        kafka.start()
        read = {
            "ours": consume(kafka, "ours", len(our_values)),
            "ours committed": consume(kafka, "ours", len(our_values) - len(our_aborted), "read_committed"),
            "compacted": consume(kafka, "compacted", None),
        }
        more = produce(kafka, "theirs", 100)
        kafka.kill()
        killed = copy(kafka.data, folder / "killed")
    yield Interop(stopped, killed, plain, committed, aborted, more, read, our_values, our_aborted, our_state)
    shutil.rmtree(folder)


# -- what the broker does


def produce(kafka: JvmKafka, topic: str, count: int) -> list[bytes]:
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": kafka.bootstrap, "enable.idempotence": True, "linger.ms": 0})
    values = [b"value-%d " % number * 10 for number in range(count)]
    for number, value in enumerate(values):
        producer.produce(topic, value, b"key-%d" % (number % 10))
        if number % 3 == 0:
            producer.flush(READ_S_MAX)
    assert producer.flush(READ_S_MAX) == 0
    return values


def produce_in_transactions(kafka: JvmKafka, topic: str) -> tuple[list[bytes], list[bytes]]:
    """Committed and aborted ones in turn."""
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": kafka.bootstrap, "transactional.id": "t-1"})
    producer.init_transactions(READ_S_MAX)
    written: tuple[list[bytes], list[bytes]] = ([], [])
    for number in range(20):
        values = [b"transaction %d, %d" % (number, index) for index in range(5)]
        producer.begin_transaction()
        for value in values:
            producer.produce(topic, value)
        producer.flush(READ_S_MAX)
        if number % 2:
            producer.abort_transaction(READ_S_MAX)
        else:
            producer.commit_transaction(READ_S_MAX)
        written[number % 2].extend(values)
    return written


def consume(
    kafka: JvmKafka, topic: str, count: int | None, isolation: str = "read_uncommitted"
) -> list[tuple[bytes | None, bytes | None]]:
    """All records up to the end: as many as are expected, and none after them."""
    from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

    settings: dict[str, Any] = {"group.id": "g", "enable.auto.commit": False, "enable.partition.eof": True}
    consumer = Consumer({"bootstrap.servers": kafka.bootstrap, "isolation.level": isolation, **settings})
    consumer.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
    found: list[tuple[bytes | None, bytes | None]] = []
    try:
        while (message := consumer.poll(READ_S_MAX)) is not None:
            if message.error() is None:
                found.append((message.key(), message.value()))
            elif count is None or len(found) >= count:
                break  # the end of the partition
        return found
    finally:
        consumer.close()


# -- our part in the broker's directory


def put_our_log(data: Path, folder: Path) -> tuple[list[bytes], list[bytes]]:
    """A log of ours in the place of the empty one of a topic that the broker knows."""
    bench = Workbench(folder / "our", None, **SMALL)
    log = bench.open()
    written = write_samples(log, rounds_per_epoch=1000)
    log.close()
    put_partition(bench.directory, data / "ours-0")
    owner = read_meta_properties(FILES, data)
    assert owner is not None
    write_meta_properties(FILES, data, owner, SystemClock().now_ms())
    return written


def put_our_compacted_log(data: Path, folder: Path) -> dict[bytes | None, bytes | None]:
    """A log of ours that our cleaner has been over."""
    (folder / "our-compacted").mkdir()
    compacted = CompactedLog(FILES, COMPACTED, folder / "our-compacted")
    for number in range(300):
        compacted.append((b"key-%d" % (number % 7), b"value-%d" % number if number % 50 else None))
        if number % 40 == 39:
            compacted.roll()
    compacted.clean()
    expected = latest(compacted.records())
    assert len(list(compacted.records())) < 100
    compacted.log.close()
    put_partition(compacted.place.directory, data / "compacted-0")
    return expected


def put_partition(source: Path, target: Path) -> None:
    topic_id = (target / "partition.metadata").read_bytes()
    shutil.rmtree(target)
    shutil.copytree(source, target)
    (target / "partition.metadata").write_bytes(topic_id)


def copy(data: Path, target: Path) -> Path:
    shutil.copytree(data, target)
    return target


def open_partition(data: Path, name: str, *, clean: bool) -> Log:
    """A partition of the broker's, as our broker would open it."""
    topic, _, partition = name.rpartition("-")
    key = topic, int(partition)
    points = [
        read_offsets(FILES, data / checkpoint).get(key, 0)
        for checkpoint in (RECOVERY_POINT_CHECKPOINT, LOG_START_CHECKPOINT, REPLICATION_CHECKPOINT)
    ]
    place = LogPlace(data / name, *key, OpenFiles(FILES, 50), SystemClock(), Random(1))
    settings = LogSettings() if topic.startswith("__") else LogSettings(**SMALL)
    return load_log(place, settings, Checkpointed(*points), clean=clean)


def values_of(log: Log, *, control: bool = False) -> list[bytes | None]:
    found = batches(contents(log, log.log_start_offset))
    return [record.value for batch in found if batch.is_control is control for record in read_batch(batch)]


# -- what came of it


def test_the_broker_serves_every_record_of_our_log(interop: Interop) -> None:
    assert [value for _, value in interop.read["ours"]] == interop.our_values


def test_the_broker_serves_our_committed_transactions_alone(interop: Interop) -> None:
    hidden = set(interop.our_aborted)
    expected = [value for value in interop.our_values if value not in hidden]
    assert [value for _, value in interop.read["ours committed"]] == expected


def test_the_broker_serves_what_our_cleaner_left(interop: Interop) -> None:
    assert latest((0, key, value) for key, value in interop.read["compacted"]) == interop.our_state


def test_we_open_what_the_broker_left_after_a_stop(interop: Interop) -> None:
    assert was_clean_shutdown(FILES, interop.stopped)
    log = open_partition(interop.stopped, "theirs-0", clean=True)
    assert values_of(log) == interop.plain
    assert len(log.segments) > 2
    assert log.leader_epochs.entries[0] == (0, 0)
    assert [entry.last_sequence for entry in log.producer_state.producers.values()] == [PLAIN_COUNT - 1]
    for segment in log.segments:
        check_indexes(segment)


def test_we_tell_committed_from_aborted_transactions_of_the_broker(interop: Interop) -> None:
    log = open_partition(interop.stopped, "transactions-0", clean=True)
    assert set(values_of(log)) == {*interop.committed, *interop.aborted}
    assert log.last_stable_offset == log.log_end_offset
    aborted = aborted_transactions(log, 0, log.log_end_offset)
    values = {
        record.value
        for batch in batches(contents(log, 0))
        if not batch.is_control
        for record in read_batch(batch)
        if any(one.first_offset <= record.offset <= one.last_offset for one in aborted)
    }
    assert values == set(interop.aborted)


@pytest.mark.parametrize("name", ["theirs-0", "transactions-0", "__transaction_state-0"])
def test_what_we_derive_again_is_what_the_broker_had(interop: Interop, name: str, tmp_path: Path) -> None:
    """Indexes and snapshots, byte for byte, but for the batches before each producer's last, which only ours have."""
    data = copy(interop.stopped, tmp_path / "data")
    directory = data / name
    before = {path.name: path.read_bytes() for path in directory.iterdir() if path.suffix in DERIVED}
    assert len(before) >= 3
    for file in before:
        (directory / file).unlink()
    (data / RECOVERY_POINT_CHECKPOINT).unlink()
    open_partition(data, name, clean=False).close()
    after = {path.name: path.read_bytes() for path in directory.iterdir() if path.suffix in DERIVED}
    after |= {file: as_kafka_reads_it(data) for file, data in after.items() if file.endswith(".snapshot")}
    assert after.keys() == before.keys()
    assert {file for file in before if after[file] != before[file]} == set()


def test_we_open_what_the_broker_left_when_it_was_killed(interop: Interop) -> None:
    assert not was_clean_shutdown(FILES, interop.killed)
    epochs = read_leader_epochs(FILES, interop.killed / "theirs-0" / LEADER_EPOCH_CHECKPOINT)
    log = open_partition(interop.killed, "theirs-0", clean=False)
    assert values_of(log) == interop.plain + interop.more
    assert len(log.producer_state.producers) == 2
    assert log.leader_epochs.entries == epochs
    assert epochs[0] == (0, 0)
    for segment in log.segments:
        check_indexes(segment)
    ours = open_partition(interop.killed, "ours-0", clean=False)
    assert values_of(ours) == interop.our_values
