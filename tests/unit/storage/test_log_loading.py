"""Opening logs: after a clean stop, after a crash, and with everything that can lie about in a directory."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from moldau.records.batch import Producer
from moldau.storage.log import Log
from tests.unit.storage.log_workbench import Workbench, append, batch, read_all

SETTINGS = {"segment_bytes": 4000, "index_interval_bytes": 500, "segment_index_bytes": 4096}


def bench_with(tmp_path: Path, count: int = 100) -> tuple[Workbench, Log]:
    bench = Workbench(tmp_path, None, **SETTINGS)
    log = bench.open()
    append(log, count)
    return bench, log


def contents(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir()}


def test_a_clean_stop_and_start_changes_nothing(tmp_path: Path) -> None:
    bench, log = bench_with(tmp_path)
    log.append_as_leader(batch(producer=Producer(8, 1, 0)), 3)
    log.close()
    before = contents(bench.directory)
    again = bench.open(clean=True)
    assert (again.log_end_offset, again.recovery_point) == (101, 101)
    assert again.leader_epochs.entries == [(0, 0), (3, 100)]
    assert again.producer_state.producers.keys() == {8}
    assert contents(bench.directory) == before
    append(again, 5, epoch=3)
    assert [record.offset for record in read_all(again)] == list(range(106))


def test_after_a_clean_stop_indexes_are_cut_to_size(tmp_path: Path) -> None:
    bench, log = bench_with(tmp_path)
    log.close()
    for path in bench.directory.glob("*.*index"):
        assert path.stat().st_size < 4000


def test_after_a_crash_everything_is_rebuilt_from_the_log(tmp_path: Path) -> None:
    bench, log = bench_with(tmp_path)
    log.append_as_leader(batch(producer=Producer(8, 1, 0)), 3)
    log.close()
    before = contents(bench.directory)
    for path in [*bench.directory.glob("*.*index"), *bench.directory.glob("*.snapshot")]:
        path.unlink()
    (bench.directory / "leader-epoch-checkpoint").unlink()
    again = bench.open()
    assert again.log_end_offset == 101
    again.close()
    assert contents(bench.directory) == before


@pytest.mark.parametrize("tail", [b"\0" * 50, b"garbage " * 20, b"\xff" * 200])
def test_garbage_at_the_end_is_cut_off(tmp_path: Path, tail: bytes) -> None:
    bench, log = bench_with(tmp_path)
    path = log.segments.active.path
    good = path.read_bytes()
    path.write_bytes(good + tail)
    again = bench.open(recovery_point=50)
    assert again.log_end_offset == 100
    assert path.read_bytes() == good


def test_a_torn_batch_is_cut_off_at_every_length(tmp_path: Path) -> None:
    bench, log = bench_with(tmp_path, 3)
    path = log.segments.active.path
    good = path.read_bytes()
    size = len(good) // 3
    for length in range(2 * size, 3 * size):
        path.write_bytes(good[:length])
        again = bench.open()
        assert again.log_end_offset == 2
        assert path.stat().st_size == 2 * size
        path.write_bytes(good)


def test_damage_in_the_middle_ends_the_log_there(tmp_path: Path) -> None:
    bench, log = bench_with(tmp_path)
    second = list(log.segments)[1]
    data = bytearray(second.path.read_bytes())
    data[len(data) // 2] ^= 1
    second.path.write_bytes(data)
    kept = bench.open(recovery_point=100)  # below the recovery point nothing is read
    assert kept.log_end_offset == 100
    again = bench.open()
    assert second.base_offset < again.log_end_offset < 100
    assert [record.offset for record in read_all(again)] == list(range(again.log_end_offset))
    assert again.segments.active.base_offset == second.base_offset
    append(again, 10)
    assert [record.offset for record in read_all(again)] == list(range(again.log_end_offset))


def test_a_missing_index_is_rebuilt_even_after_a_clean_stop(tmp_path: Path) -> None:
    bench, log = bench_with(tmp_path)
    log.close()
    before = contents(bench.directory)
    name = "00000000000000000000"
    (bench.directory / f"{name}.index").unlink()
    (bench.directory / f"{name}.timeindex").unlink()
    again = bench.open(clean=True)
    assert again.log_end_offset == 100
    again.close()
    assert contents(bench.directory) == before


def test_leftovers_of_a_crash_are_removed(tmp_path: Path) -> None:
    bench, log = bench_with(tmp_path)
    log.close()
    before = contents(bench.directory)
    for name in ("00000000000000000000.log.cleaned", "00000000000000000007.log.deleted", "leader-epoch-checkpoint.tmp"):
        (bench.directory / name).write_bytes(b"leftover")
    (bench.directory / "00000000000000009999.index").write_bytes(b"no log")
    bench.open(clean=True)
    assert contents(bench.directory) == before


def test_a_finished_cleaning_takes_the_place_of_its_originals(tmp_path: Path) -> None:
    bench, log = bench_with(tmp_path)
    bases = [segment.base_offset for segment in log.segments]
    log.close()
    # As if the first two segments had been cleaned into one that kept all of the second one's records.
    merged = b"".join((bench.directory / f"{base:020d}.log").read_bytes() for base in bases[:2])
    (bench.directory / f"{bases[0]:020d}.log.swap").write_bytes(merged)
    again = bench.open()
    assert [segment.base_offset for segment in again.segments] == [bases[0], *bases[2:]]
    assert [record.offset for record in read_all(again)] == list(range(100))


def test_a_damaged_snapshot_is_replaced(tmp_path: Path) -> None:
    bench, log = bench_with(tmp_path)
    log.append_as_leader(batch(producer=Producer(8, 1, 0)), 0)
    log.close()
    newest = max(bench.directory.glob("*.snapshot"))
    newest.write_bytes(newest.read_bytes()[:-3])
    again = bench.open(clean=True)
    assert again.producer_state.producers.keys() == {8}
    assert again.log_end_offset == 101


def test_half_written_leader_epochs_do_not_stop_the_start(tmp_path: Path) -> None:
    bench, log = bench_with(tmp_path)
    (bench.directory / "leader-epoch-checkpoint").write_bytes(b"0\n5\n1 ")
    assert bench.open().leader_epochs.entries == [(0, 0)]
    assert log.log_end_offset == 100


def test_checkpoints_from_the_future_do_not_hurt(tmp_path: Path) -> None:
    bench, _ = bench_with(tmp_path)
    log = bench.open(recovery_point=10**9, high_watermark=10**9, log_start_offset=0)
    assert (log.log_end_offset, log.high_watermark, log.recovery_point) == (100, 100, 0)
    log = bench.open(log_start_offset=30, high_watermark=70)
    assert (log.log_start_offset, log.high_watermark) == (30, 70)
    log = bench.open(log_start_offset=10**9)
    assert log.log_start_offset == log.log_end_offset


def test_a_copy_of_a_running_log_opens(tmp_path: Path) -> None:
    bench, log = bench_with(tmp_path)
    shutil.copytree(bench.directory, tmp_path / "copy" / "orders-0")
    copied = Workbench(tmp_path / "copy", None, **SETTINGS).open()
    assert [record.offset for record in read_all(copied)] == [record.offset for record in read_all(log)]


@pytest.mark.parametrize("content", [b"", b"0\n5\n1 "])
def test_lost_leader_epochs_are_built_again_from_all_batches(tmp_path: Path, content: bytes) -> None:
    bench, log = bench_with(tmp_path, 50)
    append(log, 50, epoch=4)
    (bench.directory / "leader-epoch-checkpoint").write_bytes(content)
    assert bench.open(recovery_point=100).leader_epochs.entries == [(0, 0), (4, 50)]
