"""One cluster for all tools; each runs in this process, as its console script would."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from itertools import count

import pytest

from moldau.testing.local_cluster import LocalCluster

_numbers = count(1)


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a tool ended."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()


Run = Callable[..., Outcome]


@pytest.fixture(scope="session")
def cluster() -> Iterator[LocalCluster]:
    with LocalCluster({"auto.create.topics.enable": "false"}) as running:
        yield running


@pytest.fixture
def address(cluster: LocalCluster) -> str:
    return cluster.bootstrap_servers


@pytest.fixture
def topic() -> str:
    return f"topic-{next(_numbers)}"


@pytest.fixture
def tool(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Any tool with any arguments: `tool("topics", "--list")`; standard input is a text or bytes."""

    def run(module: str, *words: str, stdin: str | bytes = "") -> Outcome:
        data = stdin.encode() if isinstance(stdin, str) else stdin
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        capsys.readouterr()
        code = import_module(f"moldau.cli.kafka.{module}").main(words)
        return Outcome(code, *capsys.readouterr())

    return run


@pytest.fixture
def run(tool: Run, address: str) -> Run:
    """A tool that is told where the broker is: what it prints, if it succeeds."""

    def told(module: str, *words: str, stdin: str | bytes = "") -> Outcome:
        outcome = tool(module, "--bootstrap-server", address, *words, stdin=stdin)
        assert outcome.code == 0, outcome
        return outcome

    return told
