"""Compaction: records a second of one core, and how long the event loop waits while it goes on beside it.

The log has two million records of 1 M keys, 100 bytes each, in batches of 100. The rate is of records in the log by the
processor time of the worker thread alone, so that other processes of the machine do not count; reading twice, decoding
and writing are in it.

What the loop has to wait for is told in two ways. The worker lets the interpreter go in every pause; the most processor
time that it used between two pauses is the most that the loop can have waited for it, and does not count what other
processes of the machine do. And a tick every millisecond tells how late the loop gets to run, by the clock: beside the
cleaning, and beside a thread that only computes and pauses as the worker does. Where the second is late as well, it is
the machine that was late.
"""

from __future__ import annotations

import asyncio
import gc
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from bench.measure import Row, table
from moldau.base.clock import SystemClock
from moldau.records.builder import build_batch
from moldau.records.compression import CompressionType
from moldau.storage.cleaner.clean_offsets import CleanOffsets
from moldau.storage.cleaner.cleaning import Cleaning
from moldau.storage.cleaner.log_cleaner import LogCleaner
from moldau.storage.cleaner.offset_map import OffsetMap
from moldau.storage.cleaner.pace import Pace
from moldau.storage.cleaner.schedule import cleanable, observe
from moldau.storage.cleaner.settings import CleanerSettings
from moldau.storage.disk_files import DiskFiles
from moldau.storage.log import Log
from moldau.storage.log_loading import load_log
from moldau.storage.log_place import LogPlace
from moldau.storage.log_settings import LogSettings
from moldau.storage.open_files import OpenFiles

RECORDS = 2_000_000
KEYS = 1_000_000
VALUE = bytes(84)
TICK_S = 0.001
COMPUTING_S = 10.0
BUDGET_BYTES = 256 << 20  # holds 1.6 M keys; Kafka's default of 128 MiB cleans this log in two runs
BAR_RECORDS_PER_S = 150_000.0
BAR_STALL_MS = 20.0


def rows() -> list[Row]:
    out = []
    for name, count, keys, per_batch, codec, bar in (
        ("1 M keys, batches of 100", RECORDS, KEYS, 100, CompressionType.NONE, "≥1"),
        ("1 M keys, batches of 100, lz4", RECORDS, KEYS, 100, CompressionType.LZ4, ""),
        ("100,000 keys, batches of 1", 200_000, 100_000, 1, CompressionType.NONE, ""),
    ):
        with tempfile.TemporaryDirectory() as directory:
            rate, longest_ms = clean(filled(Path(directory), count, keys, per_batch, codec))
        out.append(Row(f"compaction, {name}", rate, BAR_RECORDS_PER_S, "records/s", "the bar", bar))
        out.append(Row(f"its longest hold of the interpreter, {name}", longest_ms, BAR_STALL_MS, "ms", "the bar", "≤1"))
    return [*out, *stall_rows()]


def filled(
    directory: Path,
    count: int = RECORDS,
    keys: int = KEYS,
    per_batch: int = 100,
    codec: CompressionType = CompressionType.NONE,
) -> Log:
    """A dirty log with an empty active segment."""
    clock, random = SystemClock(), Random(1)
    place = LogPlace(directory / "bench-0", "bench", 0, OpenFiles(DiskFiles(), 100), clock, random)
    log = load_log(place, LogSettings(segment_bytes=64 << 20, compact=True, delete=False))
    now_ms = clock.now_ms()
    for start in range(0, count, per_batch):
        records = [
            (offset, now_ms + offset, b"key-%012d" % random.randrange(keys), VALUE, ())
            for offset in range(start, start + per_batch)
        ]
        log.append_as_follower(build_batch(records, codec, base_offset=start, leader_epoch=0))
    log.roll()
    log.advance_high_watermark(log.log_end_offset)
    return log


class Slices:
    """How much processor time a thread uses between its pauses; `sleep` takes the place of `time.sleep`."""

    def __init__(self) -> None:
        self.longest_s = 0.0
        self.begin()

    def begin(self) -> None:
        self._began_s = time.thread_time()

    def sleep(self, seconds: float) -> None:
        self.longest_s = max(self.longest_s, time.thread_time() - self._began_s)
        time.sleep(seconds)
        self._began_s = time.thread_time()


def clean(log: Log) -> tuple[float, float]:
    """Records a second, and the longest slice in milliseconds."""
    clock, slices = log.place.clock, Slices()
    chosen = cleanable(observe(log, None), clock.now_ms())
    pace = Pace(clock, sleep=slices.sleep)
    cleaning = Cleaning(chosen, {}, OffsetMap(BUDGET_BYTES), pace, lambda function: function())
    gc.collect()
    gc.freeze()  # as a broker does when it has started; what filled the log is not the cleaner's garbage
    slices.begin()
    began = time.thread_time()
    statistics = cleaning.run()
    took = time.thread_time() - began
    gc.unfreeze()
    assert statistics.end_offset == log.log_end_offset
    return statistics.records_read / took, slices.longest_s * 1000.0


@dataclass
class Ticks:
    """How late the loop was, tick by tick."""

    late_ms: list[float] = field(default_factory=list)

    def at(self, share: float) -> float:
        return sorted(self.late_ms)[min(len(self.late_ms) - 1, int(len(self.late_ms) * share))]


async def tick(ticks: Ticks, until: asyncio.Event) -> None:
    while not until.is_set():
        began = time.perf_counter()
        await asyncio.sleep(TICK_S)
        ticks.late_ms.append((time.perf_counter() - began - TICK_S) * 1000.0)


def compute() -> None:
    pace, until = Pace(SystemClock()), time.perf_counter() + COMPUTING_S
    while time.perf_counter() < until:
        sum(range(2_000))
        pace.step()


async def stalls(log: Log) -> tuple[Ticks, Ticks]:
    """The ticks beside a thread that computes, and those beside a cleaning of the log."""
    computing, busy = Ticks(), Ticks()
    settings = CleanerSettings(dedupe_buffer_size=BUDGET_BYTES, io_buffer_load_factor=1.0)
    cleaner = LogCleaner(lambda: [log], CleanOffsets(), settings, SystemClock(), _raise)
    over = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        group.create_task(tick(computing, over))
        await asyncio.to_thread(compute)
        over.set()
    done = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        group.create_task(tick(busy, done))
        await cleaner.clean_dirtiest()
        done.set()
    cleaner.close()
    return computing, busy


def stall_rows() -> list[Row]:
    with tempfile.TemporaryDirectory() as directory:
        log = filled(Path(directory))
        gc.collect()
        gc.freeze()
        computing, busy = asyncio.run(stalls(log))
        gc.unfreeze()
    return [
        Row(f"loop late beside compaction, {name}", busy.at(share), computing.at(share), "ms", "a thread that computes")
        for name, share in (("median", 0.5), ("p99", 0.99), ("p99.9", 0.999), ("longest", 1.0))
    ]


def _raise(_log: Log, error: OSError) -> None:
    raise error


if __name__ == "__main__":
    print(table(rows()))
