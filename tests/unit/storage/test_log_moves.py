"""Moving a log to another directory: nothing is lost at any step, and nobody notices."""

from __future__ import annotations

import errno

import pytest

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError
from moldau.storage.directory_files import read_topic_id
from moldau.storage.log import Log
from moldau.storage.log_reading import find_slice
from tests.unit.storage.directories_workbench import TOPIC_ID, Machine, fill, run
from tests.unit.storage.log_workbench import read_all


def copy(source: Log, target: Log) -> None:
    """As the internal fetch loop does."""
    while piece := find_slice(source, target.log_end_offset, source.log_end_offset, 400):
        target.append_as_follower(bytearray(piece.read()))
    target.advance_high_watermark(source.high_watermark)


async def begin(machine: Machine, count: int = 20) -> tuple[Log, Log]:
    """A log in the first directory, and its future in the second."""
    await machine.start()
    current = await machine.create("t", 0, count)
    future = await machine.moves.start_move("t", 0, machine.paths[1])
    assert future is not None
    return current, future


def offsets(log: Log) -> list[int]:
    return [record.offset for record in read_all(log)]


def test_a_log_is_copied_and_then_changes_places() -> None:
    async def main() -> None:
        machine = Machine(2)
        current, future = await begin(machine)
        assert machine.names(1)[0].startswith("t-0.")
        assert machine.names(1)[0].endswith("-future")
        assert await machine.moves.finish_move("t", 0) is None, "it has not caught up"
        copy(current, future)
        fill(current, 1)
        assert await machine.moves.finish_move("t", 0) is None
        copy(current, future)
        current.advance_log_start_offset(4)
        moved = await machine.moves.finish_move("t", 0)
        assert moved is future is machine.directories.get("t", 0)
        assert (moved.log_start_offset, moved.high_watermark, moved.log_end_offset) == (4, 21, 21)
        assert machine.names(1) == ["t-0"]
        assert machine.names(0)[0].endswith("-delete")
        assert machine.directories.future_logs == {}
        assert read_topic_id(machine.disk, moved.place.directory) == TOPIC_ID
        fill(moved, 9)
        assert offsets(moved) == list(range(4, 30))
        await machine.restart()
        assert offsets(machine.directories.logs["t", 0]) == list(range(4, 30))

    run(main)


def test_a_preallocated_log_goes_on_where_it_was() -> None:
    async def main() -> None:
        machine = Machine(2, preallocate=True)
        current, future = await begin(machine, 3)
        copy(current, future)
        moved = await machine.moves.finish_move("t", 0)
        assert moved is not None
        fill(moved, 10)
        assert offsets(moved) == list(range(13))
        await machine.restart(clean=False)
        assert offsets(machine.directories.logs["t", 0]) == list(range(13))

    run(main)


def test_a_move_goes_on_after_a_restart() -> None:
    async def main() -> None:
        for clean in (True, False):
            machine = Machine(2)
            current, future = await begin(machine)
            copy(current, future)
            fill(current, 5)
            await machine.restart(clean=clean)
            again = machine.directories.future_logs["t", 0]
            assert again.log_end_offset == 20
            assert await machine.moves.start_move("t", 0, machine.paths[1]) is again
            copy(machine.directories.logs["t", 0], again)
            assert await machine.moves.finish_move("t", 0) is again
            assert offsets(again) == list(range(25))

    run(main)


def test_a_move_can_be_cancelled_or_sent_elsewhere() -> None:
    async def main() -> None:
        machine = Machine(3)
        current, future = await begin(machine)
        other = await machine.moves.start_move("t", 0, machine.paths[2])
        assert other is not None
        assert other is not future
        assert machine.names(1)[0].endswith("-delete")
        assert await machine.moves.start_move("t", 0, machine.paths[0]) is None, "it is there: the move is over"
        assert machine.directories.future_logs == {}
        assert machine.directories.get("t", 0) is current
        with pytest.raises(ApiError) as refused:
            await machine.moves.finish_move("t", 0)
        assert refused.value.code is ErrorCode.REPLICA_NOT_AVAILABLE

    run(main)


def test_deleting_a_partition_deletes_its_future_too() -> None:
    async def main() -> None:
        machine = Machine(2)
        await begin(machine)
        await machine.creation.delete([("t", 0)])
        assert machine.directories.logs == machine.directories.future_logs == {}
        assert all(name.endswith("-delete") for directory in (0, 1) for name in machine.names(directory))

    run(main)


@pytest.mark.slow
def test_a_crash_at_any_step_of_the_change_of_places_loses_nothing() -> None:
    async def main() -> int:
        steps = 0
        for steps in range(60):
            machine = Machine(2)
            current, future = await begin(machine)
            await machine.directories.flusher.flush(current)
            copy(current, future)
            machine.files.fail("*", after=steps)
            finished = True
            try:
                await machine.moves.finish_move("t", 0)
            except ApiError:
                finished = False
            machine.disk.crash(machine.directories.seams.random)
            machine.files.heal()
            machine.boot()
            await machine.start()
            log = machine.directories.logs["t", 0]
            assert offsets(log) == list(range(20)), steps
            assert log.place.directory.name == "t-0"
            fill(log, 3)
            await machine.restart()
            assert offsets(machine.directories.logs["t", 0]) == list(range(23))
            if finished and not machine.offline:
                break
        return steps

    assert run(main) > 5


def test_of_two_logs_of_one_partition_the_longer_is_used_and_the_other_put_aside() -> None:
    async def main() -> None:
        for longer in (0, 1):
            machine = Machine(2)
            current, future = await begin(machine, 10)
            copy(current, future)
            fill((current, future)[longer], 3)
            await machine.directories.close()
            machine.disk.rename(future.place.directory, machine.paths[1] / "t-0")
            machine.boot()
            await machine.start()
            assert len(machine.directories.logs) == 1
            kept = machine.directories.logs["t", 0]
            assert kept.place.directory.parent == machine.paths[longer]
            assert offsets(kept) == list(range(13))
            names = [*machine.names(0), *machine.names(1)]
            assert sorted(name.rpartition("-")[2] for name in names) == ["0", "stray"]

    run(main)


def test_a_disk_that_fails_while_a_log_is_copied_to_it_does_not_harm_the_log() -> None:
    async def main() -> None:
        machine = Machine(2)
        current, future = await begin(machine)
        machine.files.fail("append", "/data/b/*", errno.ENOSPC)
        with pytest.raises(OSError, match="No space") as full:
            copy(current, future)
        assert machine.directories.failed(future, full.value).code is ErrorCode.KAFKA_STORAGE_ERROR
        assert machine.offline == [(machine.paths[1], [])]
        assert machine.directories.future_logs == {}
        fill(current, 3)
        assert offsets(current) == list(range(23))
        with pytest.raises(ApiError) as refused:
            await machine.moves.start_move("t", 0, machine.paths[1])
        assert refused.value.code is ErrorCode.KAFKA_STORAGE_ERROR

    run(main)
