"""The tools that look: kafka-dump-log, -broker-api-versions, -cluster, -features, -transactions."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest

from moldau import Admin, Producer, TopicPartition
from moldau.clients.admin import OffsetSpec
from moldau.testing.local_cluster import LocalCluster
from tests.tools.conftest import Run

MARKER_S_MAX = 10.0
NOW = time.time_ns() // 1_000_000  # or the marker, which is of now, would begin a new segment
FIRST = "00000000000000000000"


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a partition with three records in two batches, one of them in an aborted transaction."""
    data = tmp_path_factory.mktemp("data")
    with LocalCluster(data=data) as cluster:
        cluster.create_topic("t1")
        at = cluster.bootstrap_servers
        with Producer(bootstrap_servers=at, enable_idempotence=False, linger_ms=50) as producer:
            producer.send("t1", b"one", key=b"k", headers=[("h", b"1")], timestamp=NOW)
            producer.send("t1", b"two", timestamp=NOW + 1)
        with Producer(bootstrap_servers=at, transactional_id="writer", compression_type="lz4") as producer:
            producer.init_transactions()
            producer.begin_transaction()
            producer.send("t1", b"three", timestamp=NOW + 2).result(10)
            producer.abort_transaction()
        end = TopicPartition("t1", 0)
        with Admin(bootstrap_servers=at) as admin:  # the marker is written after the abort is answered
            deadline = time.monotonic() + MARKER_S_MAX
            while admin.list_offsets({end: OffsetSpec.LATEST})[end].offset < 4:
                assert time.monotonic() < deadline
    return data / "t1-0"


def test_segments_are_dumped_by_batch_and_by_record(tool: Run, log: Path) -> None:
    path = log / f"{FIRST}.log"
    printed = tool("dump_log", "--files", str(path))
    assert printed.code == 0, printed
    dumping, starting, plain, transactional, marker = printed.lines
    assert dumping == f"Dumping {path}"
    assert starting == "Log starting offset: 0"
    assert re.fullmatch(
        r"baseOffset: 0 lastOffset: 1 count: 2 baseSequence: -1 lastSequence: -1 producerId: -1 producerEpoch: -1 "
        r"partitionLeaderEpoch: 0 isTransactional: false isControl: false deleteHorizonMs: OptionalLong.empty "
        rf"position: 0 CreateTime: {NOW + 1} size: \d+ magic: 2 compresscodec: none crc: \d+ isvalid: true",
        plain,
    )
    assert "isTransactional: true isControl: false" in transactional
    assert "compresscodec: lz4" in transactional
    assert "isControl: true" in marker
    deep = tool("dump_log", "--files", str(path), "--print-data-log").lines
    assert deep[3] == (
        f"| offset: 0 CreateTime: {NOW} keySize: 1 valueSize: 3 sequence: -1 headerKeys: [h] key: k payload: one"
    )
    assert deep[4].endswith("keySize: -1 valueSize: 3 sequence: -1 headerKeys: [] payload: two")
    assert deep[-1].endswith("endTxnMarker: ABORT coordinatorEpoch: 0")


def test_indexes_and_snapshots_are_dumped(tool: Run, log: Path) -> None:
    printed = tool("dump_log", "--files", f"{log}/{FIRST}.index,{log}/{FIRST}.txnindex,{log}/{FIRST}.log.other")
    assert printed.lines[1] == f"{log / FIRST}.index is empty."
    assert re.fullmatch(
        r"version: 0 producerId: \d+ firstOffset: 2 lastOffset: 3 lastStableOffset: \d+", printed.lines[3]
    )
    assert f"Ignoring unknown file {log}/{FIRST}.log.other" in printed.err
    snapshots = sorted(log.glob("*.snapshot"))
    assert snapshots
    dumped = tool("dump_log", "--files", str(snapshots[-1]))
    assert re.search(r"producerId: \d+ producerEpoch: \d+ coordinatorEpoch: 0 currentTxnFirstOffset: Opt", dumped.out)


def test_damage_is_seen(tool: Run, log: Path, tmp_path: Path) -> None:
    path = tmp_path / f"{FIRST}.log"
    data = bytearray((log / f"{FIRST}.log").read_bytes())
    data[80] ^= 1
    path.write_bytes(data + b"rest")
    printed = tool("dump_log", "--files", str(path), "--deep-iteration")
    assert printed.lines[2].endswith("isvalid: false")
    assert printed.lines[-1] == f"Found 4 invalid bytes at the end of {FIRST}.log"


def test_a_file_that_is_missing_is_told(tool: Run, tmp_path: Path) -> None:
    failed = tool("dump_log", "--files", str(tmp_path / f"{FIRST}.log"))
    assert failed.code == 1
    assert failed.err.endswith("No such file or directory\n")


def test_api_versions_are_listed_with_what_is_usable(run: Run, address: str) -> None:
    printed = run("broker_api_versions").lines
    assert printed[0] == f"{address} (id: 0 rack: null) -> ("
    assert re.fullmatch(r"\tProduce\(0\): \d+ to \d+ \[usable: \d+\],", printed[1])
    assert printed[-1] == ")"


def test_the_cluster_has_an_id(run: Run, tool: Run, address: str) -> None:
    assert re.fullmatch(r"Cluster ID: \S{22}\n", run("cluster", "cluster-id").out)
    failed = tool("cluster", "shut-down", "--bootstrap-server", address)
    assert failed.code == 1
    assert "invalid choice: 'shut-down'" in failed.err


def test_features_are_described(run: Run, tool: Run, address: str) -> None:
    form = r"Feature: \S+\tSupportedMinVersion: \S+\tSupportedMaxVersion: \S+\tFinalizedVersionLevel: \S+\tEpoch: \S+"
    for line in run("features", "describe").lines:
        assert re.fullmatch(form, line)
    failed = tool("features", "upgrade", "--bootstrap-server", address, "--feature", "x")
    assert failed.code == 1
    assert "Can't parse feature=level string x: equals sign not found." in failed.err


def test_transactions_and_producers_are_described(run: Run, tool: Run, address: str, topic: str) -> None:
    run("topics", "--create", "--topic", topic)
    name = f"writer-of-{topic}"
    with Producer(bootstrap_servers=address, transactional_id=name) as producer:
        producer.init_transactions()
        producer.begin_transaction()
        producer.send(topic, b"x").result(10)
        listed = run("transactions", "list").lines
        assert listed[0].split() == ["TransactionalId", "Coordinator", "ProducerId", "TransactionState"]
        (row,) = [line.split() for line in listed if line.startswith(name)]
        assert (row[1], row[3]) == ("0", "Ongoing")
        described = run("transactions", "describe", "--transactional-id", name).lines[1].split()
        assert described[:3] == ["0", name, row[2]]
        assert described[-1] == f"{topic}-0"
        producers = run("transactions", "describe-producers", "--topic", topic, "--partition", "0").lines
        assert producers[1].split()[0] == row[2]
        assert producers[1].split()[-1] == "0"
        hanging = run("transactions", "find-hanging", "--topic", topic, "--max-transaction-timeout", "0")
        assert len(hanging.lines) == 1
        producer.abort_transaction()
    missing = tool("transactions", "describe", "--transactional-id", "nobody", "--bootstrap-server", address)
    assert missing.code == 1
    assert "Failed to describe transaction state of transactional-id `nobody`: " in missing.err
    needs = tool("transactions", "abort", "--topic", topic, "--partition", "0", "--bootstrap-server", address)
    assert "The transaction to abort must be identified either with --start-offset" in needs.err
