"""The two performance tools: what they print, as in the book, and what they send."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from moldau.cli.kafka.consumer_progress import formatted
from moldau.cli.kafka.java_random import capitals
from tests.tools.conftest import Run

TOTAL = (
    r"(\d+) records sent, \d+\.\d{6} records/sec \(\d+\.\d\d MB/sec\), \d+\.\d\d ms avg latency, "
    r"\d+\.\d\d ms max latency, \d+ ms 50th, \d+ ms 95th, \d+ ms 99th, \d+ ms 99\.9th\.\n"
)


@pytest.fixture
def created(run: Run, topic: str) -> str:
    run("topics", "--create", "--topic", topic)
    return topic


def test_payloads_are_those_of_kafkas_tool() -> None:
    assert capitals(10) == b"SSXVNJHPDQ"
    assert capitals(20) == b"SSXVNJHPDQDXVCRASTVY"


def test_times_have_javas_letters() -> None:
    assert re.fullmatch(r"1970-01-0[12] \d\d:\d\d:00:007", formatted(7, "yyyy-MM-dd HH:mm:ss:SSS"))


def test_records_are_written_and_read_and_counted(tool: Run, run: Run, address: str, created: str) -> None:
    words = ("--topic", created, "--num-records", "2000", "--record-size", "10", "--throughput", "-1")
    written = tool("producer_perf_test", *words, "--producer-props", f"bootstrap.servers={address}", "acks=1")
    assert written.code == 0
    total = re.fullmatch(TOTAL, written.out)
    assert total is not None, written
    assert total[1] == "2000"
    assert run("get_offsets", "--topic", created).out == f"{created}:0:2000\n"
    header, row = run("consumer_perf_test", "--topic", created, "--messages", "2000").lines
    assert header == (
        "start.time, end.time, data.consumed.in.MB, MB.sec, data.consumed.in.nMsg, nMsg.sec, rebalance.time.ms, "
        "fetch.time.ms, fetch.MB.sec, fetch.nMsg.sec"
    )
    time = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d:\d{3}"
    assert re.fullmatch(rf"{time}, {time}, 0\.0191, \d+\.\d{{4}}, 2000, [\d.]+, \d+, \d+, [\d.]+, [\d.]+", row)


def test_too_few_records_are_told(run: Run, created: str) -> None:
    printed = run("consumer_perf_test", "--topic", created, "--messages", "1", "--timeout", "200", "--hide-header")
    assert printed.lines[0].startswith(
        "WARNING: Exiting before consuming the expected number of messages: timeout (200 "
    )


def test_values_come_from_a_file_or_are_numbers_and_the_rate_is_kept(
    tool: Run, run: Run, address: str, created: str, tmp_path: Path
) -> None:
    values = tmp_path / "values.txt"
    values.write_text("alone\n")
    at = ("--topic", created, "--throughput", "1000", "--bootstrap-server", address)
    assert tool("producer_perf_test", *at, "--num-records", "2", "--payload-file", str(values)).code == 0
    assert tool("producer_perf_test", *at, "--num-records", "3", "--payload-monotonic").code == 0
    printed = run("console_consumer", "--topic", created, "--from-beginning", "--max-messages", "5")
    assert printed.out == "alone\nalone\n0\n1\n2\n"


def test_wrong_command_lines_are_refused(tool: Run, address: str) -> None:
    at = ("--topic", "t", "--num-records", "1", "--throughput", "-1")
    for words, text in (
        (at[:4], 'Missing required argument "[throughput]"'),
        (at, "You must provide exactly one of --record-size or --payload-file or --payload-monotonic."),
        ((*at, "--record-size", "1"), "must name bootstrap.servers"),
        ((*at, "--record-size", "0", "--bootstrap-server", address), "--record-size should be greater than zero."),
    ):
        failed = tool("producer_perf_test", *words)
        assert failed.code == 1
        assert text in failed.err
