"""The contract suite's fixture: a scenario is run against every implementation of the store."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import pytest

from tests.unit.cluster.store_under_contract import (
    IMPLEMENTATIONS,
    ZOOKEEPER,
    Scenario,
    ZooKeeperUnderContract,
    run_contract,
)
from tests.zookeeper_process import ZooKeeperEnsemble, zookeeper


@pytest.fixture(scope="session")
def one_zookeeper() -> Iterator[ZooKeeperEnsemble]:
    with zookeeper() as ensemble:
        yield ensemble


@pytest.fixture(params=[*sorted(IMPLEMENTATIONS), pytest.param(ZOOKEEPER, marks=(pytest.mark.java, pytest.mark.slow))])
def contract(request: pytest.FixtureRequest) -> Callable[[Scenario], None]:
    if request.param == ZOOKEEPER:
        ensemble = request.getfixturevalue("one_zookeeper")
        return partial(run_contract, lambda _directory: ZooKeeperUnderContract(ensemble))
    return partial(run_contract, IMPLEMENTATIONS[request.param])
