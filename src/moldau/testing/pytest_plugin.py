"""Fixtures for tests that need a Kafka: installed with Moldau, so that pytest knows them everywhere.

    def test_orders(moldau_topic, moldau_bootstrap_servers):
        ...

`moldau_cluster` is one broker for the whole run; `moldau_topic` is a new topic for each test, and is deleted after it.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from moldau.testing.local_cluster import LocalCluster

_numbers = count(1)


@pytest.fixture(scope="session")
def moldau_cluster() -> Iterator[LocalCluster]:
    """A running broker; `moldau_cluster.create_topic(…)`, `.restart()`."""
    from moldau.testing.local_cluster import LocalCluster  # only a run that uses it pays for it

    with LocalCluster() as cluster:
        yield cluster


@pytest.fixture(scope="session")
def moldau_bootstrap_servers(moldau_cluster: LocalCluster) -> str:
    """The broker's address, for any client."""
    return moldau_cluster.bootstrap_servers


@pytest.fixture
def moldau_topic(moldau_cluster: LocalCluster, request: pytest.FixtureRequest) -> Iterator[str]:
    """The name of a new topic with one partition."""
    name = f"{request.node.name[:100]}-{next(_numbers)}".replace("[", "-").replace("]", "")
    topic = "".join(character if character.isalnum() or character in "._-" else "-" for character in name)
    moldau_cluster.create_topic(topic)
    yield topic
    moldau_cluster.delete_topic(topic)
