"""The place of one request in the line of its connection's answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from moldau.net.connection import Connection

Parts = Sequence[bytes | memoryview]

# Where a request stands: with its handler, counted in the server's queue, or no longer counted there.
# Plain numbers: they are touched for every request.
WITH_HANDLER, QUEUED, UNCOUNTED = range(3)
UNANSWERED: Parts | None = None


class Answer:
    """Owed to a client: `send` or `skip` is called exactly once, in the handler's call or later.

    Answering when the connection is gone is allowed and does nothing. Made by the connection alone.
    """

    __slots__ = ("connection", "parts", "place")

    connection: Connection
    parts: Parts | None
    place: int

    def send(self, parts: Parts) -> None:
        """Answer with these bytes; their size is put in front.

        They may be written later, so nobody changes them any more, and no view of the request is among them.
        """
        assert self.parts is None, "a request is answered exactly once"
        self.parts = parts
        if self.place:
            self.connection.answered(self)

    def skip(self) -> None:
        """The request has no answer (Produce with acks=0); answers to later ones may go."""
        self.send(())

    def park(self) -> None:
        """The request waits on purpose: it no longer counts against `queued.max.requests`."""
        if self.place == QUEUED:
            self.connection.uncount()
        self.place = UNCOUNTED
