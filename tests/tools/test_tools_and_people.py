"""What all tools have in common: help, errors in one or two lines, exit codes, Ctrl-C, and a quick start."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from moldau.cli.kafka.scripts import SCRIPTS
from tests.broker_process import free_port
from tests.tools.conftest import Run

HEAVY = ("asyncio", "uvloop", "moldau.clients", "moldau.broker", "kazoo", "rich", "ssl", "logging", "json")


@pytest.mark.parametrize("module", sorted(set(SCRIPTS.values())))
def test_help_ends_in_examples(tool: Run, module: str) -> None:
    helped = tool(module, "--help")
    assert helped.code == 0
    assert helped.out.startswith("usage: ")
    assert "\nexamples:\n  " in helped.out
    assert "--debug" in helped.out


def test_no_arguments_print_the_usage(tool: Run) -> None:
    failed = tool("topics")
    assert (failed.code, failed.out) == (1, "")
    assert failed.err.startswith("usage: kafka-topics")


def test_nobody_there_is_told_at_once(tool: Run) -> None:
    for where in (f"127.0.0.1:{free_port()}", "no-such-host.invalid:9092"):
        failed = tool("topics", "--bootstrap-server", where, "--list")
        assert failed.code == 1
        assert f"No broker can be reached at {where}" in failed.err
        assert "Is it running" in failed.err
        assert "Traceback" not in failed.err


def test_an_address_that_is_none_is_told(tool: Run) -> None:
    failed = tool("topics", "--bootstrap-server", "localhost:port", "--list")
    assert (failed.code, failed.err.count("\n")) == (1, 1)
    assert "Invalid url in bootstrap.servers: localhost:port" in failed.err


def test_a_file_that_cannot_be_read_is_told(tool: Run, address: str, tmp_path: Path) -> None:
    path = tmp_path / "no.properties"
    failed = tool("topics", "--bootstrap-server", address, "--list", "--command-config", str(path))
    assert failed.code == 1
    assert str(path) in failed.err


def test_debug_shows_where_it_went_wrong(tool: Run, topic: str) -> None:
    where = f"127.0.0.1:{free_port()}"
    assert "Traceback" in tool("topics", "--bootstrap-server", where, "--list", "--debug").err


def test_an_interrupt_ends_a_tool_quietly(tool: Run, address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_options: object) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr("moldau.cli.kafka.topics.check", interrupted)
    ended = tool("topics", "--bootstrap-server", address, "--list")
    assert (ended.code, ended.out, ended.err) == (130, "", "")


def test_what_nobody_foresaw_is_told_in_one_line(tool: Run, tmp_path: Path) -> None:
    path = tmp_path / "not-a-number.log"
    path.touch()
    failed = tool("dump_log", "--files", str(path))
    assert (failed.code, failed.err.count("\n")) == (1, 1)
    assert failed.err.endswith("(--debug shows where)\n")


def test_help_loads_nothing_heavy() -> None:
    program = (
        "import sys; from moldau.cli.kafka.topics import main; main(['--help']);"
        f"print([each for each in {HEAVY} if each in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert done.stderr == "[]\n"
