"""The log directories of a broker on a simulated disk, in virtual time, started and stopped as often as wanted."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from random import Random
from typing import Any, TypeVar

from moldau.base.clock import LoopClock
from moldau.base.supervision import Supervisor
from moldau.storage.directory_files import MetaProperties
from moldau.storage.housekeeping import Housekeeping, HousekeepingSettings
from moldau.storage.log import Log
from moldau.storage.log_creation import LogCreation
from moldau.storage.log_directories import LogDirectories
from moldau.storage.log_directory import Seams, TopicPartition
from moldau.storage.log_moves import LogMoves
from moldau.storage.log_settings import LogSettings
from moldau.storage.open_files import OpenFiles
from moldau.testing.disk import SimulatedDisk
from moldau.testing.disk_faults import FaultyFiles
from moldau.testing.simulation.run import simulate
from tests.unit.storage.log_workbench import batch

Result = TypeVar("Result")

OWNER = MetaProperties(1, "AAAAAAAAAAAAAAAAAAAAAQ")
TOPIC_ID = bytes(range(16))
SMALL = {"segment_bytes": 1000, "index_interval_bytes": 200, "segment_index_bytes": 240}


class Machine:
    """A disk that outlives the broker, and the broker that runs on it now."""

    def __init__(self, count: int = 2, **settings: Any) -> None:
        self.clock = LoopClock(asyncio.get_running_loop())
        self.disk = SimulatedDisk(self.clock)
        self.files = FaultyFiles(self.disk)
        self.paths = [Path(f"/data/{name}") for name in "abcdef"[:count]]
        self.settings = LogSettings(**{**SMALL, **settings})
        self.offline: list[tuple[Path, list[TopicPartition]]] = []
        self.all_offline = 0
        self.boot()

    def boot(self) -> None:
        """A broker that has not started yet."""
        seams = Seams(OpenFiles(self.files, 20), self.clock, Random(7))
        self.directories = LogDirectories(
            self.paths,
            seams,
            threads=2,
            on_offline=lambda path, partitions: self.offline.append((path, sorted(partitions))),
            on_all_offline=self._count_all_offline,
        )
        self.creation = LogCreation(self.directories)
        self.moves = LogMoves(self.directories, self.creation)

    def _count_all_offline(self) -> None:
        self.all_offline += 1

    async def start(self, owner: MetaProperties = OWNER) -> None:
        self.directories.open()
        self.directories.claim(owner)
        await self.directories.load(lambda _topic: self.settings)

    async def restart(self, *, clean: bool = True) -> None:
        if clean:
            await self.directories.close()
        self.disk.kill()
        self.boot()
        await self.start()

    async def create(self, topic: str, partition: int = 0, count: int = 0) -> Log:
        log = await self.creation.get_or_create(topic, partition, self.settings, TOPIC_ID)
        if count:
            fill(log, count)
        return log

    def housekeeping(self, supervisor: Supervisor, **settings: int) -> Housekeeping:
        housekeeping = Housekeeping(self.directories, HousekeepingSettings(**settings))
        housekeeping.start(supervisor)
        return housekeeping

    def text(self, name: str, directory: int = 0) -> str:
        return self.disk.read_bytes(self.paths[directory] / name).decode()

    def names(self, directory: int = 0) -> list[str]:
        return sorted(self.disk.directories(self.paths[directory]))


def fill(log: Log, count: int, *, timestamp: int | None = None) -> None:
    """So many batches of 170 bytes with a timestamp, by default now; all of it counts as replicated."""
    for _ in range(count):
        at = log.place.clock.now_ms() if timestamp is None else timestamp
        value = b"%d" % log.log_end_offset
        log.append_as_leader(batch(value.ljust(96, b"."), timestamp=at), 0)
    log.advance_high_watermark(log.log_end_offset)


def run(main: Callable[[], Coroutine[Any, Any, Result]], seed: int = 1) -> Result:
    return simulate(lambda _network: main(), seed, time_limit_s=20 * 24 * 3600, shuffled=True)
