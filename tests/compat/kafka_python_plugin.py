"""kafka-python's own integration tests against a broker that runs already: a pytest plugin for the process they run in.

The suite has a mode for a broker of somebody else's (KAFKA_URI), so that its fixtures stay as they are. Two things are
missing in its source distribution and are put in place here: the package `test`, whose name is also one of Python's
own, and the module that starts brokers. What cannot pass is skipped with the reason that `left_out` gives.

KAFKA_VERSION says as which version of Kafka the clients take the broker, and so which versions of requests they send.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

NEWEST = "4.3.0"

ACLS = "needs an authorizer"
TLS = "starts brokers of its own with TLS"
NO_QUORUM = "asks for a KRaft quorum, which this cluster does not have"
AS_KRAFT = "expects advertised.listeners to be read-only as in KRaft; in 3.9 they are dynamic"
IS_NEWEST = f"expects the broker to look like the version under test; it looks like {NEWEST}"

_ADMIN, _CONSUMER, _PRODUCER = (f"test_{name}_integration.py::" for name in ("admin", "consumer", "producer"))
_ALWAYS = {
    _ADMIN + "test_create_describe_delete_acls": ACLS,
    _ADMIN + "test_describe_metadata_quorum": NO_QUORUM,
    "test_ssl_integration.py::TestSSLConnection::test_ssl_handshake": TLS,
    "test_ssl_integration.py::TestSSLConnection::test_legacy_kafka_client_ssl": TLS,
}


def left_out(kafka_version: str) -> dict[str, str]:
    """The tests that do not run, each with its reason."""
    if kafka_version == NEWEST:
        return {**_ALWAYS, _ADMIN + "test_describe_configs_broker_resource_returns_configs": AS_KRAFT}
    return {**_ALWAYS, _CONSUMER + "test_kafka_version_infer": IS_NEWEST}


class ExternalService:
    """A broker that somebody else starts and stops."""

    def __init__(self, host: str, port: int) -> None:
        """There is nothing to do."""


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    package = ModuleType("test")
    package.__path__ = [str(early_config.rootpath / "test")]
    service = ModuleType("test.service")
    service.__dict__.update(ExternalService=ExternalService, SpawnedService=None)
    sys.modules.update({"test": package, "test.service": service})


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    reasons = left_out(os.environ["KAFKA_VERSION"])
    for item, name in _named(items):
        if name in reasons:
            # Instead of the suite's own conditions, so that it is the same reason for every version.
            item.own_markers = [pytest.mark.skip(reason=reasons.pop(name)).mark]
    assert not reasons, f"not found in the suite: {sorted(reasons)}"


def _named(items: list[pytest.Item]) -> Iterator[tuple[pytest.Item, str]]:
    for item in items:
        file, _, test = item.nodeid.partition("::")
        yield item, f"{Path(file).name}::{test}"
