"""Opening the logs of a broker after a clean stop: how long it takes, and how that grows with their number.

The machine's own floor is measured in the same run: listing each partition's directory and reading its two small files,
which no broker can do without, in plain calls of the operating system.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
import time
from pathlib import Path
from random import Random

from bench.measure import Row, table
from bench.memory import settle
from moldau.base.clock import SystemClock
from moldau.records.builder import build_batch
from moldau.storage.directory_files import MetaProperties
from moldau.storage.disk_files import DiskFile, DiskFiles
from moldau.storage.log_creation import LogCreation
from moldau.storage.log_directories import LogDirectories
from moldau.storage.log_directory import Seams
from moldau.storage.log_settings import LogSettings
from moldau.storage.open_files import OpenFiles

PARTITIONS = 10_000
OPEN_FILES = 1_000
LIMIT_S = 5.0
REPETITIONS = 5


class UnsyncedFile(DiskFile):
    __slots__ = ()

    def sync(self) -> None:
        pass


class UnsyncedFiles(DiskFiles):
    """For setting up: ten thousand logs are made much faster if nobody waits for the disk."""

    def open(self, path: Path, create: bool = False) -> DiskFile:
        return UnsyncedFile(os.open(path, os.O_RDWR | os.O_CLOEXEC | (os.O_CREAT if create else 0), 0o644))

    def sync_directory(self, path: Path) -> None:
        pass


def rows() -> list[Row]:
    folder = Path(tempfile.mkdtemp(prefix="bench-storage-open-"))
    try:
        half, whole = folder / "half", folder / "whole"
        asyncio.run(make(half, PARTITIONS // 2))
        asyncio.run(make(whole, PARTITIONS))
        in_turn = [(opened(half), opened(whole), floor(whole)) for _ in range(REPETITIONS)]
    finally:
        shutil.rmtree(folder)
    half_s, whole_s, floor_s = (min(times) for times in zip(*in_turn, strict=True))
    return [
        Row(f"open {PARTITIONS:,} partitions after a clean stop", whole_s, LIMIT_S, "s", "the bar itself", "≤1"),
        Row(
            "the same, beside the calls of the system that it needs", whole_s, floor_s, "s", "listing and reading alone"
        ),
        Row(f"{PARTITIONS:,} against twice {PARTITIONS // 2:,}", whole_s, 2 * half_s, "s", "linear growth", "≤1.2"),
    ]


async def make(path: Path, count: int) -> None:
    """A log directory with so many logs of one batch, stopped cleanly."""
    directories = started(path, UnsyncedFiles())
    await directories.load(lambda _topic: LogSettings())
    creation = LogCreation(directories)
    batch = build_batch([(0, SystemClock().now_ms(), b"key", b"value", ())])
    for partition in range(count):
        log = await creation.get_or_create("topic", partition, LogSettings(), bytes(range(16)))
        log.append_as_leader(bytearray(batch), 0)
    await directories.close()
    os.sync()  # or the first fsync of the measurement would wait for all of this


def started(path: Path, files: DiskFiles) -> LogDirectories:
    directories = LogDirectories([path], Seams(OpenFiles(files, OPEN_FILES), SystemClock(), Random(1)))
    directories.open()
    directories.claim(MetaProperties(1, "AAAAAAAAAAAAAAAAAAAAAQ"))
    return directories


def opened(path: Path) -> float:
    async def main() -> float:
        started_s = time.perf_counter()
        directories = started(path, DiskFiles())
        await directories.load(lambda _topic: LogSettings())
        took_s = time.perf_counter() - started_s
        await directories.close()
        return took_s

    settle()
    return asyncio.run(main())


def floor(path: Path) -> float:
    """What the operating system needs to list every partition and to read what has to be read."""
    started_s = time.perf_counter()
    for entry in os.scandir(path):
        if entry.is_dir():
            for file in os.scandir(entry.path):
                if file.name.endswith(".log"):
                    file.stat()
                elif file.name == "leader-epoch-checkpoint" or file.name.endswith(".snapshot"):
                    Path(file.path).read_bytes()
    return time.perf_counter() - started_s


if __name__ == "__main__":
    print(table(rows()))
