"""The contract suite's fixture: a scenario is run against every implementation of the store."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest

from tests.unit.cluster.store_under_contract import IMPLEMENTATIONS, Scenario, run_contract


@pytest.fixture(params=sorted(IMPLEMENTATIONS))
def contract(request: pytest.FixtureRequest) -> Callable[[Scenario], None]:
    return partial(run_contract, request.param)
