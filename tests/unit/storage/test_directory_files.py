"""The small files of a log directory, byte for byte, and what their contents mean for a start."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from moldau.base.errors import ConfigError
from moldau.base.ids import uuid_from_text
from moldau.storage.directory_files import (
    MetaProperties,
    check_owner,
    check_same_broker,
    clear_clean_shutdown,
    lock_directory,
    mark_clean_shutdown,
    read_meta_properties,
    read_topic_id,
    was_clean_shutdown,
    write_meta_properties,
    write_topic_id,
)
from moldau.storage.files import CorruptFile
from moldau.testing.disk import SimulatedDisk

LOGS = Path("/logs")
CLUSTER = "vPeOCWypqUOSepEvx0cbog"
TOPIC_ID = "QSYsFYOHR1qIe_DMTYPXAg"
NOW_MS = 1_794_775_732_754


@pytest.fixture
def disk() -> SimulatedDisk:
    disk = SimulatedDisk()
    disk.make_directory(LOGS)
    disk.sync_directory(Path("/"))
    return disk


def put(disk: SimulatedDisk, name: str, data: bytes) -> None:
    disk.open(LOGS / name, create=True).append(data)


def test_meta_properties_are_written_as_java_stores_properties(disk: SimulatedDisk) -> None:
    write_meta_properties(disk, LOGS, MetaProperties(1001, CLUSTER), NOW_MS)
    assert disk.read_bytes(LOGS / "meta.properties").decode() == (
        f"#\n#Sun Nov 15 20:48:52 UTC 2026\nbroker.id=1001\nversion=0\ncluster.id={CLUSTER}\n"
    )
    assert read_meta_properties(disk, LOGS) == MetaProperties(1001, CLUSTER)


def test_meta_properties_of_kafka_are_read_in_any_order(disk: SimulatedDisk) -> None:
    put(disk, "meta.properties", b"#\n#Thu Jul 02 10:00:00 CEST 2026\ncluster.id=a\\=b\nversion=0\nbroker.id=7\nx=y\n")
    assert read_meta_properties(disk, LOGS) == MetaProperties(7, "a=b")


def test_missing_meta_properties_are_none(disk: SimulatedDisk) -> None:
    assert read_meta_properties(disk, LOGS) is None


def test_meta_properties_from_before_cluster_ids_have_none(disk: SimulatedDisk) -> None:
    write_meta_properties(disk, LOGS, MetaProperties(1, None), NOW_MS)
    assert read_meta_properties(disk, LOGS) == MetaProperties(1, None)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "version is None"),
        ("version=1\nnode.id=1\ncluster.id=x\n", "version is 1"),
        ("version=0\n", "broker.id is ''"),
        ("version=0\nbroker.id=one\n", "broker.id is 'one'"),
        ("version=0\nbroker.id=-1\n", "broker.id is '-1'"),
        ("version=0\nbroker.id=2147483648\n", "broker.id is '2147483648'"),
        ("version=0\nbroker.id=\\u00zz\n", "Malformed"),
    ],
)
def test_meta_properties_that_are_not_a_brokers_are_refused(disk: SimulatedDisk, text: str, problem: str) -> None:
    put(disk, "meta.properties", text.encode())
    with pytest.raises(ConfigError) as raised:
        read_meta_properties(disk, LOGS)
    assert problem in str(raised.value)
    assert "/logs/meta.properties" in str(raised.value)


def test_directories_of_different_brokers_are_refused() -> None:
    mine, other = MetaProperties(1, CLUSTER), MetaProperties(2, CLUSTER)
    assert check_same_broker({}) is None
    assert check_same_broker({Path("/a"): mine, Path("/b"): mine}) == mine
    with pytest.raises(ConfigError, match=r"/a of broker 1, .*, /b of broker 2"):
        check_same_broker({Path("/a"): mine, Path("/b"): other})


def test_directories_of_another_broker_or_cluster_are_refused() -> None:
    stored = MetaProperties(1, CLUSTER)
    check_owner(stored, 1, CLUSTER)
    check_owner(stored, None, None)
    check_owner(MetaProperties(1, None), 1, CLUSTER)
    with pytest.raises(ConfigError, match=r"broker.id is 2, but .* broker 1"):
        check_owner(stored, 2, CLUSTER)
    with pytest.raises(ConfigError, match=r"cluster's id is other, but .* cluster vPe"):
        check_owner(stored, 1, "other")


def test_a_directory_is_used_by_one_broker_at_a_time(disk: SimulatedDisk) -> None:
    lock = lock_directory(disk, LOGS)
    with pytest.raises(ConfigError, match="/logs is in use by another broker"):
        lock_directory(disk, LOGS)
    lock.release()
    lock_directory(disk, LOGS)
    disk.kill()
    lock_directory(disk, LOGS)


def test_the_mark_of_a_clean_shutdown_is_30_bytes(disk: SimulatedDisk) -> None:
    assert not was_clean_shutdown(disk, LOGS)
    mark_clean_shutdown(disk, LOGS)
    assert disk.read_bytes(LOGS / ".kafka_cleanshutdown") == b'{"version":0,"brokerEpoch":-1}'
    assert disk.size(LOGS / ".kafka_cleanshutdown") == 30
    assert was_clean_shutdown(disk, LOGS)
    clear_clean_shutdown(disk, LOGS)
    assert not was_clean_shutdown(disk, LOGS)
    clear_clean_shutdown(disk, LOGS)


@pytest.mark.parametrize("seed", range(20))
def test_a_crash_neither_loses_the_mark_nor_brings_it_back(disk: SimulatedDisk, seed: int) -> None:
    mark_clean_shutdown(disk, LOGS)
    disk.crash(Random(seed))
    assert was_clean_shutdown(disk, LOGS)
    clear_clean_shutdown(disk, LOGS)
    disk.crash(Random(seed))
    assert not was_clean_shutdown(disk, LOGS)


def test_partition_metadata_is_43_bytes(disk: SimulatedDisk) -> None:
    write_topic_id(disk, LOGS, uuid_from_text(TOPIC_ID))
    data = disk.read_bytes(LOGS / "partition.metadata")
    assert data == f"version: 0\ntopic_id: {TOPIC_ID}".encode()
    assert len(data) == 43
    assert read_topic_id(disk, LOGS) == uuid_from_text(TOPIC_ID)


def test_missing_partition_metadata_is_none(disk: SimulatedDisk) -> None:
    assert read_topic_id(disk, LOGS) is None


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"version: 0\n",
        b"version: 1\ntopic_id: QSYsFYOHR1qIe_DMTYPXAg",
        b"version: 0\ntopic_id: QSYsFYOHR1qIe_DM",
        b"version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAA",
        bytes(43),
    ],
)
def test_malformed_partition_metadata_is_refused(disk: SimulatedDisk, data: bytes) -> None:
    put(disk, "partition.metadata", data)
    with pytest.raises(CorruptFile, match=r"/logs/partition\.metadata: "):
        read_topic_id(disk, LOGS)
