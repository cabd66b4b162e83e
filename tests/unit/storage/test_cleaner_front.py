"""The cleaner of a broker: worker threads, checkpoints, pauses, failures."""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from moldau.base.clock import SystemClock, VirtualClock
from moldau.storage.checkpoints import CLEANER_CHECKPOINT, read_offsets
from moldau.storage.cleaner.clean_offsets import CleanOffsets
from moldau.storage.cleaner.log_cleaner import LogCleaner
from moldau.storage.cleaner.pace import CleaningAborted, Pace
from moldau.storage.cleaner.settings import CleanerSettings
from moldau.storage.log import Log
from moldau.storage.log_truncation import truncate_to
from moldau.testing.disk import SimulatedDisk
from moldau.testing.disk_faults import FaultyFiles
from tests.unit.storage.compacted_log import DIRECTORY, CompactedLog


class Front:
    """A cleaner of some logs on one disk, each in a log directory of its own."""

    def __init__(self, logs: int = 1) -> None:
        self.files = FaultyFiles(SimulatedDisk())
        self.logs = [
            CompactedLog(self.files, base=Path("/data") if not number else Path(f"/data{number}"))
            for number in range(logs)
        ]
        for log in self.logs:
            for number in range(20):
                log.append((b"k%d" % (number % 4), b"%d" % number))
            log.roll()
        self.failures: list[tuple[Log, OSError]] = []
        self.offsets = CleanOffsets()
        self.cleaner = LogCleaner(
            lambda: [log.log for log in self.logs],
            self.offsets,
            CleanerSettings(backoff_ms=1),
            SystemClock(),
            lambda log, error: self.failures.append((log, error)),
        )

    def run(self, work: Callable[[Front], Awaitable[None]]) -> None:
        async def main() -> None:
            try:
                await work(self)
            finally:
                self.cleaner.close()

        asyncio.run(main())


def test_the_dirtiest_log_is_cleaned_and_checkpointed() -> None:
    async def work(front: Front) -> None:
        assert await front.cleaner.clean_dirtiest()
        assert [offset for offset, _, _ in front.logs[0].records()] == [16, 17, 18, 19]
        assert read_offsets(front.files, DIRECTORY / CLEANER_CHECKPOINT) == {("t", 0): 20}
        assert not await front.cleaner.clean_dirtiest()
        metrics = front.cleaner.metrics
        assert (metrics.runs, metrics.last.records_read, metrics.last.records_written) == (1, 20, 4)
        loaded = CleanOffsets()
        loaded.load(front.files, DIRECTORY)
        assert loaded.get(front.logs[0].log) == 20

    Front().run(work)


def test_it_runs_until_it_is_cancelled() -> None:
    async def work(front: Front) -> None:
        running = asyncio.create_task(front.cleaner.run())
        for _ in range(2000):
            await asyncio.sleep(0.002)
            if front.cleaner.metrics.runs:
                break
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert front.cleaner.metrics.runs == 1

    Front().run(work)


def test_a_paused_log_is_not_cleaned() -> None:
    async def work(front: Front) -> None:
        log = front.logs[0].log
        front.cleaner.abort_and_pause(log)
        front.cleaner.abort_and_pause(log)
        assert not await front.cleaner.clean_dirtiest()
        front.cleaner.resume(log)
        assert not await front.cleaner.clean_dirtiest()
        front.cleaner.resume(log)
        assert await front.cleaner.clean_dirtiest()

    Front().run(work)


def test_a_cleaning_changes_nothing_after_it_was_aborted() -> None:
    async def work(front: Front) -> None:
        log = front.logs[0].log
        before = front.logs[0].records()
        cleaning = asyncio.create_task(front.cleaner.clean_dirtiest())
        for _ in range(1000):
            await asyncio.sleep(0)
            if front.cleaner.is_cleaning(log):
                break
        front.cleaner.abort_and_pause(log)
        assert front.logs[0].records() == before
        await front.cleaner.stopped(log)
        await cleaning
        assert front.logs[0].records() == before
        front.logs[0].check_files()
        assert front.offsets.get(log) is None
        front.cleaner.resume(log)
        assert await front.cleaner.clean_dirtiest()
        assert len(front.logs[0].records()) == 4

    Front().run(work)


