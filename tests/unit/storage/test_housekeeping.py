"""Housekeeping does each thing at its own interval, in virtual time, and goes on when a directory fails."""

from __future__ import annotations

import asyncio
import errno

from moldau.base.config.broker_config import load_broker_config
from moldau.base.supervision import Supervisor
from moldau.records.batch import Producer
from moldau.storage.housekeeping import Housekeeping, HousekeepingSettings
from moldau.storage.log import Log
from tests.unit.storage.directories_workbench import Machine, fill, run
from tests.unit.storage.log_workbench import batch


async def passes(seconds: float, watching: Supervisor) -> None:
    """Time goes by, and no task ends in it."""
    running = watching.running
    await asyncio.sleep(seconds)
    assert watching.running == running


def supervisor() -> Supervisor:
    def on_fatal(name: str, error: BaseException) -> None:
        raise AssertionError(name) from error

    return Supervisor(on_fatal)


def test_intervals_are_those_of_the_settings() -> None:
    defaults = HousekeepingSettings.of(load_broker_config({"log.dirs": "x"}))
    assert defaults == HousekeepingSettings()
    changed = HousekeepingSettings.of(
        load_broker_config(
            {
                "log.dirs": "x",
                "log.retention.check.interval.ms": 1,
                "log.flush.scheduler.interval.ms": 2,
                "log.flush.offset.checkpoint.interval.ms": 3,
                "log.flush.start.offset.checkpoint.interval.ms": 4,
                "replica.high.watermark.checkpoint.interval.ms": 5,
            }
        )
    )
    assert changed == HousekeepingSettings(1, 2, 3, 4, 5)


def test_checkpoints_are_written_at_their_periods_after_the_first_half_minute() -> None:
    async def main() -> None:
        machine = Machine(1)
        await machine.start()
        log = await machine.create("t", 0, 20)
        watching = supervisor()
        machine.housekeeping(watching)
        await passes(29, watching)
        assert machine.text("replication-offset-checkpoint") == "0\n0\n"
        await passes(2, watching)
        assert machine.text("replication-offset-checkpoint") == "0\n1\nt 0 20\n"
        assert machine.text("recovery-point-offset-checkpoint") == f"0\n1\nt 0 {log.segments.active.base_offset}\n"
        assert machine.text("log-start-offset-checkpoint") == "0\n0\n"
        fill(log, 1)
        log.advance_log_start_offset(1)
        await passes(6, watching)
        assert machine.text("replication-offset-checkpoint") == "0\n1\nt 0 21\n"
        assert machine.text("log-start-offset-checkpoint") == "0\n0\n"
        await passes(60, watching)
        assert machine.text("log-start-offset-checkpoint") == "0\n1\nt 0 1\n"
        await watching.stop(1000)

    run(main)


def test_expired_segments_leave_the_log_and_their_files_the_disk() -> None:
    async def main() -> None:
        machine = Machine(1, retention_ms=3_600_000)
        await machine.start()
        log = await machine.create("t", 0, 20)
        watching = supervisor()
        machine.housekeeping(watching)
        await passes(3600, watching)
        assert (log.log_start_offset, len(log.segments) > 2) == (0, True)
        await passes(32, watching)
        assert (log.log_start_offset, log.log_end_offset, len(log.segments)) == (20, 20, 1)
        names = machine.disk.names(log.place.directory)
        assert any(name.endswith(".deleted") for name in names)
        await passes(62, watching)
        names = machine.disk.names(log.place.directory)
        assert not any(name.endswith(".deleted") for name in names)
        assert sum(name.endswith(".log") for name in names) == 1
        await watching.stop(1000)

    run(main)


def test_logs_loaded_from_disk_expire_as_well_and_those_being_cleaned_wait() -> None:
    async def main() -> None:
        machine = Machine(1, retention_ms=3_600_000)
        await machine.start()
        for partition in range(3):
            await machine.create("t", partition, 20)
        await machine.restart()
        await asyncio.sleep(4000)
        busy: list[Log] = [machine.directories.logs["t", 1]]
        housekeeping = Housekeeping(machine.directories, HousekeepingSettings(), lambda log: log in busy)
        await housekeeping.check_retention()
        starts = [machine.directories.logs["t", partition].log_start_offset for partition in range(3)]
        assert starts == [20, 0, 20]
        busy.clear()
        await housekeeping.check_retention()
        assert machine.directories.logs["t", 1].log_start_offset == 20

    run(main)


def test_flush_ms_is_obeyed_when_the_flush_check_runs() -> None:
    async def main() -> None:
        machine = Machine(1, flush_ms=5_000)
        await machine.start()
        log = await machine.create("t", 0, 3)
        watching = supervisor()
        machine.housekeeping(watching, flush_check_interval_ms=1000, initial_delay_ms=0)
        await passes(4, watching)
        assert log.recovery_point == 0
        await passes(2.1, watching)
        assert log.recovery_point == 3
        await watching.stop(1000)

    run(main)


def test_producers_that_are_gone_are_forgotten() -> None:
    async def main() -> None:
        machine = Machine(1)
        await machine.start()
        log = await machine.create("t")
        log.append_as_leader(batch(producer=Producer(5, 0, 0), timestamp=machine.clock.now_ms()), 0)
        await asyncio.sleep(23 * 3600 - 100)
        watching = supervisor()
        machine.housekeeping(watching)
        await passes(100, watching)
        assert log.producer_state.producers.keys() == {5}
        await passes(3600 + 700, watching)
        assert log.producer_state.producers.keys() == set()
        await watching.stop(1000)

    run(main)


def test_a_directory_that_fails_is_noticed_at_the_next_checkpoint_and_the_others_go_on() -> None:
    async def main() -> None:
        machine = Machine(2)
        await machine.start()
        await machine.create("t", 0, 3)
        other = await machine.create("t", 1, 3)
        watching = supervisor()
        machine.housekeeping(watching)
        await passes(31, watching)
        machine.files.fail("*", "/data/a*", errno.EROFS)
        await passes(6, watching)
        assert machine.offline == [(machine.paths[0], [("t", 0)])]
        fill(other, 4)
        await passes(6, watching)
        assert machine.text("replication-offset-checkpoint", 1) == "0\n1\nt 1 7\n"
        assert len(watching.running) == 6, "none of them failed or ended"
        assert machine.all_offline == 0
        await watching.stop(1000)

    run(main)
