"""The short way of an append and the general way write the same log, and leave the same behind."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from random import Random

import pytest

import moldau.storage.log
from moldau.base.errors import MoldauError
from moldau.records.batch import Buffer, Producer
from moldau.storage.log import AppendResult, Log
from moldau.storage.plain_append import append_plain
from moldau.storage.producer_append import AppendOrigin
from moldau.storage.segment import NotedBatch
from moldau.testing.disk import SimulatedDisk
from tests.unit.storage.log_workbench import START_MS, Workbench, batch

ORIGINS = AppendOrigin.CLIENT, AppendOrigin.COORDINATOR


def filled(seed: int) -> tuple[SimulatedDisk, Log, list[AppendResult | str]]:
    """Whatever producers send, some of it wrong, with a few small segments."""
    random, disk = Random(seed), SimulatedDisk()
    log = Workbench(Path("/logs"), disk, segment_bytes=3_000, index_interval_bytes=200).open()
    outcomes: list[AppendResult | str] = []
    sequences = {1: 0, 2: 0}
    for _ in range(80):
        values = [b"v" * random.randrange(120) for _ in range(random.randint(1, 3))]
        producer_id = random.choice([-1, -1, 1, 2])
        producer = Producer()
        if producer_id >= 0:
            producer = Producer(producer_id, 0, max(0, sequences[producer_id] + random.choice([0, 0, 0, 0, -1, 2])))
        transactional = producer_id == 2 and random.random() < 0.1
        sent = batch(
            *values, timestamp=START_MS + random.randrange(1000), producer=producer, transactional=transactional
        )
        if random.random() < 0.1:
            sent[random.randrange(16, len(sent))] ^= 1 << random.randrange(8)
        try:
            epoch = random.choice([3, 3, 3, 4]) if log.log_end_offset > 20 else 2
            # What coordinators write outside of transactions has no producer.
            origin = random.choice(ORIGINS) if producer_id < 0 else AppendOrigin.CLIENT
            result = log.append_as_leader(sent, epoch, origin)
            sequences[producer_id] = sequences.get(producer_id, 0) + (0 if result.duplicate else len(values))
            outcomes.append(result)
        except MoldauError as error:
            outcomes.append(str(error))
    return disk, log, outcomes


@pytest.mark.parametrize("seed", range(12))
def test_both_ways_write_the_same_log(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    plainly: list[bool] = []

    def watched(log: Log, run: Sequence[Buffer], leader_epoch: int, length_max: int) -> list[NotedBatch]:
        noted = append_plain(log, run, leader_epoch, length_max)
        plainly.append(bool(noted))
        return noted

    monkeypatch.setattr(moldau.storage.log, "append_plain", watched)
    disk, log, outcomes = filled(seed)
    monkeypatch.setattr(moldau.storage.log, "append_plain", lambda *_: [])
    general_disk, general_log, general_outcomes = filled(seed)
    assert outcomes == general_outcomes
    assert 5 < plainly.count(True) < 80
    assert log.producer_state.producers == general_log.producer_state.producers
    assert log.leader_epochs.entries == general_log.leader_epochs.entries
    log.close()
    general_log.close()
    directory = log.place.directory
    assert sorted(disk.names(directory)) == sorted(general_disk.names(directory))
    for name in disk.names(directory):
        assert disk.read_bytes(directory / name) == general_disk.read_bytes(directory / name), name
