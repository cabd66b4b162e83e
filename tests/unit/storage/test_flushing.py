"""Flushing: what was asked for is on disk before the answer, one sync serves many, and a failed one is the end."""

from __future__ import annotations

import asyncio
import errno
from random import Random

import pytest

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError
from moldau.records.builder import build_batch
from moldau.storage.checkpoints import read_leader_epochs
from moldau.storage.log import Log
from moldau.storage.log_truncation import truncate_to
from tests.property.log_agreement import check_indexes
from tests.unit.storage.directories_workbench import Machine, fill, run
from tests.unit.storage.log_workbench import read_all


async def log_on(machine: Machine, count: int = 3) -> Log:
    await machine.start()
    return await machine.create("t", 0, count)


async def begun(machine: Machine) -> None:
    for _ in range(100):
        if machine.directories.flusher.running:
            return
        await asyncio.sleep(0)
    raise AssertionError("no flush has begun")


def syncs(machine: Machine) -> list[str]:
    """Notes the names of the files that are synced from now on."""
    names: list[str] = []
    original = machine.files.check

    def check(operation: str, *paths: object) -> None:
        if operation in ("sync", "sync_directory"):
            names.append(str(paths[0]).rpartition("/")[2])
        original(operation, *paths)  # type: ignore[arg-type]

    machine.files.check = check  # type: ignore[method-assign]
    return names


def test_what_was_flushed_survives_every_crash() -> None:
    for seed in range(30):

        async def main() -> None:
            machine = Machine(1)
            log = await log_on(machine, 20)
            await machine.directories.flusher.flush(log)
            assert log.recovery_point == 20
            fill(log, 15)
            machine.disk.crash(machine.directories.seams.random)
            machine.boot()
            await machine.start()
            found = [record.offset for record in read_all(machine.directories.logs["t", 0])]
            assert found == list(range(len(found)))
            assert len(found) >= 20

        run(main, seed)


def test_callers_at_the_same_time_share_one_sync_and_later_ones_the_next() -> None:
    async def main() -> None:
        machine = Machine(1, segment_bytes=1_000_000)
        log = await log_on(machine)
        flusher = machine.directories.flusher
        names = syncs(machine)
        first = asyncio.gather(*(flusher.flush(log) for _ in range(50)))
        await begun(machine)
        fill(log, 2)
        later = asyncio.gather(*(flusher.flush(log) for _ in range(50)))
        await first
        assert log.recovery_point >= 3
        assert names.count("00000000000000000000.log") <= 2, "some of the first may have come after the sync began"
        await later
        assert log.recovery_point == 5
        assert names.count("00000000000000000000.log") == 2
        await flusher.flush(log)
        assert names.count("00000000000000000000.log") == 2, "nothing is left to do"
        assert flusher.running == 0

    run(main)


def test_the_active_segment_alone_needs_one_sync_and_its_name_only_once() -> None:
    async def main() -> None:
        machine = Machine(1, segment_bytes=1_000_000)
        log = await log_on(machine)
        names = syncs(machine)
        await machine.directories.flusher.flush(log)
        assert names == ["00000000000000000000.log", "leader-epoch-checkpoint.tmp", "t-0"]
        fill(log, 1)
        names.clear()
        await machine.directories.flusher.flush(log)
        assert names == ["00000000000000000000.log"]

    run(main)


def test_the_leader_epochs_are_saved_before_the_recovery_point_moves() -> None:
    async def main() -> None:
        machine = Machine(1, segment_bytes=1_000_000)
        log = await log_on(machine, 1)
        log.start_epoch(4, log.log_end_offset)
        log.append_as_leader(bytearray(build_batch([(0, 0, None, b"v", ())])), 4)
        assert not machine.files.exists(log.place.epochs_path), "an append waits for no disk"
        await machine.directories.flusher.flush(log)
        assert log.recovery_point == 2
        machine.disk.crash(Random(1))
        assert read_leader_epochs(machine.disk, log.place.epochs_path) == [(0, 0), (4, 1)]

    run(main)


def test_a_segment_is_synced_with_its_indexes_when_the_next_one_begins() -> None:
    async def main() -> None:
        machine = Machine(1)
        log = await log_on(machine, 1)
        await machine.directories.flusher.flush(log)
        names = syncs(machine)
        fill(log, 7)
        first, second = list(log.segments)
        assert log.recovery_point == 0, "its indexes have changed since"
        await asyncio.sleep(1)
        assert names == [path.name for path in first.paths[:3]] + ["t-0"]
        assert log.recovery_point == second.base_offset < log.log_end_offset

    run(main)


