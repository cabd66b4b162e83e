"""A log on a real disk in a temporary directory, and batches to put into it."""

from __future__ import annotations

import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from moldau.base.clock import VirtualClock
from moldau.records.batch import Producer, RecordBatch
from moldau.records.builder import build_batch
from moldau.records.compression import CompressionType
from moldau.records.reader import read_batch
from moldau.records.record import Record
from moldau.records.walk import batches
from moldau.storage.disk_files import DiskFiles
from moldau.storage.files import Files
from moldau.storage.log import Log
from moldau.storage.log_loading import Checkpointed, load_log
from moldau.storage.log_place import LogPlace
from moldau.storage.log_reading import find_slice
from moldau.storage.log_settings import LogSettings
from moldau.storage.open_files import OpenFiles

START_MS = 1_700_000_000_000


class Workbench:
    """Opens the log of one partition as often as wanted."""

    def __init__(self, directory: Path, files: Files | None = None, **settings: Any) -> None:
        self.directory = directory / "orders-0"
        self.files = files or DiskFiles()
        self.files.make_directory(directory)
        self.clock = VirtualClock(START_MS)
        self.settings = LogSettings(**settings)

    def open(self, *, clean: bool = False, **checkpointed: int) -> Log:
        place = LogPlace(self.directory, "orders", 0, OpenFiles(self.files, 20), self.clock, random.Random(1))
        return load_log(place, self.settings, Checkpointed(**checkpointed), clean=clean)

    @property
    def names(self) -> list[str]:
        return sorted(self.files.names(self.directory))


def records(*values: bytes | None, timestamp: int = START_MS, key: bytes | None = b"key") -> list[Record]:
    return [Record(index, timestamp + index, key, value) for index, value in enumerate(values)]


def batch(
    *values: bytes | None,
    timestamp: int = START_MS,
    key: bytes | None = b"key",
    codec: CompressionType = CompressionType.NONE,
    producer: Producer | None = None,
    transactional: bool = False,
) -> bytearray:
    """A producer's batch of records with these values."""
    made = records(*(values or (b"value",)), timestamp=timestamp, key=key)
    producer = producer or Producer()
    return bytearray(build_batch(made, codec, producer=producer, transactional=transactional))


def append(log: Log, count: int, *, epoch: int = 0, size_bytes: int = 100) -> None:
    """So many batches of one record, the value being its offset; everything counts as replicated."""
    for _ in range(count):
        value = b"%d" % log.log_end_offset
        log.append_as_leader(batch(value.ljust(size_bytes, b"."), timestamp=START_MS + log.log_end_offset), epoch)
    log.advance_high_watermark(log.log_end_offset)


def read_all(log: Log, offset: int | None = None, bytes_max: int = 5000) -> list[Record]:
    """The records from an offset on, read as a consumer reads them."""
    offset = log.log_start_offset if offset is None else offset
    found: list[Record] = []
    while piece := find_slice(log, offset, log.log_end_offset, bytes_max):
        for one in whole(piece.read()):
            found += [record for record in read_batch(one) if record.offset >= offset]
            offset = one.next_offset
    return found


def whole(data: Any) -> Iterable[RecordBatch]:
    for one in batches(data):
        one.check()
        yield one
