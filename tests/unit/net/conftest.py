"""Every test that takes `run` is run twice: on real sockets, and on the simulated network."""

from __future__ import annotations

import pytest

from tests.unit.net.harness import Run, run_on_uvloop, run_simulated


@pytest.fixture(params=[run_on_uvloop, run_simulated], ids=["uvloop", "simulated"])
def run(request: pytest.FixtureRequest) -> Run:
    chosen: Run = request.param
    return chosen
