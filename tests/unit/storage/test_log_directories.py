"""Many logs in several directories: placement, start, stop, deletion, and what stands on the disk meanwhile."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError, ConfigError
from moldau.storage.directory_files import MetaProperties, read_topic_id
from moldau.storage.housekeeping import Housekeeping, HousekeepingSettings
from moldau.storage.log_truncation import truncate_to
from tests.unit.storage.directories_workbench import OWNER, TOPIC_ID, Machine, fill, run
from tests.unit.storage.log_workbench import read_all

HEX = "0123456789abcdef" * 2


def test_directories_receive_equal_numbers_of_partitions_whatever_their_sizes() -> None:
    async def main() -> None:
        machine = Machine(3)
        await machine.start()
        big = await machine.create("big", 0, 50)
        assert big.place.directory == Path("/data/a/big-0")
        for partition in range(8):
            await machine.create("small", partition)
        assert [len(directory.logs) for directory in machine.directories.directories] == [3, 3, 3]

    run(main)


def test_partitions_made_at_the_same_time_are_spread_too_and_none_is_made_twice() -> None:
    async def main() -> None:
        machine = Machine(2)
        await machine.start()
        logs = await asyncio.gather(*(machine.create("t", partition % 6) for partition in range(12)))
        assert len({id(log) for log in logs}) == 6
        assert [len(directory.logs) for directory in machine.directories.directories] == [3, 3]

    run(main)


def test_a_new_log_has_its_directory_topic_id_and_first_segment_on_disk() -> None:
    async def main() -> None:
        machine = Machine(1)
        await machine.start()
        log = await machine.create("orders", 3)
        names = sorted(machine.disk.names(log.place.directory))
        zero = "00000000000000000000"
        assert names == [f"{zero}.index", f"{zero}.log", f"{zero}.timeindex", "partition.metadata"]
        assert read_topic_id(machine.disk, log.place.directory) == TOPIC_ID
        machine.disk.crash(machine.directories.seams.random)
        assert machine.names() == ["orders-3"]

    run(main)


def test_a_preferred_directory_is_taken_and_an_unknown_one_refused() -> None:
    async def main() -> None:
        machine = Machine(2)
        await machine.start()
        machine.creation.prefer("t", 0, machine.paths[1])
        assert (await machine.create("t")).place.directory.parent == machine.paths[1]
        with pytest.raises(ApiError) as refused:
            machine.creation.prefer("t", 0, Path("/elsewhere"))
        assert refused.value.code is ErrorCode.LOG_DIR_NOT_FOUND

    run(main)


def test_every_directory_has_all_files_after_the_first_start() -> None:
    async def main() -> None:
        machine = Machine(2)
        await machine.start()
        for path in machine.paths:
            assert sorted(machine.disk.names(path)) == [
                ".lock",
                "cleaner-offset-checkpoint",
                "log-start-offset-checkpoint",
                "meta.properties",
                "recovery-point-offset-checkpoint",
                "replication-offset-checkpoint",
            ]
        assert machine.text("log-start-offset-checkpoint") == "0\n0\n"
        assert machine.text("cleaner-offset-checkpoint") == ""

    run(main)


def test_a_clean_stop_leaves_offsets_and_the_mark_and_the_next_start_reads_no_segment() -> None:
    async def main() -> None:
        machine = Machine(1)
        await machine.start()
        log = await machine.create("t", 0, 20)
        log.advance_high_watermark(18)
        log.advance_log_start_offset(3)
        await machine.directories.close()
        assert machine.text("recovery-point-offset-checkpoint") == "0\n1\nt 0 20\n"
        assert machine.text("replication-offset-checkpoint") == "0\n1\nt 0 20\n"
        assert machine.text("log-start-offset-checkpoint") == "0\n1\nt 0 3\n"
        assert machine.text(".kafka_cleanshutdown") == '{"version":0,"brokerEpoch":-1}'
        assert not machine.disk.exists(machine.paths[0] / ".lock")
        machine.boot()
        machine.files.fail("read", "*.log")
        machine.files.fail("open", "*.log")
        await machine.start()
        assert not machine.disk.exists(machine.paths[0] / ".kafka_cleanshutdown")
        again = machine.directories.logs["t", 0]
        assert (again.log_start_offset, again.high_watermark, again.log_end_offset) == (3, 20, 20)

    run(main)


def test_logs_that_nobody_touched_are_closed_without_touching_the_disk() -> None:
    async def main() -> None:
        machine = Machine(1)
        await machine.start()
        for partition in range(5):
            await machine.create("t", partition, 3)
        await machine.restart()
        fill(machine.directories.logs["t", 4], 1)
        machine.files.fail("*", "/data/a/t-[0-3]*")
        await machine.directories.close()
        assert machine.text(".kafka_cleanshutdown")
        machine.files.heal()
        machine.boot()
        await machine.start()
        assert [machine.directories.logs["t", p].log_end_offset for p in range(5)] == [3, 3, 3, 3, 4]

    run(main)


def test_after_a_kill_everything_is_recovered_and_read_again() -> None:
    async def main() -> None:
        machine = Machine(2)
        await machine.start()
        for partition in range(4):
            await machine.create("t", partition, 10 + partition)
        await machine.restart(clean=False)
        for partition in range(4):
            log = machine.directories.logs["t", partition]
            assert [record.offset for record in read_all(log)] == list(range(10 + partition))
            assert log.high_watermark == 0, "what no checkpoint says is known again when leader and followers have met"

    run(main)


def test_deleting_renames_at_once_and_removes_after_the_delay() -> None:
    async def main() -> None:
        machine = Machine(1, file_delete_delay_ms=60_000)
        await machine.start()
        for partition in range(3):
            await machine.create("t", partition, 5)
        await machine.creation.delete([("t", 0), ("t", 2), ("t", 9)])
        assert machine.directories.get("t", 0) is None
        names = machine.names()
        assert [name.partition(".")[0] for name in names] == ["t-0", "t-1", "t-2"]
        assert [name.endswith("-delete") for name in names] == [True, False, True]
        assert machine.text("recovery-point-offset-checkpoint") == "0\n1\nt 1 0\n"
        housekeeping = Housekeeping(machine.directories, HousekeepingSettings())
        await asyncio.sleep(59)
        await housekeeping.remove_due()
        assert len(machine.names()) == 3
        await asyncio.sleep(2)
        await housekeeping.remove_due()
        assert machine.names() == ["t-1"]

    run(main)


def test_deletions_survive_a_restart_and_the_new_log_of_the_name_is_empty() -> None:
    async def main() -> None:
        machine = Machine(1)
        await machine.start()
        await machine.create("t", 0, 30)
        await machine.directories.checkpoint(machine.directories.directories[0])
        await machine.creation.delete([("t", 0)])
        log = await machine.create("t", 0, 2)
        machine.disk.crash(machine.directories.seams.random)
        machine.boot()
        await machine.start()
        log = machine.directories.logs["t", 0]
        assert (log.log_start_offset, log.high_watermark) == (0, 0)
        assert log.log_end_offset <= 2
        assert len(machine.names()) == 2
        await asyncio.sleep(61)
        await Housekeeping(machine.directories, HousekeepingSettings()).remove_due()
        assert machine.names() == ["t-0"]

    run(main)


@pytest.mark.parametrize("name", ["lost+found", "no-number-x", "t-0.123-delete", "t-0-delete", "-1"])
def test_a_directory_of_another_name_refuses_the_start_and_nothing_has_changed(name: str) -> None:
    async def main() -> None:
        machine = Machine(2)
        await machine.start()
        await machine.create("t", 0, 3)
        await machine.directories.close()
        machine.disk.make_directory(machine.paths[1] / name)
        machine.boot()
        with pytest.raises(ConfigError, match=r"/data/b.*move it away"):
            await machine.start()
        for path in machine.paths:
            assert machine.disk.exists(path / ".kafka_cleanshutdown")
            assert not machine.disk.exists(path / ".lock")

    run(main)


def test_files_in_a_log_directory_and_stray_logs_are_left_alone() -> None:
    async def main() -> None:
        machine = Machine(1)
        await machine.start()
        await machine.directories.close()
        stray = machine.paths[0] / f"t-0.{HEX}-stray"
        machine.disk.make_directory(stray)
        machine.disk.replace_bytes(machine.paths[0] / "notes.txt", b"mine")
        machine.boot()
        await machine.start()
        assert machine.directories.logs == {}
        await asyncio.sleep(100)
        await Housekeeping(machine.directories, HousekeepingSettings()).remove_due()
        assert machine.names() == [stray.name]
        assert machine.text("notes.txt") == "mine"

    run(main)


def test_directories_of_another_broker_or_cluster_are_refused() -> None:
    async def main() -> None:
        machine = Machine(2)
        await machine.start()
        assert "broker.id=1\n" in machine.text("meta.properties", 1)
        await machine.directories.close()
        for owner, problem in [
            (MetaProperties(2, OWNER.cluster_id), "broker.id is 2"),
            (MetaProperties(1, "AAAAAAAAAAAAAAAAAAAAAg"), "wrong cluster"),
        ]:
            machine.boot()
            with pytest.raises(ConfigError, match=problem):
                await machine.start(owner)
            for directory in machine.directories.directories:
                directory.release()
        machine.disk.remove(machine.paths[1] / "meta.properties")
        machine.boot()
        await machine.start()
        assert "broker.id=1\n" in machine.text("meta.properties", 1), "written again where it was missing"

    run(main)


def test_a_topic_id_is_noted_once_and_another_one_refused() -> None:
    async def main() -> None:
        machine = Machine(1)
        await machine.start()
        log = await machine.creation.get_or_create("t", 0, machine.settings)
        assert read_topic_id(machine.disk, log.place.directory) is None
        await machine.creation.check_topic_id(log, TOPIC_ID)
        await machine.creation.check_topic_id(log, TOPIC_ID)
        with pytest.raises(ApiError) as refused:
            await machine.creation.check_topic_id(log, bytes(reversed(TOPIC_ID)))
        assert refused.value.code is ErrorCode.INCONSISTENT_TOPIC_ID

    run(main)


def test_a_truncation_is_checkpointed_so_that_a_crash_does_not_undo_it() -> None:
    async def main() -> None:
        for seed in range(20):
            machine = Machine(1)
            machine.directories.seams.random.seed(seed)
            await machine.start()
            log = await machine.create("t", 0, 20)
            await machine.directories.flusher.flush(log)
            await machine.directories.checkpoint(machine.directories.directories[0])
            truncate_to(log, 7)
            await machine.directories.truncated([log])
            assert machine.text("recovery-point-offset-checkpoint") == "0\n1\nt 0 6\n", "in the active segment"
            machine.disk.crash(machine.directories.seams.random)
            machine.boot()
            await machine.start()
            log = machine.directories.logs["t", 0]
            assert len(log.segments) <= 2
            assert [record.offset for record in read_all(log)][:7] == list(range(7))

    run(main)
