"""The simulated disk keeps what was synced, and forgets of the rest no more and no less than a real one may."""

from __future__ import annotations

import errno
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from moldau.base.clock import VirtualClock
from moldau.testing.disk import SimulatedDisk

LOGS = Path("/logs")
LOG = LOGS / "log"
SEEDS = range(300)


def disk() -> SimulatedDisk:
    disk = SimulatedDisk()
    disk.make_directory(LOGS)
    disk.sync_directory(Path("/"))
    return disk


def outcomes(prepare: Callable[[SimulatedDisk], None]) -> list[bytes]:
    """What a crash leaves of the log after some work, over many seeds."""
    left = []
    for seed in SEEDS:
        simulated = disk()
        prepare(simulated)
        simulated.crash(Random(seed))
        left.append(simulated.read_bytes(LOG))
    return left


def synced_abc(disk: SimulatedDisk) -> None:
    file = disk.open(LOG, create=True)
    file.append(b"abc")
    file.sync()
    disk.sync_directory(LOGS)


def test_synced_bytes_survive_and_later_ones_may_be_lost_or_torn() -> None:
    def prepare(disk: SimulatedDisk) -> None:
        synced_abc(disk)
        file = disk.open(LOG)
        file.append(b"def")
        file.append(b"ghi")

    left = outcomes(prepare)
    assert all(data.startswith(b"abc") and len(data) <= 9 for data in left)
    assert {b"abc", b"abcd", b"abcdef", b"abcdefg", b"abcdefghi"} <= set(left)
    assert b"abc\0\0\0\0\0\0" in left, "a size that came before the bytes"
    assert any(b"\0" not in data and not b"abcdefghi".startswith(data) for data in left), "garbage"


def test_a_later_sector_may_be_there_without_an_earlier_one() -> None:
    def prepare(disk: SimulatedDisk) -> None:
        synced_abc(disk)
        disk.open(LOG).append(b"x" * 4096)

    assert any(b"x" in data[3:].lstrip(b"x") for data in outcomes(prepare))


def test_a_truncation_that_was_not_synced_may_not_have_happened() -> None:
    def prepare(disk: SimulatedDisk) -> None:
        synced_abc(disk)
        disk.open(LOG).truncate(1)

    assert set(outcomes(prepare)) == {b"abc", b"a"}


def test_any_changed_pages_of_a_mapping_may_be_there() -> None:
    def prepare(disk: SimulatedDisk) -> None:
        file = disk.open(LOG, create=True)
        mapping = file.map(3 * 4096)
        mapping[0:1] = b"s"
        file.sync()
        disk.sync_directory(LOGS)
        for page in range(3):
            mapping[page * 4096 : page * 4096 + 1] = b"x"

    seen = {bytes(data[page * 4096] for page in range(3)) for data in outcomes(prepare)}
    assert seen == {a + b + c for a in (b"s", b"x") for b in (b"\0", b"x") for c in (b"\0", b"x")}


def test_a_write_into_preallocated_space_is_kept_by_pages() -> None:
    def prepare(disk: SimulatedDisk) -> None:
        file = disk.open(LOG, create=True)
        file.preallocate(8192)
        file.sync()
        disk.sync_directory(LOGS)
        file.append(b"x" * 8192)

    seen = {(data[:4096] == b"x" * 4096, data[4096:] == b"x" * 4096) for data in outcomes(prepare)}
    assert seen == {(False, False), (True, False), (False, True), (True, True)}


def test_changes_of_names_survive_in_their_order() -> None:
    seen = set()
    for seed in SEEDS:
        simulated = disk()
        synced_abc(simulated)
        simulated.open(LOGS / "new", create=True)
        simulated.rename(LOG, LOGS / "log.deleted")
        simulated.remove(LOGS / "log.deleted")
        simulated.crash(Random(seed))
        seen.add(tuple(sorted(simulated.names(LOGS))))
    assert seen == {("log",), ("log", "new"), ("log.deleted", "new"), ("new",)}


def test_synced_names_survive() -> None:
    for seed in SEEDS:
        simulated = disk()
        synced_abc(simulated)
        simulated.make_directory(LOGS / "t-0")
        simulated.rename(LOG, LOGS / "log.deleted")
        simulated.sync_directory(LOGS)
        simulated.crash(Random(seed))
        assert sorted(simulated.names(LOGS)) == ["log.deleted", "t-0"]
        assert simulated.read_bytes(LOGS / "log.deleted") == b"abc"


def test_a_rename_may_survive_without_the_bytes_that_were_not_synced() -> None:
    def prepare(disk: SimulatedDisk) -> None:
        synced_abc(disk)
        disk.replace_bytes(LOG, b"new", sync=False)

    assert {b"abc", b"new", b""} <= set(outcomes(prepare))


def test_the_same_seed_is_the_same_crash() -> None:
    def prepare(disk: SimulatedDisk) -> None:
        synced_abc(disk)
        disk.open(LOG).append(bytes(range(200)))
        disk.open(LOGS / "other", create=True)

    assert outcomes(prepare) == outcomes(prepare)


def test_what_a_crash_left_is_on_the_disk_for_good() -> None:
    for seed in SEEDS:
        simulated = disk()
        synced_abc(simulated)
        simulated.open(LOG).append(b"defghi")
        simulated.crash(Random(seed))
        left = simulated.read_bytes(LOG)
        simulated.crash(Random(seed + 1))
        assert simulated.read_bytes(LOG) == left


def test_a_killed_process_loses_its_files_and_locks_but_no_bytes() -> None:
    simulated = disk()
    file = simulated.open(LOG, create=True)
    file.map(8)[:3] = b"abc"
    assert simulated.lock(LOGS / ".lock") is not None
    simulated.kill()
    assert simulated.read_bytes(LOG) == b"abc\0\0\0\0\0"
    assert simulated.lock(LOGS / ".lock") is not None
    for use in (lambda: file.read(1, 0), lambda: file.append(b"x"), file.sync, lambda: file.truncate(0)):
        with pytest.raises(OSError, match="before a crash") as raised:
            use()
        assert raised.value.errno == errno.EBADF


def test_times_come_from_the_clock() -> None:
    clock = VirtualClock()
    simulated = SimulatedDisk(clock)
    file = simulated.open(Path("/log"), create=True)
    made_ms = clock.now_ms()
    clock.advance(1000)
    assert simulated.modified_ms(Path("/log")) == made_ms
    file.append(b"abc")
    assert simulated.modified_ms(Path("/log")) == made_ms + 1000


def test_paths_that_lead_nowhere_are_errors_as_on_a_disk() -> None:
    simulated = disk()
    synced_abc(simulated)
    with pytest.raises(NotADirectoryError):
        simulated.size(LOG / "inner")
    with pytest.raises(NotADirectoryError):
        simulated.names(LOG)
    with pytest.raises(IsADirectoryError):
        simulated.remove(LOGS)
    with pytest.raises(FileExistsError):
        simulated.make_directory(LOG)
    simulated.make_directory(Path("/other"))
    with pytest.raises(OSError, match="not empty"):
        simulated.rename(Path("/other"), LOGS)
