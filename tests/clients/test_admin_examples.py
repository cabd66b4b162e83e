"""The examples in the documentation of the admin client's methods, run as written."""

from __future__ import annotations

import doctest
from collections.abc import Iterator

import pytest

from moldau import Admin, TopicPartition
from moldau.base.errors import ApiError
from moldau.clients import admin as names
from moldau.testing.local_cluster import LocalCluster
from tests.clients.records_to_consume import produce

FINDER = doctest.DocTestFinder(recurse=False)
METHODS = [name for name, method in vars(Admin).items() if ">>>" in (getattr(method, "__doc__", None) or "")]


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    with LocalCluster() as cluster:
        yield cluster


@pytest.fixture
def admin(cluster: LocalCluster) -> Iterator[Admin]:
    """A cluster as the examples expect it: topic orders with ten records, and group billing that has read seven."""
    with Admin(bootstrap_servers=cluster.bootstrap_servers) as admin:
        for topic in admin.list_topics():
            cluster.delete_topic(topic)
        cluster.create_topic("orders", 2)
        produce(cluster, "orders", [b"order"] * 10)
        admin.alter_consumer_group_offsets("billing", {TopicPartition("orders", 0): 7})
        yield admin


@pytest.mark.parametrize("method", METHODS)
def test_the_example_works(method: str, admin: Admin) -> None:
    known = {name: getattr(names, name) for name in names.__all__}
    globs = {**known, "admin": admin, "TopicPartition": TopicPartition}
    (example,) = FINDER.find(getattr(Admin, method), method, globs=globs)
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    output: list[str] = []
    runner.run(example, out=output.append)
    assert runner.failures == 0, "".join(output)


def test_every_public_method_is_documented() -> None:
    silent = [name for name, method in vars(Admin).items() if not name.startswith("_") and not method.__doc__]
    assert silent == []
    assert len(METHODS) > 15


def test_every_name_of_the_package_can_be_imported() -> None:
    assert sorted(names._MODULES) == sorted(names.__all__)
    with pytest.raises(AttributeError, match="has no attribute NoSuchName"):
        names.NoSuchName  # noqa: B018


def test_the_example_of_partial_results_works(admin: Admin) -> None:
    results = admin.create_topics([names.NewTopic("orders"), names.NewTopic("b")], raise_errors=False)
    assert set(results.succeeded) == {"b"}
    assert isinstance(results.errors["orders"], ApiError)
