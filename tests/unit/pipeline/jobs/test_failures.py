"""Failures of Spark without Spark: what is told, and that what follows from a failure is not told in its place."""

from __future__ import annotations

from typing import Any

import pytest
from py4j.protocol import Py4JNetworkError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException

from moldau.pipeline.jobs import running
from moldau.pipeline.jobs.definition import Pipeline, PipelineError, Sink, Source
from moldau.pipeline.jobs.failures import ending_with, told_of
from moldau.pipeline.jobs.running import Run, query_failed


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
    pipeline = Pipeline("p", [Source("rows")], [], [Sink("a", "rows", "noop")])
    screen = Closed()
    spark: Any = None
    with pytest.raises(PipelineError) as raised, told_of():
        Run(pipeline, spark, "checkpoint", screen).go()
    assert str(raised.value).startswith(
        "Spark's Java process does not answer any more (Py4JNetworkError: Answer from Java side is empty)"
    )
    assert "--set spark.driver.memory=" in str(raised.value)
    assert screen.is_closed
