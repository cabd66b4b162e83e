"""kill -9 of a process that writes a log, again and again: nothing that it had flushed is ever missing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from random import Random

import pytest

from moldau.records.batch import Buffer
from moldau.records.reader import read_batch
from moldau.records.walk import batches
from moldau.storage.log import Log
from moldau.storage.log_reading import find_slice
from tests.crash.writing_process import PRODUCER_ID, open_log, value_at
from tests.property.log_agreement import check_indexes

ROOT = Path(__file__).parent.parent.parent
KILLS = int(os.environ.get("MOLDAU_KILLS", "50"))
LIFE_S_MAX = 0.1


def write_and_kill(directory: Path, recovery_point: int, random: Random) -> int:
    """Let a process write for a moment; what it said last was flushed."""
    command = [sys.executable, "-m", "tests.crash.writing_process", str(directory), str(recovery_point)]
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}
    with subprocess.Popen(
        [*command, str(random.randrange(1 << 30))], cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        opened = process.stdout.readline().split()
        assert opened[:1] == ["opened"]
        time.sleep(random.uniform(0, LIFE_S_MAX))
        process.send_signal(signal.SIGKILL)
        lines = process.stdout.read().splitlines(keepends=True)
    acked = [int(line.split()[1]) for line in lines if line.endswith("\n")]
    return max([recovery_point, *acked])


def find_bytes(log: Log, offset: int) -> Buffer:
    piece = find_slice(log, offset, log.log_end_offset, 1)
    assert piece is not None
    return piece.read()


def read_values(log: Log, offset: int) -> list[bytes | None]:
    values: list[bytes | None] = []
    while piece := find_slice(log, offset, log.log_end_offset, 1 << 20):
        for batch in batches(piece.read()):
            batch.check()
            values += [record.value for record in read_batch(batch)]
            offset = batch.next_offset
    return values


@pytest.mark.slow
def test_what_was_flushed_survives_every_kill(tmp_path: Path) -> None:
    random = Random(os.environ.get("MOLDAU_SEED", "1"))
    directory = tmp_path / "orders-0"
    acked = unflushed_seen = 0
    for number in range(KILLS):
        earlier, acked = acked, write_and_kill(directory, acked, random)
        log = open_log(directory, earlier if number % 2 else acked)
        end = log.log_end_offset
        assert end >= acked, f"{end} after kill {number}, {acked} had been flushed"
        unflushed_seen += end > acked
        known = 0 if number == KILLS - 1 else earlier  # what was there before was looked at before
        first = next(batches(find_bytes(log, known))).base_offset if known < end else end
        assert read_values(log, known) == [value_at(offset) for offset in range(first, end)]
        for segment in log.segments.from_offset(known):
            check_indexes(segment)
        assert log.leader_epochs.entries == ([(0, 0)] if end else [])
        assert {key: entry.last_sequence for key, entry in log.producer_state.producers.items()} == (
            {PRODUCER_ID: end - 1} if end else {}
        )
        acked = end  # all of it is in the page cache, which outlives the process
    assert acked > KILLS
    assert unflushed_seen, "every kill came just after a flush, which is no test"