def test_a_damaged_log_is_left_alone_with_its_reason_and_others_go_on() -> None:
    async def work(front: Front) -> None:
        damaged = front.logs[0].log.segments.first
        data = bytearray(damaged.file.read(damaged.size_bytes, 0))
        data[-1] ^= 1
        damaged.file.truncate(0)
        damaged.file.append(data)
        while await front.cleaner.clean_dirtiest():
            pass
        assert len(front.logs[1].records()) == 4
        assert "checksum" in front.cleaner.uncleanable["t", 0]
        front.cleaner.deleted(front.logs[0].log)
        assert not front.cleaner.uncleanable

    front = Front(2)
    # Both partitions have one name in this test, so the second one is another partition.
    object.__setattr__(front.logs[1].log.place, "partition", 1)
    front.run(work)


def test_a_failing_disk_is_reported() -> None:
    async def work(front: Front) -> None:
        front.files.fail("sync", "*.cleaned", error=errno.EIO, times=1)
        assert await front.cleaner.clean_dirtiest()
        ((log, error),) = front.failures
        assert log is front.logs[0].log
        assert error.errno == errno.EIO
        assert not front.cleaner.uncleanable

    Front().run(work)


def test_the_checkpoint_follows_truncation_moves_and_deletion() -> None:
    log = CompactedLog()
    offsets = CleanOffsets()
    offsets.set(log.log, 30)
    assert offsets.cut(log.log, 20)
    assert not offsets.cut(log.log, 25)
    assert offsets.get(log.log) == 20
    assert offsets.keep(DIRECTORY, {("t", 0)}) == {("t", 0): 20}
    other = CompactedLog(base=Path("/other"))
    offsets.move(other.log, DIRECTORY)
    assert (offsets.get(log.log), offsets.get(other.log)) == (None, 20)
    offsets.forget(other.log)
    assert offsets.get(other.log) is None
    log.files.replace_bytes(DIRECTORY / CLEANER_CHECKPOINT, b"nonsense")
    offsets.load(log.files, DIRECTORY)
    assert offsets.get(log.log) is None


def test_what_is_deleted_or_truncated_is_forgotten_on_the_disk_as_well() -> None:
    async def work(front: Front) -> None:
        path = DIRECTORY / CLEANER_CHECKPOINT
        assert await front.cleaner.clean_dirtiest()
        assert read_offsets(front.files, path) == {("t", 0): 20}
        log = front.logs[0].log
        truncate_to(log, 10)
        front.cleaner.truncated(log)
        await front.cleaner.save_checkpoints()
        assert read_offsets(front.files, path)[("t", 0)] <= 10
        front.cleaner.deleted(log)
        await front.cleaner.save_checkpoints()
        assert read_offsets(front.files, path) == {}

    Front().run(work)


def test_the_pace_keeps_to_bytes_a_second() -> None:
    clock = VirtualClock()
    pace = Pace(clock, bytes_per_second_max=1000.0, sleep=lambda seconds: clock.advance(seconds * 1000.0))
    for _ in range(100):
        clock.advance(10)
        pace.step(100)
    assert 9_000 <= clock.monotonic_ms() <= 10_100


def test_an_order_to_stop_is_heard_while_throttled() -> None:
    clock = VirtualClock()
    naps: list[float] = []

    def sleep(seconds: float) -> None:
        naps.append(seconds)
        clock.advance(seconds * 1000.0)
        pace.aborted = len(naps) == 3

    pace = Pace(clock, bytes_per_second_max=1.0, sleep=sleep)
    clock.advance(1000)
    with pytest.raises(CleaningAborted):
        pace.step(1_000_000)
    assert max(naps) <= 0.3


def test_other_settings_hold_from_the_next_cleaning_on() -> None:
    async def work(front: Front) -> None:
        front.cleaner.configure(CleanerSettings(dedupe_buffer_size=300))
        assert await front.cleaner.clean_dirtiest()
        assert front.cleaner.metrics.last.end_offset < 20

    Front().run(work)
