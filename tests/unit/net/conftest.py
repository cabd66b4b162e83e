"""Every test that takes `run` is run on real sockets and on the simulated network."""

from __future__ import annotations

import pytest

from tests.unit.net.harness import Run, run_on_asyncio, run_on_uvloop, run_simulated

LOOPS = [
    pytest.param(run_on_uvloop, id="uvloop"),
    pytest.param(run_simulated, id="simulated"),
    pytest.param(run_on_asyncio, id="asyncio", marks=pytest.mark.slow),
]


@pytest.fixture(params=LOOPS)
def run(request: pytest.FixtureRequest) -> Run:
    chosen: Run = request.param
    return chosen
