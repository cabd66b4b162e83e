"""The commit protocol under all interleavings of a few faults, and under many drawn ones."""

from __future__ import annotations

import os
import random
from collections import Counter

import pytest

from tests.unit.pipeline.sink.virtual_run import BATCHES, PARTITIONS, Chooser, Run

EXPECTED = Counter({(batch, partition): 1 for batch in range(BATCHES) for partition in range(PARTITIONS)})
DRAWN = int(os.environ.get("MOLDAU_SINK_RUNS", "600"))


def check(run: Run) -> None:
    shown = "\n".join(run.history)
    assert max(run.kafka.visible.values(), default=0) <= 1, f"a row is there twice\n{shown}"
    assert max(run.kafka.decided_batches.values(), default=0) <= 1, f"a batch was decided twice\n{shown}"
    if not run.lost:
        assert run.kafka.visible == EXPECTED, shown
        assert not run.kafka.opened(None), f"a transaction is left open\n{shown}"


def test_nothing_happens() -> None:
    run = Run(Chooser(), 0)
    run.finish()
    check(run)
    ids = {line for line in run.history if line.startswith("driver 1 task")}
    assert len(ids) == BATCHES * PARTITIONS * 2


def test_every_single_fault() -> None:
    assert _enumerate(1, timeouts=False) > 100


@pytest.mark.slow
@pytest.mark.skipif("MOLDAU_SINK_RUNS" not in os.environ, reason="takes minutes; MOLDAU_SINK_RUNS=20000 to run it")
@pytest.mark.timeout(1800)
def test_every_pair_of_faults() -> None:
    assert _enumerate(2, timeouts=False) > 5_000


@pytest.mark.slow
def test_every_timeout_is_told() -> None:
    assert _enumerate(1, timeouts=True) > 100


def _enumerate(faults: int, *, timeouts: bool) -> int:
    given: list[int] | None = []
    runs = 0
    while given is not None:
        chooser = Chooser(given)
        run = Run(chooser, faults, timeouts=timeouts)
        run.finish()
        check(run)
        assert timeouts or not run.lost, "\n".join(run.history)
        given = chooser.next_given()
        runs += 1
    return runs


@pytest.mark.slow
@pytest.mark.parametrize("timeouts", [False, True])
def test_many_faults(timeouts: bool) -> None:
    for seed in range(DRAWN):
        run = Run(
            Chooser((), random.Random(seed), rate=random.Random(seed).choice((0.02, 0.1, 0.3))), 12, timeouts=timeouts
        )
        run.finish()
        check(run)
        assert timeouts or not run.lost, f"seed {seed}\n" + "\n".join(run.history)
