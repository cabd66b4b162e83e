"""One Spark session and one broker for all tests of a process; each test has topics of its own."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from bench.spark_jvm import connector_jars
from moldau.testing.local_cluster import LocalCluster
from tests.java_tools import require_java

_numbers = count(1)
ROOT = Path(__file__).parent.parent.parent
QUICK_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"  # compiling for a long life would take most of a short one


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Spark starts Java and several Pythons, each of which takes its time where a machine is shared."""
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent) and item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(300))


@pytest.fixture(autouse=True)
def _quick_java(monkeypatch: pytest.MonkeyPatch) -> None:
    """For the drivers, clusters and pipelines that are processes of their own."""
    monkeypatch.setenv("JDK_JAVA_OPTIONS", QUICK_JAVA)


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """local[2] with little memory, no web page, and the settings that the documents advise."""
    require_java()
    folder = tmp_path_factory.mktemp("spark")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    # Spark's Python processes find the tests' modules too.
    os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    builder = SparkSession.builder.master("local[2]").appName("moldau-tests")
    settings = {
        "spark.driver.memory": "1g",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "UTC",
        "spark.python.unix.domain.socket.enabled": "true",
        "spark.python.unix.domain.socket.dir": "/tmp",
        "spark.jars": ",".join(map(str, connector_jars())),  # format("kafka"), to be compared with
        "spark.local.dir": str(folder / "local"),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.driver.extraJavaOptions": f"-Dderby.system.home={folder} {QUICK_JAVA}",
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


@pytest.fixture(scope="session")
def cluster() -> Iterator[LocalCluster]:
    with LocalCluster() as running:
        yield running


@pytest.fixture
def topic(request: pytest.FixtureRequest) -> str:
    """A name that no other test uses; the topic is not made."""
    return f"{re.sub('[^a-z0-9]+', '-', request.node.name.lower())[:80]}-{next(_numbers)}"
