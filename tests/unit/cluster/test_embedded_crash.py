"""kill -9 at any moment: the embedded store keeps a prefix of the operations, and all that were answered.

A child process writes numbered znodes from several tasks and reports each answer; it is killed while it writes. Writers
ask in the order of their numbers, so that after the restart the znodes must be 0 … n without a gap.
"""

from __future__ import annotations

import asyncio
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from moldau.base.clock import SystemClock
from moldau.cluster.embedded import EmbeddedStore
from moldau.cluster.sqlite import SqlitePersistence

ROUNDS = 12

WRITER = """
import asyncio, sys
from pathlib import Path
from moldau.base.clock import SystemClock
from moldau.cluster.embedded import EmbeddedStore
from moldau.cluster.sqlite import SqlitePersistence
from moldau.cluster.store import Create, CreateMode, SetData

async def main():
    store = await EmbeddedStore.open(SqlitePersistence(Path(sys.argv[1])), SystemClock())
    session = await store.open_session(6000)
    if await session.exists("/n") is None:
        await session.create("/n", b"")
    await session.create("/alive", None, CreateMode.EPHEMERAL)

    async def write():
        while True:
            create = Create("/n/", b"x" * 200, CreateMode.PERSISTENT_SEQUENTIAL)
            created, _stat = await session.multi([create, SetData("/n", b"")])
            sys.stdout.write(created[-10:] + "\\n")
            sys.stdout.flush()

    await asyncio.gather(*(write() for _ in range(20)))

asyncio.run(main())
"""


@pytest.mark.slow
@pytest.mark.timeout(400)  # it waits for the disk, which others may keep busy: a minute has been seen
def test_a_killed_process_loses_nothing_that_was_answered(tmp_path: Path) -> None:
    path = tmp_path / "coordination.db"
    seeded = random.Random(5)
    answered = -1
    for _ in range(ROUNDS):
        writer = subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True)
        assert writer.stdout is not None
        first = writer.stdout.readline()
        time.sleep(seeded.uniform(0, 0.3))
        writer.kill()
        lines = [first, *writer.stdout.readlines()]
        writer.stdout.close()
        writer.wait()
        answered = max(answered, *(int(line) for line in lines if line.endswith("\n")))
        asyncio.run(_check(path, answered))


async def _check(path: Path, answered: int) -> None:
    store = await EmbeddedStore.open(SqlitePersistence(path), SystemClock())
    session = await store.open_session(6000)
    names = await session.children("/n")
    assert names == [f"{number:010d}" for number in range(len(names))]
    assert len(names) > answered
    parent = (await session.get("/n")).stat
    # Each transaction is there as a whole.
    assert parent.version == parent.cversion == parent.num_children == len(names)
    assert await session.exists("/alive") is None
    await store.close()
