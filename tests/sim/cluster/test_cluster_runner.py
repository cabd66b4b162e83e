"""The runner of seeds: what a broker logs as an error fails a run, whether logs are shown or not."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import logging, sys
from types import SimpleNamespace
from moldau.testing.simulation.host import current_host
from tests.sim.cluster import run
from tests.sim.cluster.simulated_cluster import Defects

def run_seed(seed):
    failures = []
    with Defects(failures):
        current_host.set(SimpleNamespace(alive=True))
        logging.getLogger("moldau.base.supervision").error("a task failed")
    assert not failures, "it was heard"

run.run_seed = run_seed
sys.exit(run.main())
"""


@pytest.mark.parametrize("options", [[], ["--log"]])
def test_an_error_of_a_broker_fails_the_run(options: list[str]) -> None:
    command = [sys.executable, "-c", PROGRAM, "7", *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1, done.stderr
    assert "failed: [7]" in done.stdout
    assert "it was heard" in done.stdout
