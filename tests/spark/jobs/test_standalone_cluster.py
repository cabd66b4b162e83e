"""The same pipeline on a Spark cluster whose executor and worker are killed in the middle: exactly once at the end."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest
from examples.orders_shop import Generator, PipelineProcess, count_checked, last_totals, make_topics

from moldau.testing.local_cluster import LocalCluster
from tests.java_tools import require_java
from tests.spark.jobs.slow_machine import tried_twice
from tests.spark.jobs.standalone import StandaloneCluster

pytestmark = [pytest.mark.slow, pytest.mark.java, pytest.mark.timeout(600)]

RATE = 400
WAIT_S_MAX = 240.0
SETTINGS = ("spark.driver.host=127.0.0.1", "spark.executor.memory=512m", "spark.executor.cores=1")


def wait_until(holds: Callable[[], bool], pipeline: PipelineProcess, log: Path) -> None:
    ends = time.monotonic() + WAIT_S_MAX
    while not holds():
        assert pipeline.is_running, log.read_text()[-4000:]
        assert time.monotonic() < ends, log.read_text()[-4000:]
        time.sleep(0.2)


def test_an_executor_and_a_worker_are_killed_and_every_order_counts_once(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    require_java()
    tried_twice(lambda: kill_in_the_middle(tmp_path_factory.mktemp("standalone")))


def kill_in_the_middle(folder: Path) -> None:
    log = folder / "pipeline.log"
    with LocalCluster() as cluster, StandaloneCluster(folder) as spark:
        servers = cluster.bootstrap_servers
        make_topics(cluster)
        generator = Generator(servers, RATE)
        generator.start()
        pipeline = PipelineProcess(servers, folder / "checkpoint", log, spark.url, SETTINGS)
        try:
            wait_until(lambda: count_checked(servers).total() > 0, pipeline, log)
            spark.kill_executor(0)
            seen = count_checked(servers).total()
            wait_until(lambda: count_checked(servers).total() > seen, pipeline, log)
            spark.kill_worker(1)
            seen = count_checked(servers).total()
            wait_until(lambda: count_checked(servers).total() > seen, pipeline, log)
            generator.stop()
            wait_until(lambda: _is_counted(servers, generator.sent), pipeline, log)
            assert pipeline.stop() == 0, log.read_text()[-4000:]
        finally:
            generator.stop()
            if pipeline.is_running:
                pipeline.kill()
        checked = count_checked(servers)
        assert (len(checked), checked.total()) == (generator.sent, generator.sent)
        totals = last_totals(servers)
        assert {country: each["orders"] for country, each in totals.items()} == dict(generator.by_country)


def _is_counted(servers: str, count: int) -> bool:
    totals = last_totals(servers).values()
    return sum(int(str(each["orders"])) for each in totals) >= count and count_checked(servers).total() >= count
