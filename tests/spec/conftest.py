"""Brokers for the statements: the one of the whole run, ones with settings of their own, and Kafka's tools."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from moldau.testing.local_cluster import LocalCluster
from tests.compat.kafka_tools import KafkaTools

StartBroker = Callable[..., LocalCluster]


@pytest.fixture(scope="session")
def address(moldau_bootstrap_servers: str) -> str:
    return moldau_bootstrap_servers


@pytest.fixture
def start_broker() -> Iterator[StartBroker]:
    """Start a broker with these settings by Kafka's names; it ends with the test."""
    with ExitStack() as stack:
        yield lambda **settings: stack.enter_context(LocalCluster(settings))


@pytest.fixture(scope="session")
def kafka_tools() -> Iterator[KafkaTools]:
    with KafkaTools("3.9.1") as tools:
        yield tools
