"""Whole clusters among faults of every kind: whatever the seed, what must hold holds.

`MOLDAU_SEEDS=10000` runs as many seeds; the name of a failing test is its seed, and the failure says how to repeat it.
"""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.sim.cluster.cluster_run import run_seed

SEEDS = int(os.environ.get("MOLDAU_SEEDS", "100"))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(SEEDS))
def test_a_cluster_loses_nothing_and_heals(seed: int) -> None:
    outcome = run_seed(seed)
    assert outcome.looks > 0
    assert outcome.faults


@pytest.mark.slow
def test_a_seed_is_the_same_run_in_another_process() -> None:
    """Sets of strings are in another order there."""
    digests = set()
    for hash_seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
        command = [sys.executable, "-m", "tests.sim.cluster.run", "3"]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=True)
        digests.add(done.stdout.partition("digest=")[2].partition(",")[0])
    assert len(digests) == 1
