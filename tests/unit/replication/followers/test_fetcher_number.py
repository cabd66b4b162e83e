"""Which fetcher a partition belongs to: Kafka's numbers."""

from __future__ import annotations

import pytest

from moldau.replication.followers.replica_fetchers import fetcher_number
from moldau.replication.followers.settings import NEWEST_VERSION, fetch_version_of, release_of


@pytest.mark.parametrize(
    ("topic", "partition", "fetchers", "number"),
    [("t", 0, 4, 0), ("t", 1, 4, 1), ("foo", 1, 3, 1), ("__consumer_offsets", 7, 5, 0), ("a", 0, 1, 0)],
)
def test_a_partition_keeps_its_fetcher(topic: str, partition: int, fetchers: int, number: int) -> None:
    assert fetcher_number((topic, partition), fetchers) == number


@pytest.mark.parametrize(
    ("version", "fetch_version"),
    [
        ("0.10.2-IV0", 11),
        ("0.11.0-IV2", 11),
        ("2.6-IV0", 11),
        ("2.7-IV1", 12),
        ("3.0", 12),
        ("3.9-IV0", NEWEST_VERSION),
    ],
)
def test_fetch_is_as_old_as_the_protocol_between_brokers(version: str, fetch_version: int) -> None:
    assert fetch_version_of(release_of(version)) == fetch_version
