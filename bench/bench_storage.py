"""A log beside what it cannot do without: a checksum and a write, a read, a checksum over everything.

Both sides of a ratio use the same disk in the same seconds, and files that are in the page cache: nobody syncs. Files
are begun anew for each repetition, so that no side writes over pages that are there already.

Recovery is of a whole segment of 1 GiB. It has to read the file, and the bar is against reading it and computing its
checksum. The checksum of bytes that are in memory already stands beside it: at 15 GiB/s a batch of 16 KiB takes a
microsecond, no more than Python takes to look at its header.
"""

from __future__ import annotations

import os
import random
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from bench.measure import Row, paired_row, table
from moldau.base.clock import SystemClock
from moldau.records.builder import build_batch
from moldau.records.checksum import crc32c
from moldau.records.record import Record
from moldau.records.walk import batches
from moldau.storage.disk_files import DiskFiles
from moldau.storage.log import Log
from moldau.storage.log_loading import load_log
from moldau.storage.log_place import LogPlace
from moldau.storage.log_reading import find_slice
from moldau.storage.log_settings import LogSettings
from moldau.storage.open_files import OpenFiles
from moldau.storage.recovery_scan import RECOVERY_WINDOW_BYTES

KIB, MIB = 1024, 1024 * 1024
SIZES = (("16 KiB", 16 * KIB), ("1 MiB", MIB))
NOISE = random.Random(1)
REPETITIONS = 15
APPENDED_BYTES = 32 * MIB  # by each side in each repetition
READ_BYTES = MIB  # of one fetch
RECOVERED_BYTES = 1024 * MIB
CHECKED_FROM = 21  # the checksum covers a batch from its attributes on


def rows() -> list[Row]:
    with tempfile.TemporaryDirectory(prefix="moldau-bench-", dir=Path.cwd()) as folder:
        base = Path(folder)
        return [*append_rows(base), *read_rows(base), *recovery_rows(base)]


# -- appending


def append_rows(base: Path) -> list[Row]:
    out = []
    for name, size_bytes in SIZES:
        batch = sample_batch(size_bytes)
        count = APPENDED_BYTES // len(batch)
        size = len(batch) * count / MIB
        rates = in_turn(size, partial(append_to_log, base, batch, count), partial(write_bare, base, batch, count))
        out.append(paired_row(f"append batches of {name}", *rates, "MiB/s", "CRC-32C and os.write", "≥0.7"))
    return out


def append_to_log(base: Path, batch: bytearray, count: int) -> float:
    with temporary_log(base) as log:
        append = log.append_as_leader
        started = time.perf_counter()
        for _ in range(count):
            append(batch, 0)
        return time.perf_counter() - started


def write_bare(base: Path, batch: bytearray, count: int) -> float:
    path = base / "bare"
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT)
    try:
        checked = memoryview(batch)[CHECKED_FROM:]
        started = time.perf_counter()
        for _ in range(count):
            crc32c(checked)
            os.write(descriptor, batch)
        return time.perf_counter() - started
    finally:
        os.close(descriptor)
        path.unlink()


# -- reading


def read_rows(base: Path) -> list[Row]:
    """From the first offset to the last, 1 MiB at a time, finding the next offset as a consumer does."""
    with temporary_log(base) as log:
        fill(log, sample_batch(16 * KIB), APPENDED_BYTES)
        offsets = fetch_offsets(log)
        path = log.segments.active.path
        rates = in_turn(log.size_bytes / MIB, partial(read_log, log, offsets), partial(read_bare, path))
    return [paired_row("read in turn, 1 MiB at a time", *rates, "MiB/s", "os.pread", "≥0.7")]


def fetch_offsets(log: Log) -> list[int]:
    """Where fetches of a consumer begin; finding that in what it got is the consumer's work."""
    offsets = [0]
    while (piece := find_slice(log, offsets[-1], log.log_end_offset, READ_BYTES)) is not None:
        offsets.append(max(batch.next_offset for batch in batches(piece.read())))
    return offsets[:-1]


def read_log(log: Log, offsets: list[int]) -> float:
    end = log.log_end_offset
    log.recent.clear()  # nobody reads what was just appended here
    started = time.perf_counter()
    for offset in offsets:
        piece = find_slice(log, offset, end, READ_BYTES)
        assert piece is not None
        piece.read()
    return time.perf_counter() - started


def read_bare(path: Path) -> float:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        started = time.perf_counter()
        position = 0
        while data := os.pread(descriptor, READ_BYTES, position):
            position += len(data)
        return time.perf_counter() - started
    finally:
        os.close(descriptor)


# -- recovering


def recovery_rows(base: Path) -> list[Row]:
    out = []
    for name, size_bytes in SIZES:
        with temporary_log(base) as log:
            fill(log, sample_batch(size_bytes), RECOVERED_BYTES)
            path = log.segments.active.path
            data = path.read_bytes()
            size, recovery = len(data) / MIB, partial(recover, log.place)
            beside_reading = in_turn(size, recovery, partial(read_and_checksum, path), repetitions=7)
            beside_memory = in_turn(size, recovery, partial(checksum, data), repetitions=7)
        what = f"recover 1 GiB in batches of {name}"
        out.append(paired_row(what, *beside_reading, "MiB/s", "CRC-32C of the file as it is read", "≥0.5"))
        out.append(paired_row(what, *beside_memory, "MiB/s", "CRC-32C of the same bytes in memory"))
    return out


def recover(place: LogPlace) -> float:
    started = time.perf_counter()
    log = load_log(place, LogSettings())
    took = time.perf_counter() - started
    assert log.size_bytes > RECOVERED_BYTES - 2 * MIB
    return took


def read_and_checksum(path: Path) -> float:
    """All that a recovery cannot do without, in the pieces that it reads."""
    buffer = bytearray(RECOVERY_WINDOW_BYTES)
    descriptor = os.open(path, os.O_RDONLY)
    try:
        started = time.perf_counter()
        position = 0
        while size_bytes := os.preadv(descriptor, (buffer,), position):
            crc32c(buffer)
            position += size_bytes
        return time.perf_counter() - started
    finally:
        os.close(descriptor)


def checksum(data: bytes) -> float:
    started = time.perf_counter()
    crc32c(data)
    return time.perf_counter() - started


# -- what they have in common


def in_turn(
    size: float, ours: Callable[[], float], theirs: Callable[[], float], repetitions: int = REPETITIONS
) -> tuple[list[float], list[float]]:
    """What of a size each gets done in a second, measured in turn; the first turn does not count."""
    samples = [(ours(), theirs()) for _ in range(1 + repetitions)][1:]
    return [size / one for one, _ in samples], [size / other for _, other in samples]


def sample_batch(size_bytes: int) -> bytearray:
    """Records of 1 KiB that nothing compresses, in a batch of at most a size."""
    count = (size_bytes - 61) // 1040
    return bytearray(build_batch([Record(n, 1_700_000_000_000, None, NOISE.randbytes(1024)) for n in range(count)]))


@contextmanager
def temporary_log(base: Path) -> Iterator[Log]:
    place = LogPlace(base / "log-0", "log", 0, OpenFiles(DiskFiles(), 100), SystemClock(), random.Random(1))
    try:
        yield load_log(place, LogSettings())
    finally:
        place.open_files.clear()
        place.files.remove_tree(place.directory)


def fill(log: Log, batch: bytearray, size_bytes: int) -> None:
    for _ in range(size_bytes // len(batch)):
        log.append_as_leader(batch, 0)


if __name__ == "__main__":
    print(table(rows()))
