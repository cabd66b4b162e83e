"""One connection to a broker, as brokers, clients and tools use it: requests out, their answers as futures.

Theory of operation. `send` encodes and writes at once and gives a future; there is no task per request.
A broker answers in order, so the requests in flight are a queue, and an answer whose correlation id is not
that of the oldest one means that the two sides no longer agree: the connection is closed. One timer waits
for the earliest deadline of all requests in flight. An answer that is late closes the connection too, since
those behind it are late as well: the late request fails with RequestTimedOut, the others with Disconnected,
and whether the broker carried them out is not known.

`send` never waits: ask `can_send` before, or `await request(...)`, which waits for its turn.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, cast

from moldau.base.errors import Disconnected, MalformedMessage, RequestTimedOut
from moldau.net.client_options import ClientOptions
from moldau.net.frames import FramedProtocol, ReceiveBuffers, pack_size, unpack_size
from moldau.net.versions import BrokerVersions, decode_versions
from moldau.protocol.api import ApiKey, response_class
from moldau.protocol.codec import decode, encode_parts
from moldau.protocol.headers import decode_response_header, encode_request_header
from moldau.protocol.schema import Message
from moldau.protocol.varint import Buffer

# Shorter requests are joined: one copy into one piece costs less than many pieces handed to the kernel.
SHORT_BYTES_MAX = 16 * 1024
CORRELATION_ID_MAX = 2**31 - 1
# A broker that does not take the last requests of a closed connection within this gets no more of them.
LINGER_MS = 5_000

logger = logging.getLogger(__name__)


Told = Callable[[Any, Exception | None], None]


class DirectAnswer:
    """In place of a future: who waits is called when the answer is read, without another turn of the loop."""

    __slots__ = ("_done", "_loop", "_then")

    def __init__(self, loop: asyncio.AbstractEventLoop, then: Told) -> None:
        self._loop = loop
        self._then = then
        self._done = False

    def done(self) -> bool:
        return self._done

    def set_result(self, response: Message) -> None:
        self._done = True
        self._then(response, None)

    def set_exception(self, error: Exception) -> None:
        """Later: a connection that ends has more to do before anybody may use it."""
        self._done = True
        self._loop.call_soon(self._then, None, error)


# Reads an answer by itself, without the codec; False leaves it to the codec.
Reader = Callable[[memoryview, int], bool]


class InFlight(NamedTuple):
    """A request that waits for its answer."""

    correlation_id: int
    response: type[Message]
    version: int
    answer: asyncio.Future[Any] | DirectAnswer
    deadline: float
    reader: Reader | None = None


class ClientConnection(FramedProtocol):
    """The client's end of a connection; made by `connect`.

    `closed` is None while it lives, and then the error that ended it.
    """

    _transport: asyncio.Transport

    def __init__(
        self, loop: asyncio.AbstractEventLoop, buffers: ReceiveBuffers, address: str, options: ClientOptions
    ) -> None:
        super().__init__(loop, buffers)
        self._options = options
        self._in_flight: deque[InFlight] = deque()
        self._correlation_id = 0
        self._timer: asyncio.TimerHandle | None = None
        self._written_out = True
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._close_callbacks: list[Callable[[ClientConnection], None]] = []
        self.address = address
        self.versions: BrokerVersions | None = None
        self.closed: Disconnected | None = None

    # -- asking

    @property
    def client_id(self) -> str | None:
        return self._options.client_id

    @property
    def in_flight(self) -> int:
        return len(self._in_flight)

    @property
    def can_send(self) -> bool:
        """Whether there is room in flight, and the broker takes what was written before."""
        return self._written_out and len(self._in_flight) < self._options.in_flight_max and self.closed is None

    def version_of(self, request: type[Message]) -> int:
        """The version in which a request is sent if nothing else is asked for."""
        return request.VERSIONS.high if self.versions is None else self.versions.newest(request)

    def send(
        self, request: Message, version: int | None = None, *, timeout_ms: float | None = None
    ) -> asyncio.Future[Any]:
        """Write a request now; the future becomes its response message.

        Raises Disconnected if the connection is gone, UnsupportedVersion if the broker does not know the
        request. To be called only if `can_send`.
        """
        if version is None:
            version = self.version_of(type(request))
        answer: asyncio.Future[Any] = self._loop.create_future()
        self._send(request, version, answer, timeout_ms)
        return answer

    def send_then(self, request: Message, version: int, then: Told) -> None:
        """The same, but `then(response, None)` is called as soon as the answer is read, or `then(None, error)`."""
        self._send(request, version, DirectAnswer(self._loop, then), None)

    def send_known(
        self,
        parts: Sequence[Buffer],
        response: type[Message],
        version: int,
        reader: Reader,
        then: Told,
    ) -> None:
        """Write a request whose bytes are known, with `next_correlation_id` in them, to be called only if `can_send`.

        `reader(frame, correlation_id)` may read the answer; if it returns False, `then` is told as by `send_then`.
        """
        if self.closed is not None:
            raise Disconnected(str(self.closed))
        self._correlation_id = correlation_id = self.next_correlation_id
        self.active_at = now = self._loop.time()
        self._write_parts(parts)
        deadline = now + self._options.request_timeout_ms / 1000
        self._in_flight.append(
            InFlight(correlation_id, response, version, DirectAnswer(self._loop, then), deadline, reader)
        )
        if self._timer is None or deadline < self._timer.when():
            self._wait_until(deadline)

    @property
    def next_correlation_id(self) -> int:
        return self._correlation_id % CORRELATION_ID_MAX + 1

    def _send(
        self, request: Message, version: int, answer: asyncio.Future[Any] | DirectAnswer, timeout_ms: float | None
    ) -> None:
        self._write(request, version)
        deadline = self.active_at + (timeout_ms or self._options.request_timeout_ms) / 1000
        self._in_flight.append(
            InFlight(self._correlation_id, response_class(ApiKey(request.KEY)), version, answer, deadline)
        )
        if self._timer is None or deadline < self._timer.when():
            self._wait_until(deadline)

    def tell(self, request: Message, version: int | None = None) -> None:
        """Write a request that has no answer (Produce with acks=0). To be called only if `can_send`."""
        self._write(request, self.version_of(type(request)) if version is None else version)

    async def request(self, request: Message, version: int | None = None, *, timeout_ms: float | None = None) -> Any:
        """Wait for room, send, wait for the answer."""
        if not self.can_send:
            await self._room(timeout_ms or self._options.request_timeout_ms)
        try:
            answer = self.send(request, version, timeout_ms=timeout_ms)
        finally:
            self._let_next_in()
        return await answer

    def _write(self, request: Message, version: int) -> None:
        if self.closed is not None:
            raise Disconnected(str(self.closed))
        assert self.can_send, "who does not look at can_send awaits request()"
        parts = encode_parts(request, version)
        correlation_id = self.next_correlation_id
        header = encode_request_header(request.KEY, version, correlation_id, self._options.client_id)
        self._correlation_id = correlation_id
        self.active_at = self._loop.time()
        self._write_parts([pack_size(len(header) + sum(map(len, parts))), header, *parts])

    def _write_parts(self, parts: Sequence[Buffer]) -> None:
        if sum(map(len, parts)) < SHORT_BYTES_MAX:
            self._transport.write(b"".join(parts))
        else:
            self._transport.writelines(parts)

    async def _room(self, timeout_ms: float) -> None:
        """Wait until there is room; the first to come is the first to go on."""
        try:
            async with asyncio.timeout(timeout_ms / 1000):
                while self.closed is None and not self.can_send:
                    turn: asyncio.Future[None] = self._loop.create_future()
                    self._waiting.append(turn)
                    await turn
        except TimeoutError:
            self._break_off(f"{self.address} took no more requests for {timeout_ms:g} ms")
            raise RequestTimedOut(str(self.closed)) from None
        except asyncio.CancelledError:
            self._let_next_in()
            raise

    def _let_next_in(self) -> None:
        """Called whenever there may be room: one goes on, and passes the word when it has sent."""
        while self._waiting and (self.can_send or self.closed):
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                if self.closed is None:
                    return

    # -- answers

    def _consume(self, data: memoryview, filled: int) -> int:
        position = 0
        while filled - position >= 4 and self.closed is None:
            (size,) = unpack_size(data, position)
            if not 4 <= size <= self._options.response_bytes_max:
                self._break_off(f"{self.address} announced an answer of {size} bytes")
                break
            start, position_after = position + 4, position + 4 + size
            if position_after > filled:
                return position
            position = position_after
            # Messages keep views of their records, so the bytes are theirs: a long frame's buffer is lent to
            # them, a short frame is copied out of the scratch.
            if self._long is None:
                self._answer_came(memoryview(data[start:position].tobytes()))
            else:
                self._buffers.lend(self._long)
                self._long = None
                self._answer_came(data[start:position])
        return filled if self.closed else position

    def _answer_came(self, frame: memoryview) -> None:
        if not self._in_flight:
            self._break_off(f"{self.address} sent an answer that nobody waits for")
            return
        oldest = self._in_flight[0]
        if oldest.reader is not None and oldest.reader(frame, oldest.correlation_id):
            self._in_flight.popleft()
            if self._waiting:
                self._let_next_in()
            return
        try:
            correlation_id, position = decode_response_header(frame, oldest.response, oldest.version)
            if correlation_id != oldest.correlation_id:
                self._break_off(f"{self.address} answered request {correlation_id} instead of {oldest.correlation_id}")
                return
            if oldest.response.KEY == ApiKey.API_VERSIONS:
                response: Message = decode_versions(frame, position, oldest.version)
            else:
                response = decode(oldest.response, oldest.version, frame, position)
        except MalformedMessage as error:
            logger.warning("Closing the connection to %s: malformed answer: %s", self.address, error)
            self._break_off(f"{self.address} sent a malformed answer: {error}")
            return
        self._in_flight.popleft()
        if not oldest.answer.done():  # its caller may have given up
            oldest.answer.set_result(response)
        if self._waiting:
            self._let_next_in()

    # -- deadlines

    def _wait_until(self, deadline: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_at(deadline, self._deadline_passed)

    def _deadline_passed(self) -> None:
        self._timer = None
        if not self._in_flight:
            return
        now = self._loop.time()
        earliest = min(each.deadline for each in self._in_flight)
        if earliest > now:
            self._wait_until(earliest)
            return
        late = next(each for each in self._in_flight if each.deadline <= now)
        title = ApiKey(late.response.KEY).title
        for each in self._in_flight:
            if each.deadline <= now and not each.answer.done():
                each.answer.set_exception(RequestTimedOut(f"{self.address} did not answer {title} in time"))
        self._break_off(f"{self.address} did not answer {title} in time")

    # -- life

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's are not subclasses

    def pause_writing(self) -> None:
        self._written_out = False

    def resume_writing(self) -> None:
        self._written_out = True
        self._let_next_in()

    def on_close(self, callback: Callable[[ClientConnection], None]) -> None:
        """Called once, whoever ends the connection; at once if it has ended."""
        if self.closed is None:
            self._close_callbacks.append(callback)
        else:
            callback(self)

    def close(self, reason: str = "closed by this side") -> None:
        """End the connection; what is written still goes out, what is in flight fails with Disconnected."""
        if self.closed is None:
            self._transport.close()
            if self._transport.get_write_buffer_size():
                self._loop.call_later(LINGER_MS / 1000, self._transport.abort)
            self._ended(reason)

    def _break_off(self, reason: str) -> None:
        """The other side did not keep to the protocol."""
        self._transport.abort()
        self._ended(reason)

    def connection_lost(self, exc: Exception | None) -> None:
        if self.closed is None:
            self._ended(f"{self.address} broke the connection off: {exc}" if exc else f"{self.address} disconnected")

    def _ended(self, reason: str) -> None:
        self.closed = Disconnected(reason)
        if self._timer is not None:
            self._timer.cancel()
        for each in self._in_flight:
            if not each.answer.done():
                each.answer.set_exception(Disconnected(reason))
        self._in_flight.clear()
        self._let_next_in()
        self._forget_long()
        for callback in self._close_callbacks:
            callback(self)
