"""Spark's daemon of Python workers, but quiet when a worker is not wanted any more.

When a task has failed, Spark closes the socket of its worker. A worker that comes to write to it only then would print
the traceback of a broken pipe, in front of what really was wrong. Spark starts this by `spark.python.daemon.module`.
"""

from __future__ import annotations

from collections.abc import Callable
from socket import socket
from typing import Final

from pyspark import daemon

Worker = Callable[[socket, bool], int]

ENDED: Final = 1  # anything but 0 ends a worker


def quiet(worker: Worker) -> Worker:
    def run(connection: socket, authenticated: bool) -> int:
        try:
            return worker(connection, authenticated)
        except BrokenPipeError:
            return ENDED

    return run


if __name__ == "__main__":
    daemon.worker = quiet(daemon.worker)  # type: ignore[assignment]  # it calls it by position, as here
    daemon.manager()
