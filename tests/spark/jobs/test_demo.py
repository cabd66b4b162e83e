"""`make demo` with fewer orders: what it prints, with a kill -9 in the middle and the lag as Kafka's tool prints it."""

from __future__ import annotations

import re

import pytest
from examples.demo import RIGHT, WRONG, main

from tests.java_tools import require_java
from tests.spark.jobs.slow_machine import tried_twice

pytestmark = [pytest.mark.slow, pytest.mark.java, pytest.mark.timeout(500)]


def test_the_demo_counts_each_order_once_through_a_kill(capsys: pytest.CaptureFixture[str]) -> None:
    require_java()
    tried_twice(lambda: main(rate=200))
    printed = capsys.readouterr().out
    assert WRONG not in printed
    assert printed.count(RIGHT) == 4
    assert re.search(rf"checked more than once +0  {RIGHT}", printed)
    lags = [line.split()[5] for line in printed.splitlines() if re.match(r"orders-(checked|totals) +orders ", line)]
    assert lags == ["0"] * 8
    assert "the pipeline was asked to stop, and has" in printed
