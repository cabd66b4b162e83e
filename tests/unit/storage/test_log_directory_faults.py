"""Failing disks and lying files: each has its outcome, and none is a wrong answer or a lost batch."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError, ConfigError
from moldau.storage.checkpoints import write_offsets
from tests.unit.storage.directories_workbench import OWNER, Machine, fill, run
from tests.unit.storage.log_workbench import read_all


@pytest.mark.parametrize("error", [errno.EIO, errno.EROFS, errno.EACCES])
def test_a_directory_that_cannot_be_used_at_start_is_offline_and_the_others_start(error: int) -> None:
    async def main() -> None:
        machine = Machine(2)
        await machine.start()
        await machine.create("t", 0, 3)
        await machine.create("t", 1, 3)
        await machine.directories.close()
        machine.files.fail("lock", "/data/a/*", error)
        machine.boot()
        await machine.start()
        assert list(machine.directories.logs) == [("t", 1)]
        assert [str(directory) for directory in machine.directories.offline] == ["/data/a"]
        assert os.strerror(error) in (machine.directories.offline[0].offline_reason or "")
        with pytest.raises(ApiError, match="may be in a directory that is offline: /data/a") as refused:
            await machine.creation.get_or_create("t", 0, machine.settings, is_new=False)
        assert refused.value.code is ErrorCode.KAFKA_STORAGE_ERROR
        assert (await machine.create("u")).place.directory.parent == Path("/data/b")

    run(main)


def test_without_any_directory_there_is_no_start() -> None:
    async def main() -> None:
        machine = Machine(2)
        machine.files.fail("make_directory", error=errno.EROFS)
        with pytest.raises(ConfigError, match=r"none of the directories.*/data/a.*/data/b"):
            await machine.start()

    run(main)


def test_a_file_that_cannot_be_read_at_start_takes_its_directory_offline() -> None:
    async def main() -> None:
        machine = Machine(2)
        await machine.start()
        for partition in range(6):
            await machine.create("t", partition, 3)
        machine.disk.kill()
        machine.files.fail("read", "/data/a/t-2/*.log", errno.EIO)
        machine.boot()
        await machine.start()
        assert sorted(machine.directories.logs) == [("t", 1), ("t", 3), ("t", 5)]
        assert machine.offline == [(Path("/data/a"), [])]

    run(main)


def test_two_brokers_do_not_share_a_directory() -> None:
    async def main() -> None:
        machine = Machine(2)
        await machine.start()
        first = machine.directories
        machine.boot()
        with pytest.raises(ConfigError, match="in use by another broker"):
            await machine.start()
        await first.close()
        machine.boot()
        await machine.start()

    run(main)


def test_the_same_directory_twice_is_refused() -> None:
    async def main() -> None:
        machine = Machine(2)
        machine.paths[1] = machine.paths[0]
        machine.boot()
        with pytest.raises(ConfigError, match="none of them twice"):
            await machine.start()

    run(main)


def test_a_full_disk_takes_the_directory_offline_and_what_was_written_is_there_later() -> None:
    async def main() -> None:
        machine = Machine(2)
        await machine.start()
        log = await machine.create("t", 0, 3)
        machine.files.fill_up(after_bytes=300)
        with pytest.raises(OSError, match="No space") as full:
            fill(log, 10)
        end = log.log_end_offset
        assert machine.directories.failed(log, full.value).code is ErrorCode.KAFKA_STORAGE_ERROR
        assert machine.offline == [(Path("/data/a"), [("t", 0)])]
        assert machine.directories.failed(log, full.value).code is ErrorCode.KAFKA_STORAGE_ERROR
        assert len(machine.offline) == 1, "once is enough"
        machine.files.heal()
        await machine.restart(clean=False)
        assert [record.offset for record in read_all(machine.directories.logs["t", 0])] == list(range(end))

    run(main)


def test_when_the_last_directory_fails_the_broker_is_told() -> None:
    async def main() -> None:
        machine = Machine(2)
        await machine.start()
        for directory in machine.directories.directories:
            machine.directories.fail(directory, OSError(errno.EIO, "broken"))
        assert machine.all_offline == 1
        with pytest.raises(ApiError, match="all log directories are offline"):
            await machine.create("t")

    run(main)


def test_a_new_log_goes_to_another_directory_when_the_first_one_fails() -> None:
    async def main() -> None:
        machine = Machine(2)
        await machine.start()
        machine.files.fail("make_directory", "/data/a/*", errno.ENOSPC)
        log = await machine.create("t")
        assert log.place.directory == Path("/data/b/t-0")
        assert machine.offline == [(Path("/data/a"), [])]

    run(main)


@pytest.mark.parametrize("damage", [b"garbage", b"0\n2\nt 0 5\n", b"1\n0\n", b"0\n1\nt 0 5"])
def test_damaged_checkpoints_are_as_none(damage: bytes) -> None:
    async def main() -> None:
        machine = Machine(1)
        await machine.start()
        await machine.create("t", 0, 20)
        machine.disk.kill()
        for name in ("recovery-point", "replication", "log-start"):
            machine.disk.replace_bytes(machine.paths[0] / f"{name}-offset-checkpoint", damage)
        machine.boot()
        await machine.start()
        log = machine.directories.logs["t", 0]
        assert (log.log_start_offset, log.high_watermark, log.log_end_offset) == (0, 0, 20)

    run(main)


def test_a_recovery_point_beyond_the_end_recovers_the_whole_log(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        machine = Machine(1)
        await machine.start()
        log = await machine.create("t", 0, 20)
        damaged = list(log.segments)[1]
        machine.disk.kill()
        data = bytearray(machine.disk.read_bytes(damaged.path))
        data[100] ^= 1
        machine.disk.replace_bytes(damaged.path, bytes(data))
        write_offsets(machine.disk, machine.paths[0] / "recovery-point-offset-checkpoint", {("t", 0): 4711})
        write_offsets(machine.disk, machine.paths[0] / "replication-offset-checkpoint", {("t", 0): 4711})
        machine.boot()
        await machine.start()
        again = machine.directories.logs["t", 0]
        assert again.log_end_offset == again.high_watermark == damaged.base_offset
        assert "is before the recovery point 4711" in caplog.text

    run(main)


def test_a_start_offset_beyond_the_end_begins_the_log_anew_there_so_that_no_offset_is_used_twice() -> None:
    async def main() -> None:
        machine = Machine(1)
        await machine.start()
        await machine.create("t", 0, 20)
        machine.disk.kill()
        write_offsets(machine.disk, machine.paths[0] / "log-start-offset-checkpoint", {("t", 0): 30})
        machine.boot()
        await machine.start()
        log = machine.directories.logs["t", 0]
        assert (log.log_start_offset, log.high_watermark, log.log_end_offset) == (30, 30, 30)
        fill(log, 2)
        await machine.restart()
        assert [record.offset for record in read_all(machine.directories.logs["t", 0])] == [30, 31]

    run(main)


def test_a_directory_that_fails_at_the_stop_gets_no_mark_and_the_others_do() -> None:
    async def main() -> None:
        machine = Machine(2)
        await machine.start()
        await machine.create("t", 0, 3)
        await machine.create("t", 1, 3)
        machine.files.fail("sync", "/data/a/t-0/*", errno.EIO)
        await machine.directories.close()
        assert not machine.disk.exists(Path("/data/a/.kafka_cleanshutdown"))
        assert machine.disk.exists(Path("/data/b/.kafka_cleanshutdown"))

    run(main)


def test_a_stop_before_the_logs_were_loaded_does_not_call_them_recovered() -> None:
    async def main() -> None:
        machine = Machine(1)
        await machine.start()
        log = await machine.create("t", 0, 20)
        await machine.directories.flusher.flush(log)
        await machine.directories.checkpoint(machine.directories.directories[0])
        machine.disk.kill()
        machine.boot()
        machine.directories.open()
        machine.directories.claim(OWNER)
        await machine.directories.close()
        assert not machine.disk.exists(Path("/data/a/.kafka_cleanshutdown"))
        assert machine.text("recovery-point-offset-checkpoint") == "0\n1\nt 0 19\n"
        machine.boot()
        await machine.start()
        assert machine.directories.logs["t", 0].high_watermark == 20

    run(main)


def test_a_crash_at_any_step_of_life_leaves_a_directory_that_starts_with_what_was_flushed() -> None:
    """Create, flush, delete and stop, with the power going after the n-th operation on the disk."""

    async def live(machine: Machine) -> int:
        flushed = 0
        await machine.start()
        log = await machine.create("t", 0, 12)
        await machine.directories.flusher.flush(log)
        flushed = 12
        machine.offsets_flushed = flushed  # type: ignore[attr-defined]
        await machine.create("u", 0, 3)
        await machine.creation.delete([("u", 0)])
        await machine.create("u", 0)
        await machine.directories.close()
        return flushed

    async def main() -> int:
        step = 0
        for step in range(0, 2000, 3):
            machine = Machine(1)
            machine.directories.seams.random.seed(step)
            machine.files.fail("*", after=step)
            finished = False
            try:
                await live(machine)
                finished = not machine.offline
            except (ApiError, ConfigError, OSError):
                pass
            machine.disk.crash(machine.directories.seams.random)
            machine.files.heal()
            machine.boot()
            await machine.start()
            if hasattr(machine, "offsets_flushed"):
                found = [record.offset for record in read_all(machine.directories.logs["t", 0])]
                assert found == list(range(12)), step
            if finished:
                break
        return step

    assert 50 < run(main) < 1999
