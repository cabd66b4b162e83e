"""Checkpoint files are written byte for byte as Kafka writes them, and read without guessing."""

from __future__ import annotations

import errno
from pathlib import Path
from random import Random

import pytest

from moldau.storage.checkpoints import (
    read_leader_epochs,
    read_offsets,
    write_leader_epochs,
    write_offsets,
)
from moldau.storage.files import CorruptFile
from moldau.testing.disk import SimulatedDisk
from moldau.testing.disk_faults import FaultyFiles

DIRECTORY = Path("/logs")
PATH = DIRECTORY / "recovery-point-offset-checkpoint"


@pytest.fixture
def disk() -> SimulatedDisk:
    disk = SimulatedDisk()
    disk.make_directory(DIRECTORY)
    disk.sync_directory(Path("/"))
    return disk


def test_offsets_are_written_as_kafka_writes_them(disk: SimulatedDisk) -> None:
    offsets = {("isr", 0): 40, ("t33", 4): 13, ("t33", 2): 13, ("t33", 1): 13}
    write_offsets(disk, PATH, offsets)
    assert disk.read_bytes(PATH) == b"0\n4\nisr 0 40\nt33 4 13\nt33 2 13\nt33 1 13\n"
    assert read_offsets(disk, PATH) == offsets


def test_no_offsets_are_a_file_with_no_entries(disk: SimulatedDisk) -> None:
    write_offsets(disk, PATH, {})
    assert disk.read_bytes(PATH) == b"0\n0\n"
    assert read_offsets(disk, PATH) == {}


def test_leader_epochs_are_written_as_kafka_writes_them(disk: SimulatedDisk) -> None:
    write_leader_epochs(disk, PATH, [(0, 0), (1, 10), (6, 40)])
    assert disk.read_bytes(PATH) == b"0\n3\n0 0\n1 10\n6 40\n"
    assert read_leader_epochs(disk, PATH) == [(0, 0), (1, 10), (6, 40)]


def test_a_missing_or_empty_file_has_no_entries(disk: SimulatedDisk) -> None:
    assert read_offsets(disk, PATH) == {}
    assert read_leader_epochs(disk, PATH) == []
    disk.open(PATH, create=True)
    assert read_offsets(disk, PATH) == {}
    assert read_leader_epochs(disk, PATH) == []


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"0", "line 1: the file is cut off"),
        (b"1\n0\n", "line 1: the version is '1'"),
        (b"\n", "line 1: the version is ''"),
        (b"0\n", "line 2: the number of entries is missing"),
        (b"0\nx\n", "line 2: 'x' is no number"),
        (b"0\n-1\n", "line 2: '-1' is no number"),
        (b"0\n2\nt 0 1\n", "line 2: it says that there are 2 entries, but there are 1"),
        (b"0\n0\nt 0 1\n", "line 2: it says that there are 0 entries, but there are 1"),
        (b"0\n1\nt 0 12", "line 3: the file is cut off"),
        (b"0\n1\nt 0\n", "line 3: 't 0' has not 3 fields"),
        (b"0\n1\nt 0 1 2\n", "line 3: 't 0 1 2' has not 3 fields"),
        (b"0\n1\n 0 1\n", "line 3: ' 0 1' has not 3 fields"),
        (b"0\n2\nt 0 1\nt x 1\n", "line 4: 'x' is no number"),
        (b"0\n1\nt 0 -1\n", "line 3: '-1' is no number"),
        (b"0\n1\nt 0 1_0\n", "line 3: '1_0' is no number"),
        (b"0\n1\nt 2147483648 1\n", "line 3: '2147483648' is no number"),
        (b"0\n1\nt 0 9223372036854775808\n", "line 3: '9223372036854775808' is no number"),
        (b"0\n2\nt 0 1\nt 0 1\n", "line 4: t 0 has an offset in an earlier line"),
        (bytes(30), "line 1: the file is cut off"),
        (b"\xff\n", "line 1: the version is"),
    ],
)
def test_a_malformed_file_is_refused_by_name_and_line(disk: SimulatedDisk, data: bytes, problem: str) -> None:
    disk.open(PATH, create=True).append(data)
    with pytest.raises(CorruptFile) as raised:
        read_offsets(disk, PATH)
    assert str(raised.value).startswith(f"{PATH}: {problem}")
    assert raised.value.path == PATH


@pytest.mark.parametrize("data", [b"0\n2\n1 0\n1 5\n", b"0\n2\n1 5\n2 4\n", b"0\n1\n1\n", b"0\n1\n-1 0\n"])
def test_leader_epochs_out_of_order_are_refused(disk: SimulatedDisk, data: bytes) -> None:
    disk.open(PATH, create=True).append(data)
    with pytest.raises(CorruptFile, match=r"line [34]"):
        read_leader_epochs(disk, PATH)


def test_the_largest_numbers_come_back(disk: SimulatedDisk) -> None:
    offsets = {("t" * 249, 2**31 - 1): 2**63 - 1}
    write_offsets(disk, PATH, offsets)
    assert read_offsets(disk, PATH) == offsets


@pytest.mark.parametrize("seed", range(40))
def test_a_crash_at_any_moment_leaves_the_old_or_the_new_checkpoint(disk: SimulatedDisk, seed: int) -> None:
    old, new = {("t", 0): 1}, {("t", 0): 2, ("u", 1): 3}
    for step in range(12):
        write_offsets(disk, PATH, old)
        files = FaultyFiles(disk)
        files.fail("*", error=errno.EIO, after=step)
        try:
            write_offsets(files, PATH, new)
        except OSError:
            allowed = [old, new]
        else:
            allowed = [new]
        disk.crash(Random(seed))
        assert read_offsets(disk, PATH) in allowed
