"""One request being answered: who sent it, in which version, and the way back."""

from __future__ import annotations

from moldau.broker.session import Session
from moldau.net.answer import Answer
from moldau.protocol.codec import encode_parts
from moldau.protocol.headers import RequestHeader, encode_response_header
from moldau.protocol.schema import Message


class Call:
    """A handler answers by returning a response, or keeps the call and answers later, exactly once."""

    __slots__ = ("answer", "header")

    def __init__(self, header: RequestHeader, answer: Answer) -> None:
        self.header = header
        self.answer = answer

    @property
    def version(self) -> int:
        return self.header.api_version

    @property
    def client_id(self) -> str | None:
        return self.header.client_id

    @property
    def session(self) -> Session:
        """What is known of the client, made when first asked for."""
        session = self.answer.connection.session
        if session is None:
            session = self.answer.connection.session = Session()
        assert isinstance(session, Session)
        return session

    def respond(self, response: Message, version: int | None = None) -> None:
        """Send the response, in the request's own version unless another is given."""
        header = self.header
        answered_in = header.api_version if version is None else version
        parts = encode_parts(response, answered_in)
        parts[0] = encode_response_header(header.api_key, answered_in, header.correlation_id) + parts[0]
        self.answer.send(parts)

    def respond_packed(self, answer: bytes) -> None:
        """Send an answer that is encoded already, with its header."""
        self.answer.send((answer,))

    def respond_nothing(self) -> None:
        """The client expects no answer: a produce with acks=0."""
        self.answer.skip()

    def park(self) -> None:
        """The answer comes later on purpose: a long poll, acks=all, a join."""
        self.answer.park()
