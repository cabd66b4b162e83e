"""Failures of Spark, as a person is told of them: a line for what is wrong; the failure itself is the cause."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from py4j.protocol import Py4JError, Py4JNetworkError  # type: ignore[import-untyped]  # what Spark is called through
from pyspark.errors import PySparkException

from moldau.pipeline.jobs.definition import PipelineError
from moldau.pipeline.jobs.spark_messages import message_in

_GONE: Final = (Py4JNetworkError, ConnectionRefusedError, ConnectionResetError)
# Errors of Java that Spark has no class in Python for come as they are, and others when there is no Java any more.
FAILURES: Final = (PySparkException, Py4JError, *_GONE)


def said(error: BaseException) -> str:
    """What is wrong, in a line."""
    if isinstance(error, _GONE):
        return (
            f"Spark's Java process does not answer any more ({type(error).__name__}: {error}). If it has run out of "
            "memory, give it more: --set spark.driver.memory=4g; --debug shows what it says"
        )
    return message_in(str(error)) or type(error).__name__


@contextmanager
def told_of(place: str = "") -> Iterator[None]:
    """Raise a failure in here as a `PipelineError` that names the place where it was."""
    try:
        yield
    except FAILURES as error:
        raise PipelineError(f"{place}: {said(error)}" if place else said(error)) from error


@contextmanager
def ending_with(*steps: Callable[[], None]) -> Iterator[None]:
    """Do all of these at the end, whatever happens.

    What failed first is raised. Where Java has died, for instance, nothing can be stopped any more, and that must not
    be told in the place of why it died.
    """
    failure: BaseException | None = None
    try:
        yield
    except BaseException as error:
        failure = error
    for step in steps:
        try:
            step()
        except Exception as error:
            failure = failure or error
    if failure is not None:
        raise failure
