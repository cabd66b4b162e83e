"""What a session is quiet about, and that what is wrong is not among it."""

from __future__ import annotations

import logging
import socket

import pytest
from pyspark.errors import PySparkException
from pyspark.logger import PySparkLogger

from moldau.pipeline.jobs.session import log_stacks
from moldau.pipeline.jobs.worker_daemon import ENDED, quiet


@pytest.mark.parametrize("wanted", [True, False])
def test_errors_are_written_with_their_stacks_if_that_is_wanted(
    wanted: bool, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "SQLQueryContextLogger"
    monkeypatch.delitem(logging.Logger.manager.loggerDict, name, raising=False)
    log_stacks(wanted)
    PySparkLogger.getLogger(name).exception("no luck", errorClass="SOME_CLASS")  # as Spark calls it
    assert ("SOME_CLASS" in capsys.readouterr().err) is wanted


def test_a_worker_that_nobody_waits_for_ends_quietly_and_others_fail_as_they_do() -> None:
    def left(_connection: socket.socket, _authenticated: bool) -> int:
        raise BrokenPipeError

    def broken(_connection: socket.socket, _authenticated: bool) -> int:
        raise PySparkException("no luck")

    with socket.socket() as connection:
        assert quiet(lambda _connection, _authenticated: 0)(connection, True) == 0
        assert quiet(left)(connection, True) == ENDED
        with pytest.raises(PySparkException):
            quiet(broken)(connection, True)
