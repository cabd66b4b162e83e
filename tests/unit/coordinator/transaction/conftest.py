"""One broker for all tests of transactional requests; each has topics and transactional ids of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count

import pytest

from moldau.testing.local_cluster import LocalCluster
from tests.unit.coordinator.transaction.transactional_requests import Transactional

SETTINGS = {
    "transaction.state.log.num.partitions": "3",
    "offsets.topic.num.partitions": "3",
    "transaction.max.timeout.ms": "120000",
}


@pytest.fixture(scope="module")
def broker() -> Iterator[LocalCluster]:
    with LocalCluster(SETTINGS) as cluster:
        Transactional(cluster, "first").init()
        yield cluster


_numbers = count()


@pytest.fixture
def topic(broker: LocalCluster) -> str:
    name = f"topic-{next(_numbers)}"
    broker.create_topic(name, 2)
    return name


@pytest.fixture
def transactional(broker: LocalCluster) -> Callable[[], Transactional]:
    """Makes producers of one transactional id, which have theirs already."""
    transactional_id = f"tx-{next(_numbers)}"

    def make() -> Transactional:
        producer = Transactional(broker, transactional_id)
        assert not producer.init().code
        return producer

    return make
