"""Spark with a sink that dies at each step of its protocol, and drivers that are killed: every row exactly once.

`MOLDAU_SINK_KILLS=30` kills a driver that often, and at each step, and does it all against Apache Kafka as well.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

from bench.kafka_server import KafkaServer
from moldau import Admin, Producer
from moldau.clients.admin import NewTopic
from moldau.pipeline import register
from moldau.testing.local_cluster import LocalCluster
from tests.java_tools import require_java
from tests.spark.sink.copying import Copy, CopyProcess
from tests.spark.sink.stopping import STEPS, StoppingDataSource
from tests.spark.sink.writing import values_of

KILLS = int(os.environ.get("MOLDAU_SINK_KILLS", "0"))
LONG = "MOLDAU_SINK_KILLS" in os.environ
ROWS_PER_BATCH = 20

pytestmark = [pytest.mark.slow, pytest.mark.java, pytest.mark.timeout(14_400 if LONG else 900)]


class Feed:
    """The topic that is copied: what was written to it, and so what has to be in the other."""

    def __init__(self, servers: str, topic: str, folder: Path) -> None:
        self.copy = Copy(servers, f"{topic}-from", f"{topic}-to", str(folder), ROWS_PER_BATCH)
        self._expected: list[str] = []
        with Admin(bootstrap_servers=servers) as admin:
            admin.create_topics([NewTopic(name, 2, 1) for name in (self.copy.source, self.copy.target)])

    def add(self, rows: int) -> None:
        with Producer(bootstrap_servers=self.copy.servers) as producer:
            for number in range(len(self._expected), len(self._expected) + rows):
                producer.send(self.copy.source, b"%d" % number, partition=number % 2)
                self._expected.append(str(number))

    def check(self, note: str) -> None:
        assert values_of(self.copy.servers, self.copy.target) == sorted(self._expected), note


@pytest.fixture(params=["moldau", "kafka"] if LONG else ["moldau"])
def servers(request: pytest.FixtureRequest) -> Iterator[str]:
    require_java()
    if request.param == "moldau":
        with LocalCluster() as cluster:
            yield cluster.bootstrap_servers
    else:
        with KafkaServer() as kafka:
            yield kafka.bootstrap


def test_each_step_of_the_protocol(spark: SparkSession, servers: str, topic: str, tmp_path: Path) -> None:
    """Only the Python process at work dies, and the query is started again in the same application."""
    register(spark)
    spark.dataSource.register(StoppingDataSource)
    feed = Feed(servers, topic, tmp_path)
    for step in STEPS:
        feed.add(2 * ROWS_PER_BATCH)
        with pytest.raises(StreamingQueryException):
            feed.copy.run(spark, step)
        assert Path(tmp_path, f"stopped {step}").exists()
    feed.copy.run(spark)
    feed.check("after all steps")


@pytest.mark.skipif(not LONG, reason="takes minutes: MOLDAU_SINK_KILLS=30 to run it")
@pytest.mark.parametrize("step", STEPS)
def test_a_driver_is_killed_at_each_step(servers: str, topic: str, tmp_path: Path, step: str) -> None:
    feed = Feed(servers, topic, tmp_path)
    feed.add(3 * ROWS_PER_BATCH)
    killed = CopyProcess(feed.copy, step)
    assert killed.wait() != 0
    assert Path(tmp_path, f"stopped {step}").exists()
    assert CopyProcess(feed.copy).wait() == 0
    feed.check(step)


@pytest.mark.skipif(not LONG, reason="takes minutes: MOLDAU_SINK_KILLS=30 to run it; the demo's test kills one driver")
def test_a_driver_is_killed_at_random(servers: str, topic: str, tmp_path: Path) -> None:
    seed = random.randrange(1 << 32)
    drawn = random.Random(seed)
    feed = Feed(servers, topic, tmp_path)
    for kill in range(KILLS):
        feed.add(4 * ROWS_PER_BATCH)
        driver = CopyProcess(feed.copy)
        try:
            driver.wait_for_batches(feed.copy.batches + drawn.randint(1, 3))
            time.sleep(drawn.random() * 0.5)
        finally:
            driver.kill()
        print(f"kill {kill + 1} of {KILLS} after {feed.copy.batches} batches, seed {seed}")
    feed.add(ROWS_PER_BATCH)
    assert CopyProcess(feed.copy).wait() == 0
    feed.check(f"seed {seed}")
