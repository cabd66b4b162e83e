"""Statements of the books about tools that no walk-through shows: b1 is the first book, b2 the second."""

from __future__ import annotations

import re

import pytest

from moldau.cli.kafka.scripts import SCRIPTS
from tests.tools.conftest import Run

# They begin their work without any argument, or end servers.
_WITHOUT_ARGUMENTS = {"kafka-server-stop", "zookeeper-server-stop"}
_TOTAL = re.compile(r"records sent, ([\d.]+) records/sec \([\d.]+ MB/sec\), ([\d.]+) ms avg latency")


@pytest.mark.parametrize("name", sorted(set(SCRIPTS) - _WITHOUT_ARGUMENTS))
def test_b1_statement_04_a_tool_without_arguments_prints_its_usage(tool: Run, name: str) -> None:
    told = tool(SCRIPTS[name])
    assert told.code == 1
    assert (told.err or told.out).startswith("usage: ")


@pytest.mark.slow
def test_b2_statement_58_larger_batches_are_faster_and_lingering_takes_longer(
    tool: Run, run: Run, address: str, topic: str
) -> None:
    run("topics", "--create", "--topic", topic)

    def measured(records: int, throughput: int, *settings: str) -> tuple[float, float]:
        size = ("--topic", topic, "--num-records", str(records), "--record-size", "100")
        given = ("--throughput", str(throughput), "--producer-props", f"bootstrap.servers={address}", *settings)
        found = _TOTAL.search(tool("producer_perf_test", *size, *given).out)
        assert found is not None
        return float(found[1]), float(found[2])

    small_rate, _ = measured(5_000, -1, "batch.size=120", "max.in.flight.requests.per.connection=1")
    large_rate, _ = measured(50_000, -1, "batch.size=65536", "max.in.flight.requests.per.connection=1")
    assert large_rate > 2 * small_rate
    _, at_once_ms = measured(40, 200, "linger.ms=0")
    _, lingered_ms = measured(40, 200, "linger.ms=100")
    assert lingered_ms > at_once_ms + 20
