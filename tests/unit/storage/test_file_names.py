"""The names in a data directory say exactly what they stand for, and names of others are refused."""

from __future__ import annotations

import pytest

from moldau.base.errors import ConfigError
from moldau.storage.file_names import (
    DirectoryState,
    PartitionDirectory,
    SegmentFile,
    log_name,
    parse_partition_directory,
    parse_segment_file,
    partition_directory,
    segment_file,
)

UNIQUE = "0123456789abcdef" * 2


@pytest.mark.parametrize(
    ("directory", "name"),
    [
        (PartitionDirectory("orders", 3), "orders-3"),
        (PartitionDirectory("a-b.c_d-1", 0), "a-b.c_d-1-0"),
        (PartitionDirectory("-", 0), "--0"),
        (PartitionDirectory("t-delete", 1), "t-delete-1"),
        (PartitionDirectory("__consumer_offsets", 49), "__consumer_offsets-49"),
        (PartitionDirectory("t", 2**31 - 1), "t-2147483647"),
        (PartitionDirectory("orders", 3, DirectoryState.DELETE), f"orders-3.{UNIQUE}-delete"),
        (PartitionDirectory("orders", 3, DirectoryState.FUTURE), f"orders-3.{UNIQUE}-future"),
        (PartitionDirectory("orders", 3, DirectoryState.STRAY), f"orders-3.{UNIQUE}-stray"),
    ],
)
def test_a_partition_has_a_directory_and_a_directory_a_partition(directory: PartitionDirectory, name: str) -> None:
    assert partition_directory(*directory, unique=UNIQUE) == name
    assert parse_partition_directory(name) == directory


@pytest.mark.parametrize(
    "name",
    [
        "",
        "orders",
        "orders-",
        "-0",
        "orders-x",
        "orders-01",
        "orders-+1",
        "orders-2147483648",
        "orders-99999999999",
        "orders-1\n",
        "or ders-1",
        "ördërs-1",
        "orders-0.tmp",
        "orders-delete",
        "orders-0-delete",
        "orders-0.-delete",
        f"orders-0.{UNIQUE[:-1]}-delete",
        f"orders-0.{UNIQUE.upper()}-delete",
        f"orders-x.{UNIQUE}-delete",
        f"orders-0.{UNIQUE}-other",
        f"orders-0.{UNIQUE}",
        "lost+found",
        ".Trash-",
    ],
)
def test_any_other_directory_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match="is no partition's directory"):
        parse_partition_directory(name)


def test_the_name_of_a_deleted_directory_is_cut_to_what_a_file_system_takes() -> None:
    name = partition_directory("t" * 249, 12, DirectoryState.DELETE, UNIQUE)
    assert name == "t" * 212 + f"-12.{UNIQUE}-delete"
    assert len(name) == 255
    assert parse_partition_directory(name) == PartitionDirectory("t" * 212, 12, DirectoryState.DELETE)


@pytest.mark.parametrize(
    ("file", "name"),
    [
        (SegmentFile(0, ".log"), "00000000000000000000.log"),
        (SegmentFile(5243238, ".index"), "00000000000005243238.index"),
        (SegmentFile(13, ".timeindex"), "00000000000000000013.timeindex"),
        (SegmentFile(13, ".txnindex"), "00000000000000000013.txnindex"),
        (SegmentFile(2**63 - 1, ".snapshot"), "09223372036854775807.snapshot"),
        (SegmentFile(13, ".log", ".deleted"), "00000000000000000013.log.deleted"),
        (SegmentFile(13, ".log", ".cleaned"), "00000000000000000013.log.cleaned"),
        (SegmentFile(13, ".index", ".swap"), "00000000000000000013.index.swap"),
        (SegmentFile(13, ".snapshot", ".deleted"), "00000000000000000013.snapshot.deleted"),
    ],
)
def test_a_file_of_a_segment_is_named_by_its_offset(file: SegmentFile, name: str) -> None:
    assert segment_file(*file) == name
    assert parse_segment_file(name) == file


def test_the_log_of_a_segment_has_a_short_cut() -> None:
    assert log_name(4711) == segment_file(4711, ".log") == "00000000000000004711.log"


@pytest.mark.parametrize(
    "name",
    [
        "leader-epoch-checkpoint",
        "partition.metadata",
        "0.log",
        "0000000000000000000x.log",
        "00000000000000000013",
        "00000000000000000013.log.tmp",
        "00000000000000000013.log.deleted.deleted",
        "09223372036854775808.log",
        "-0000000000000000001.log",
    ],
)
def test_any_other_file_belongs_to_no_segment(name: str) -> None:
    assert parse_segment_file(name) is None
