"""What the loss of power may and may not do to a log: each of these was once found by the model test."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest

from moldau.storage.log import Log
from moldau.storage.log_reading import find_timestamp
from moldau.storage.log_truncation import truncate_to
from moldau.testing.disk import SimulatedDisk
from tests.unit.storage.log_workbench import START_MS, Workbench, append, batch, read_all

SETTINGS = {"segment_bytes": 4000, "index_interval_bytes": 500, "segment_index_bytes": 4096}
SEEDS = range(20)


class Unlucky(Random):
    """A crash after which nothing is there that was not synced."""

    def randint(self, a: int, b: int) -> int:
        return a

    def random(self) -> float:
        return 1.0

    def choice(self, seq: Any) -> Any:
        return seq[0]


def flushed_log(count: int, **settings: object) -> tuple[SimulatedDisk, Workbench, Log]:
    disk = SimulatedDisk()
    bench = Workbench(Path("/logs"), disk, **{**SETTINGS, **settings})
    disk.sync_directory(Path("/"))
    log = bench.open()
    append(log, count)
    log.flush()
    disk.sync_directory(Path("/logs"))
    return disk, bench, log


def offsets(log: Log) -> list[int]:
    return [record.offset for record in read_all(log)]


@pytest.mark.parametrize("seed", SEEDS)
def test_what_was_truncated_does_not_come_back(seed: int) -> None:
    disk, bench, log = flushed_log(60)
    truncate_to(log, 10)
    append(log, 5, epoch=1)
    disk.crash(Random(seed))
    again = bench.open(recovery_point=10)
    assert 10 <= again.log_end_offset <= 15
    found = offsets(again)
    assert found == list(range(again.log_end_offset))
    assert again.leader_epochs.entries == [(0, 0), (1, 10)][: 1 + (again.log_end_offset > 10)]


def test_a_log_cannot_start_beyond_its_end() -> None:
    _, _, log = flushed_log(60)
    log.advance_log_start_offset(20)
    truncate_to(log, 10)
    assert (log.log_start_offset, log.high_watermark, log.log_end_offset) == (10, 10, 10)


def test_an_epoch_whose_only_batch_was_cut_in_the_middle_is_gone() -> None:
    _, _, log = flushed_log(10)
    log.append_as_leader(batch(b"1", b"2", b"3"), 4)
    truncate_to(log, 12)
    assert log.log_end_offset == 10
    assert log.leader_epochs.entries == [(0, 0)]


def test_epochs_of_batches_that_are_not_there_are_forgotten() -> None:
    """The checkpoint may be on the disk before the log."""
    disk, bench, log = flushed_log(60)
    log.start_epoch(5, 10)
    disk.kill()
    again = bench.open(recovery_point=60)
    assert again.log_end_offset == 60
    again = bench.open()
    assert again.leader_epochs.entries == [(0, 0)]


@pytest.mark.parametrize("content", [b"", b"0\n2\n0 0\n"])
def test_lost_epochs_are_found_again_in_all_segments(content: bytes) -> None:
    disk, bench, log = flushed_log(60)
    append(log, 60, epoch=3)
    log.flush()
    disk.replace_bytes(log.place.epochs_path, content)
    disk.kill()
    assert bench.open(recovery_point=120).leader_epochs.entries == [(0, 0), (3, 60)]


def test_a_segment_that_was_truncated_away_does_not_come_back_behind_new_records() -> None:
    disk, bench, log = flushed_log(60)
    second_base = list(log.segments)[1].base_offset
    truncate_to(log, second_base - 5)
    append(log, 5, epoch=1)
    log.segments.active.file.sync()  # the system may write what it likes at any time
    disk.crash(Unlucky())
    assert bench.open(recovery_point=second_base - 5).log_end_offset == second_base


def test_a_segment_that_was_removed_after_damage_does_not_come_back_behind_new_records() -> None:
    disk, bench, log = flushed_log(60)
    first, second = list(log.segments)[:2]
    first.file.truncate(first.size_bytes - 1)
    first.file.sync()
    disk.kill()
    again = bench.open()
    assert again.log_end_offset == second.base_offset - 1
    append(again, 1, epoch=1)
    again.segments.active.file.sync()
    disk.crash(Unlucky())
    assert bench.open().log_end_offset == second.base_offset


@pytest.mark.parametrize("records_follow", [False, True])
def test_a_segment_that_lost_its_last_batches_ends_the_log(records_follow: bool) -> None:
    """Its file may end after a whole batch, and then only the name of the next segment tells."""
    disk, bench, log = flushed_log(5)
    flushed_bytes = log.segments.active.size_bytes
    append(log, 5)
    log.roll()
    append(log, int(records_follow))
    log.segments.first.file.truncate(flushed_bytes)
    disk.kill()
    again = bench.open(recovery_point=5)
    assert (again.log_end_offset, len(again.segments)) == (5, 1)
    append(again, 3)
    assert offsets(again) == list(range(8))


def test_gaps_that_cleaning_left_are_no_loss() -> None:
    disk, bench, log = flushed_log(5, compact=True)
    log.roll(10)
    log.append_as_follower(bytes(_at(batch(b"later"), 10)))
    disk.kill()
    assert offsets(bench.open()) == [0, 1, 2, 3, 4, 10]


@pytest.mark.parametrize("seed", SEEDS)
def test_the_largest_timestamp_of_a_segment_is_known_if_power_went_after_its_roll(seed: int) -> None:
    disk, bench, log = flushed_log(3, index_interval_bytes=100_000)
    latest = START_MS + 2
    log.roll()
    disk.crash(Random(seed))
    again = bench.open(recovery_point=3)
    found = find_timestamp(again, latest)
    assert found is not None
    assert (found.offset, found.timestamp) == (2, latest)


def test_damage_in_the_middle_removes_later_segments_for_good() -> None:
    disk, bench, log = flushed_log(100)
    second = list(log.segments)[1]
    second.file.truncate(second.size_bytes - 1)
    second.file.sync()
    disk.kill()
    again = bench.open()
    end = again.log_end_offset
    disk.crash(Random(1))
    assert bench.open().log_end_offset == end < 100


def _at(data: bytearray, base_offset: int) -> bytearray:
    data[:8] = base_offset.to_bytes(8, "big")
    data[12:16] = bytes(4)
    return data
