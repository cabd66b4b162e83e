"""Failures of Spark without Spark: what is told, and that what follows from a failure is not told in its place."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest
from py4j.protocol import Py4JNetworkError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException

from moldau.cli import main
from moldau.pipeline.jobs import launch, running
from moldau.pipeline.jobs.definition import Pipeline, PipelineError, Sink, Source
from moldau.pipeline.jobs.failures import ending_with, told_of
from moldau.pipeline.jobs.running import Run, query_failed
from moldau.pipeline.jobs.screen import Terminal

PIPELINE = Pipeline("p", [Source("rows")], [], [Sink("a", "rows", "noop")])


def raiser(error: Exception, log: list[str]) -> Any:
    def step() -> None:
        log.append(str(error))
        raise error

    return step


def test_a_failure_names_its_place_and_keeps_its_cause() -> None:
    failure = PySparkException("no luck")
    with pytest.raises(PipelineError, match=r"^sink a: no luck$") as raised, told_of("sink a"):
        raise failure
    assert raised.value.__cause__ is failure


def test_what_is_told_already_is_not_told_again() -> None:
    assert str(query_failed("sink a", PySparkException("no luck"))) == "sink a: no luck"
    assert str(query_failed("sink a", PySparkException("sink a: no luck"))) == "sink a: no luck"


def test_a_pipe_that_nobody_reads_is_no_failure_of_spark() -> None:
    with pytest.raises(BrokenPipeError), told_of():
        raise BrokenPipeError


def test_all_is_ended_and_what_failed_first_is_raised() -> None:
    log: list[str] = []
    first, second = ValueError("first"), ValueError("second")
    with pytest.raises(KeyError), ending_with(raiser(first, log), raiser(second, log)):
        raise KeyError
    assert log == ["first", "second"]
    with pytest.raises(ValueError, match="first"), ending_with(raiser(first, log), raiser(second, log)):
        pass


class DeadQuery:
    """A query whose Java process is gone."""

    id = "query"

    def __getattr__(self, name: str) -> Any:
        if name in ("lastProgress", "stop"):
            raise ConnectionRefusedError(111, "Connection refused")
        raise Py4JNetworkError("Answer from Java side is empty")


class StreamingTable:
    isStreaming = True  # noqa: N815 - Spark's name


class Closed:
    """A screen that says whether it was closed."""

    def __init__(self) -> None:
        self.is_closed = False

    def show(self, _reports: Any) -> None: ...

    def say(self, _text: str) -> None: ...

    def close(self) -> None:
        self.is_closed = True


def test_java_that_has_died_is_told_though_nothing_can_be_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "check_all", lambda *_: {"a": StreamingTable()})
    monkeypatch.setattr(running, "start_query", lambda *_, **__: DeadQuery())
    screen = Closed()
    spark: Any = None
    with pytest.raises(PipelineError) as raised, told_of():
        Run(PIPELINE, spark, "checkpoint", screen).go()
    assert str(raised.value).startswith(
        "Spark's Java process does not answer any more (Py4JNetworkError: Answer from Java side is empty)"
    )
    assert "--set spark.driver.memory=" in str(raised.value)
    assert screen.is_closed


class FailedQuery:
    """It has done a batch, and failed; its Java process is gone meanwhile."""

    id = "query"
    isActive = False  # noqa: N815 - Spark's name
    recentProgress = (SimpleNamespace(json='{"batchId": 0, "durationMs": {"addBatch": 1}}'),)  # noqa: N815

    def exception(self) -> Exception:
        return PySparkException("no luck")

    def stop(self) -> None:
        raise ConnectionRefusedError(111, "Connection refused")


def test_a_failure_reaches_stderr_whatever_the_screen_shows_and_however_the_rest_ends(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """On a terminal the table takes stderr over while it is there."""
    monkeypatch.setenv("FORCE_COLOR", "1")  # which makes Rich believe that it is on one
    monkeypatch.setattr(launch, "load_pipeline", lambda *_: PIPELINE)
    monkeypatch.setattr(launch, "check_topics", lambda _: None)
    monkeypatch.setattr(launch, "screen_for", lambda **_: Terminal())
    monkeypatch.setattr(launch, "start_session", lambda *_, **__: FailedQuery())  # what cannot be stopped either
    monkeypatch.setattr(running, "check_all", lambda *_: {"a": StreamingTable()})
    monkeypatch.setattr(running, "start_query", lambda *_, **__: FailedQuery())
    before = sys.stderr
    assert main.run(["pipeline", "run", "orders.toml"]) == 1
    assert sys.stderr is before
    printed = capsys.readouterr()
    assert "batch time" in printed.out  # the table
    assert printed.err == "moldau: sink a: no luck\n"