def test_a_failed_sync_fails_everybody_and_takes_the_directory_offline_for_good() -> None:
    async def main() -> None:
        machine = Machine(2)
        log = await log_on(machine)
        other = await machine.create("t", 1, 3)
        machine.files.fail("sync", "/data/a/*.log", errno.EIO, times=1)
        outcomes = await asyncio.gather(
            *(machine.directories.flusher.flush(log) for _ in range(3)), return_exceptions=True
        )
        assert [isinstance(o, ApiError) and o.code for o in outcomes] == [ErrorCode.KAFKA_STORAGE_ERROR] * 3
        assert machine.offline == [(machine.paths[0], [("t", 0)])]
        assert log.recovery_point == 0
        with pytest.raises(ApiError, match="offline"):
            await machine.directories.flusher.flush(log)
        await machine.directories.flusher.flush(other)
        assert other.recovery_point == 3

    run(main)


def test_a_log_that_is_cut_while_it_is_synced_is_synced_again() -> None:
    async def main() -> None:
        machine = Machine(1, segment_bytes=1_000_000)
        log = await log_on(machine, 10)
        flushing = asyncio.gather(machine.directories.flusher.flush(log))
        await begun(machine)
        truncate_to(log, 4)
        fill(log, 8)
        names = syncs(machine)
        await flushing
        assert names.count("00000000000000000000.log") == 2
        assert log.recovery_point == 12

    run(main)


def test_files_that_retention_or_a_deletion_took_away_are_no_failure() -> None:
    async def main() -> None:
        machine = Machine(1)
        log = await log_on(machine, 30)
        flushing = asyncio.gather(machine.directories.flusher.flush(log), return_exceptions=True)
        await begun(machine)
        log.remove_segments(list(log.segments)[:2])
        assert not any(await flushing)
        assert log.recovery_point == 30
        fill(log, 1)
        flushing = asyncio.gather(machine.directories.flusher.flush(log), return_exceptions=True)
        await begun(machine)
        await machine.creation.delete([("t", 0)])
        outcome = (await flushing)[0]
        assert isinstance(outcome, ApiError)
        assert machine.offline == []

    run(main)


def test_a_file_that_vanished_takes_the_directory_offline() -> None:
    async def main() -> None:
        machine = Machine(2)
        log = await log_on(machine)
        machine.disk.remove(log.segments.active.path)
        log.forget_files()
        with pytest.raises(ApiError):
            await machine.directories.flusher.flush(log)
        assert machine.offline == [(machine.paths[0], [("t", 0)])]

    run(main)


def test_flush_messages_and_flush_ms_say_when_it_is_due() -> None:
    async def main() -> None:
        machine = Machine(1, flush_messages=5, flush_ms=1000)
        log = await log_on(machine, 4)
        due = [log.is_flush_due]
        fill(log, 1)
        due.append(log.is_flush_due)
        await machine.directories.flusher.flush(log)
        due.append(log.is_flush_due)
        fill(log, 1)
        await asyncio.sleep(1.1)
        due.append(log.is_flush_due)
        assert due == [False, True, False, True]

    run(main)


def test_cancelling_one_caller_does_not_harm_the_others() -> None:
    async def main() -> None:
        machine = Machine(1)
        log = await log_on(machine)
        waiting = [asyncio.ensure_future(machine.directories.flusher.flush(log)) for _ in range(3)]
        await begun(machine)
        waiting[0].cancel()
        outcomes = await asyncio.gather(*waiting, return_exceptions=True)
        assert [type(outcome).__name__ for outcome in outcomes] == ["CancelledError", "NoneType", "NoneType"]

    run(main)


def test_a_roll_at_the_checkpointed_end_leaves_no_index_that_a_crash_could_damage() -> None:
    async def main() -> None:
        for seed in range(40):
            machine = Machine(1, segment_bytes=1_000_000, index_interval_bytes=0)
            log = await log_on(machine, 30)
            await machine.directories.flusher.flush(log)
            await machine.directories.checkpoint(machine.directories.directories[0])
            log.roll()
            machine.disk.sync_directory(log.place.directory)
            machine.disk.crash(Random(seed))
            machine.boot()
            await machine.start()
            for segment in machine.directories.logs["t", 0].segments:
                check_indexes(segment)

    run(main)
