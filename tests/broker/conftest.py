"""One broker for all tests here; each makes the topics that it needs."""

from __future__ import annotations

import pytest

from moldau.testing.local_cluster import LocalCluster
from tests.broker.requests_to_broker import Broker


@pytest.fixture(scope="session")
def broker(moldau_cluster: LocalCluster) -> Broker:
    return Broker(moldau_cluster)
