"""The request log: what each request was, and how long it took, by phase; on with `--log-level moldau.request=DEBUG`.

    Completed request PRODUCE v9 from 127.0.0.1:52344, client 'loader', 61 bytes: handled in 0.041 ms, waited 0.000 ms

Handling is the time in the handler's call; waiting is everything after it until the answer is given: for replicas, for
more to fetch, for a disk. At DEBUG a line per request, at TRACE-like level 5 also the request itself.
"""

from __future__ import annotations

import logging
from time import perf_counter

from moldau.broker.call import Call
from moldau.net.answer import Answer
from moldau.protocol.api import ApiKey
from moldau.protocol.headers import RequestHeader
from moldau.protocol.schema import Message

logger = logging.getLogger("moldau.request")

CONTENT = 5


class LoggedCall(Call):
    """A call that says what became of it."""

    __slots__ = ("handled_at", "request", "size_bytes", "started_at")

    def __init__(self, header: RequestHeader, answer: Answer, size_bytes: int) -> None:
        super().__init__(header, answer)
        self.size_bytes = size_bytes
        self.request: Message | None = None
        self.started_at = perf_counter()
        self.handled_at: float | None = None

    def respond(self, response: Message, version: int | None = None) -> None:
        super().respond(response, version)
        self._log()

    def respond_packed(self, answer: bytes) -> None:
        super().respond_packed(answer)
        self._log()

    def respond_nothing(self) -> None:
        super().respond_nothing()
        self._log()

    def handled(self) -> None:
        """The handler has returned."""
        self.handled_at = perf_counter()

    def _log(self) -> None:
        now = perf_counter()
        handled_at = now if self.handled_at is None else self.handled_at
        header = self.header
        logger.debug(
            "Completed request %s v%d from %s, client %r, %d bytes: handled in %.3f ms, waited %.3f ms",
            ApiKey(header.api_key).name,
            header.api_version,
            self.answer.connection.peer,
            header.client_id,
            self.size_bytes,
            (handled_at - self.started_at) * 1000,
            (now - handled_at) * 1000,
        )
        if self.request is not None and logger.isEnabledFor(CONTENT):
            logger.log(CONTENT, "%r", self.request)
