"""A process that appends to a log until it is killed, and says up to where it has flushed.

    python writing_process.py DIRECTORY RECOVERY_POINT SEED

Each record's value says which one it is, so that a reader can tell what was written from the offsets alone. A line
`acked <offset>` means: everything before that offset has been synced.
"""

from __future__ import annotations

import sys
from pathlib import Path
from random import Random

from moldau.base.clock import SystemClock
from moldau.records.batch import Producer
from moldau.records.builder import build_batch
from moldau.storage.disk_files import DiskFiles
from moldau.storage.log import Log
from moldau.storage.log_loading import Checkpointed, load_log
from moldau.storage.log_place import LogPlace
from moldau.storage.log_settings import LogSettings
from moldau.storage.open_files import OpenFiles

SETTINGS = LogSettings(segment_bytes=60_000, index_interval_bytes=1000, segment_index_bytes=16 * 1024)
PRODUCER_ID = 7
START_MS = 1_700_000_000_000


def open_log(directory: Path, recovery_point: int) -> Log:
    place = LogPlace(directory, "orders", 0, OpenFiles(DiskFiles(), 50), SystemClock(), Random(1))
    return load_log(place, SETTINGS, Checkpointed(recovery_point), producer_expiration_ms=1 << 60)


def value_at(offset: int) -> bytes:
    return (b"%d " % offset) * (1 + offset % 40)


def batch_at(offset: int, count: int) -> bytearray:
    """The batch of an idempotent producer whose sequence number is the offset."""
    rows = [(index, START_MS + offset + index, b"key", value_at(offset + index), ()) for index in range(count)]
    return bytearray(build_batch(rows, producer=Producer(PRODUCER_ID, 0, offset)))


def write(directory: Path, recovery_point: int, random: Random) -> None:
    log = open_log(directory, recovery_point)
    sys.stdout.write(f"opened {log.log_end_offset}\n")
    sys.stdout.flush()
    while True:
        for _ in range(random.randint(1, 30)):
            log.append_as_leader(batch_at(log.log_end_offset, random.randint(1, 5)), leader_epoch=0)
        log.flush()
        sys.stdout.write(f"acked {log.recovery_point}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    write(Path(sys.argv[1]), int(sys.argv[2]), Random(int(sys.argv[3])))
