"""Answers that a coordinator gives: at once, or when what it decided is replicated, or when everybody has joined."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError
from moldau.broker.call import Call
from moldau.broker.handlers import OnError

logger = logging.getLogger(__name__)

Done = Callable[[Any], None]


def answering(call: Call, request: Any, on_error: OnError) -> Done:
    """Answers a call with the response that it is given, or with the API's own form of an `ApiError`."""

    def done(outcome: Any) -> None:
        if isinstance(outcome, ApiError):
            outcome = on_error(request, outcome.code, outcome.message)
        try:
            call.respond(outcome)
        except Exception:
            # A defect, and of this answer alone: those of others come from the same turn of the coordinator.
            logger.exception("an answer could not be given: %r", outcome)
            call.respond(on_error(request, ErrorCode.UNKNOWN_SERVER_ERROR, "the broker failed; its log says why"))

    return done


class Gathered:
    """The outcomes of several operations, in their order; `finish` gets them when the last is there."""

    def __init__(self, count: int, finish: Callable[[list[Any]], None]) -> None:
        self._outcomes: list[Any] = [None] * count
        self._missing = count
        self._finish = finish
        if not count:
            finish([])

    def place(self, index: int) -> Done:
        """Where the outcome of one operation goes."""

        def done(outcome: Any) -> None:
            self._outcomes[index] = outcome
            self._missing -= 1
            if not self._missing:
                self._finish(self._outcomes)

        return done
