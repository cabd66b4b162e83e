"""One broker, as its own process, for all clients here; each test has topics of its own."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from itertools import count

import pytest

from tests.broker_process import BrokerProcess
from tests.compat.kafka_tools import KafkaTools

_numbers = count(1)


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    """`moldau serve` with two log directories; whatever clients did to it, it never failed, and stops cleanly."""
    folder = tmp_path_factory.mktemp("broker")
    process = BrokerProcess(
        folder / "data", f"log.dirs={folder / 'data'},{folder / 'more-data'}", "log.retention.ms=-1"
    )
    process.start()
    try:
        yield process
        assert process.stop() == 0
    finally:
        process.kill()
    failures = re.findall(r"^\[.*\] ERROR .*|^Traceback .*", process.log.read_text(), re.MULTILINE)
    assert failures == []


@pytest.fixture(scope="session")
def address(broker: BrokerProcess) -> str:
    return broker.bootstrap_servers


@pytest.fixture
def topic(request: pytest.FixtureRequest) -> str:
    """A name that no other test uses."""
    return f"{re.sub('[^a-z0-9]+', '-', request.node.name.lower())[:80]}-{next(_numbers)}"


@pytest.fixture(scope="session")
def tools_of() -> Iterator[Callable[[str], KafkaTools]]:
    """Kafka's tools by version, a JVM for each that is asked for."""
    with ExitStack() as stack:
        yield cache(lambda version: stack.enter_context(KafkaTools(version)))


@pytest.fixture(params=["3.9.1", "4.3.0"])
def tools(request: pytest.FixtureRequest, tools_of: Callable[[str], KafkaTools]) -> KafkaTools:
    return tools_of(str(request.param))
