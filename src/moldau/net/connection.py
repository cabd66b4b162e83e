"""One client's socket: bytes in, requests out, answers back in the order of the requests.

Theory of operation. A request is handled by a plain call, without a task: the handler answers at once, or
keeps the `Answer` and answers later (a long poll, acks=all). Later requests may be answered first; their
bytes wait here for their turn. Answers given at once are written together at the end of a read; the ones
that come later are written together at the end of the loop's turn.

The connection stalls (stops reading, keeps what it has read) while its client does not read, while it has
too many requests open, or while the server has. So a slow client costs memory up to a limit, and nobody
else anything. Only requests that outlive their handler's call are ever counted or put in line, which keeps
the way of the others short.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from typing import Protocol, cast

from moldau.base.errors import MalformedMessage
from moldau.net.answer import QUEUED, UNANSWERED, UNCOUNTED, WITH_HANDLER, Answer, Parts
from moldau.net.frames import FramedProtocol, ReceiveBuffers, pack_size, unpack_size
from moldau.net.limits import Limits
from moldau.net.request_queue import RequestQueue
from moldau.net.traffic import CloseReason, Traffic

# Shorter answers are joined: one copy into one piece costs less than many pieces handed to the kernel.
SHORT_BYTES_MAX = 16 * 1024
PIECES_MAX = 128
# A closed connection whose client does not take the last answers is broken off after this.
LINGER_MS = 30_000

# Why no request may be handled; a connection can have several of these reasons at once.
CLIENT_SLOW, NOT_ADMITTED, ENDING = 1, 2, 4

new = object.__new__
logger = logging.getLogger(__name__)

# The frame is valid during the call only: its memory is used again for the next one.
Handler = Callable[[memoryview, Answer], None]

# Data, from where, up to where, and how large a request may be; the answers, how many they are, and how far it came.
Shortcut = Callable[[memoryview, int, int, int], tuple[bytes, int, int]]


class Owner(Protocol):
    """What a connection needs of its server."""

    handle: Handler
    limits: Limits
    buffers: ReceiveBuffers
    queue: RequestQueue
    traffic: Traffic

    def connection_arrived(self, connection: Connection) -> None: ...

    def connection_left(self, connection: Connection) -> None: ...


class Connection(FramedProtocol):
    """The server's end of a connection.

    For handlers: `listener`, `peer_host`, `peer_port`, `local_address`, and `session`, which is whatever
    the upper layers keep of this client (principal, client software, state of authentication). If they know
    what the next requests will look like, `shortcut` takes as many of these at once as have arrived; what it
    does not take comes one by one as ever.
    """

    _transport: asyncio.Transport

    def __init__(self, loop: asyncio.AbstractEventLoop, owner: Owner, listener: str) -> None:
        super().__init__(loop, owner.buffers)
        self._owner = owner
        self._open: deque[Answer] = deque()
        self._output: list[bytes | memoryview] = []
        self._output_long = False
        self._unwritten_bytes = 0
        self._blocks = NOT_ADMITTED
        self._stalled = False
        self._dispatching = False
        self._flush_due = False
        self._finishing = False
        self._close_reason: CloseReason | None = None
        self._close_callbacks: list[Callable[[Connection], None]] = []
        self.listener = listener
        self.peer_host, self.peer_port = "", 0
        self.local_address = ("", 0)
        self.session: object = None
        self.shortcut: Shortcut | None = None

    @property
    def peer(self) -> str:
        return f"{self.peer_host}:{self.peer_port}"

    def extra_info(self, name: str) -> object:
        """What the transport knows, such as the `ssl_object` of a TLS client."""
        return self._transport.get_extra_info(name)

    def on_close(self, callback: Callable[[Connection], None]) -> None:
        self._close_callbacks.append(callback)

    # -- life

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's are not subclasses
        # A peer may be gone before it is looked at; then it has no name.
        self.peer_host, self.peer_port = (transport.get_extra_info("peername") or ("unknown", 0))[:2]
        self.local_address = (transport.get_extra_info("sockname") or ("unknown", 0))[:2]
        limits = self._owner.limits
        self._transport.set_write_buffer_limits(limits.write_buffer_high_bytes, limits.write_buffer_low_bytes)
        self._owner.connection_arrived(self)

    def wait(self) -> None:
        """Stay unread until `admit`."""
        self._stall()

    def admit(self) -> None:
        self._blocks &= ~NOT_ADMITTED
        self.proceed()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._close_reason is None:
            self._close_reason = CloseReason.RESET if exc else CloseReason.CLIENT
        self._blocks |= ENDING
        owner = self._owner
        for answer in self._open:
            if answer.place == QUEUED:
                answer.place = UNCOUNTED
                owner.queue.release()
        self._open.clear()
        self._forget_long()
        self._rest = memoryview(b"")
        owner.queue.leave_line(self)
        owner.traffic.closed[self._close_reason] += 1
        owner.connection_left(self)
        for callback in self._close_callbacks:
            try:
                callback(self)
            except Exception:
                logger.exception("A close callback of the connection from %s failed", self.peer)

    def close(self, reason: CloseReason) -> None:
        """Write the answers whose turn has come, then close; requests still open get none."""
        self._end(reason)
        self._finishing = False
        self._close_if_due()

    def finish(self) -> None:
        """Handle no further request; close when all that are open are answered."""
        self._end(CloseReason.SHUTDOWN)
        self._finishing = True
        self._close_if_due()

    def abort(self, reason: CloseReason) -> None:
        """Close at once; what is not written yet is not written."""
        self._end(reason)
        self._transport.abort()

    def _end(self, reason: CloseReason) -> None:
        self._close_reason = self._close_reason or reason
        self._blocks |= ENDING
        self.active_at = self._loop.time()
        self._transport.pause_reading()

    def _close_if_due(self) -> None:
        if self._dispatching or self._transport.is_closing():
            return
        self._write_ready()
        if not (self._finishing and self._open):
            self._transport.close()

    def expire(self, now: float) -> None:
        """Close if idle for too long: nothing read, nothing open, nothing taken by the client."""
        unwritten_bytes = self._transport.get_write_buffer_size()
        if unwritten_bytes != self._unwritten_bytes:
            self._unwritten_bytes = unwritten_bytes
            self.active_at = now
        idle_ms = (now - self.active_at) * 1000
        if self._transport.is_closing():
            if idle_ms >= LINGER_MS:
                self._transport.abort()
        elif not self._open and 0 <= self._owner.limits.connection_idle_ms_max <= idle_ms:
            self.abort(CloseReason.IDLE)

    # -- requests in

    def _consume(self, data: memoryview, filled: int) -> int:
        if self._blocks:
            self._stall()
        self._dispatching = True
        done = filled
        try:
            done = self._dispatch(data, filled)
        except MalformedMessage as error:
            logger.warning("Closing the connection from %s: malformed request: %s", self.peer, error)
            self._end(CloseReason.MALFORMED)
        except Exception:
            logger.exception("Closing the connection from %s: handling a request failed", self.peer)
            self._end(CloseReason.HANDLER_FAILED)
        finally:
            self._dispatching = False
        if self._blocks & ENDING:
            self._close_if_due()
            return filled  # the rest is not wanted
        if self._open:
            unanswered = len(self._open)
            self._write_ready()
            if self._stalled and len(self._open) < unanswered:
                # A handler of this very read has answered earlier requests, and so made room.
                self._loop.call_soon(self.proceed)
        elif self._output:
            self._write()
        return done

    def _dispatch(self, data: memoryview, filled: int) -> int:
        """Hand over whole requests, as long as nothing speaks against it; how far that went."""
        owner, unanswered, output = self._owner, self._open, self._output
        handle, limits, queue, put = owner.handle, owner.limits, owner.queue, output.append
        size_max, open_max = limits.request_bytes_max, limits.open_requests_per_connection_max
        end = requests = 0
        try:
            while filled - end >= 4:
                (size,) = unpack_size(data, end)
                if not 0 < size <= size_max:
                    self._refuse_size(size)
                    return end
                start = end + 4
                if start + size > filled:
                    return end
                if self._blocks or queue.open >= queue.limit or len(unanswered) >= open_max:
                    self._stall()
                    return end
                if self.shortcut is not None and not unanswered:
                    answers, count, end = self.shortcut(data, end, filled, size_max)
                    if count:
                        requests += count
                        put(answers)
                        continue
                end = start + size
                requests += 1
                answer = new(Answer)  # a call less, for every request, than with an `__init__`
                answer.connection, answer.parts, answer.place = self, UNANSWERED, WITH_HANDLER
                handle(data[start:end], answer)
                parts = answer.parts
                if parts is None or unanswered:
                    self._line_up(answer)
                elif len(parts) == 1 and (size := len(parts[0])) < SHORT_BYTES_MAX:
                    put(pack_size(size))
                    put(parts[0])
                    if len(output) >= PIECES_MAX:
                        self._write()
                else:
                    self._put_out(parts)
            return end
        finally:
            owner.traffic.requests += requests
            owner.traffic.bytes_in += end

    def _refuse_size(self, size: int) -> None:
        logger.warning(
            "Closing the connection from %s: request size %d, allowed are 1 to %d (socket.request.max.bytes)",
            self.peer,
            size,
            self._owner.limits.request_bytes_max,
        )
        self._end(CloseReason.REQUEST_SIZE)

    # -- answers out

    def _line_up(self, answer: Answer) -> None:
        if answer.parts is None and answer.place == WITH_HANDLER:
            answer.place = QUEUED
            self._owner.queue.open += 1
        self._open.append(answer)

    def answered(self, answer: Answer) -> None:
        """An answer that outlived its handler's call has been given."""
        if answer.place != UNCOUNTED:
            answer.place = UNCOUNTED
            self.uncount()
        unanswered = self._open
        if unanswered and unanswered[0].parts is not None and not (self._flush_due or self._dispatching):
            self._flush_due = True
            self._loop.call_soon(self._flush)
            if len(unanswered) == 1 and not self._blocks:
                self._write_ready()  # nothing can join it, and so consumers hear of a record before its producer does

    def uncount(self) -> None:
        self._owner.queue.release()

    def _flush(self) -> None:
        self._flush_due = False
        if self._blocks & ENDING:
            self._close_if_due()
        else:
            self.active_at = self._loop.time()
            self._write_ready()
            if self._stalled and not self._owner.queue.is_in_line(self):  # who stands in line is called in turn
                self.proceed()

    def _write_ready(self) -> None:
        """Write every answer whose turn has come."""
        unanswered = self._open
        while unanswered and (parts := unanswered[0].parts) is not None:
            unanswered.popleft()
            self._put_out(parts)
        if self._output:
            self._write()

    def _put_out(self, parts: Parts) -> None:
        if not parts:
            return
        size = sum(map(len, parts))
        self._output.append(pack_size(size))
        self._output += parts
        if size >= SHORT_BYTES_MAX or len(self._output) >= PIECES_MAX:
            self._output_long = size >= SHORT_BYTES_MAX
            self._write()

    def _write(self) -> None:
        if not self._transport.is_closing():
            if self._output_long:
                self._owner.traffic.bytes_out += sum(map(len, self._output))
                self._transport.writelines(self._output)
            else:
                joined = b"".join(self._output)
                self._owner.traffic.bytes_out += len(joined)
                self._transport.write(joined)
        self._output.clear()
        self._output_long = False

    # -- flow control

    def pause_writing(self) -> None:
        self._blocks |= CLIENT_SLOW
        self._stall()

    def resume_writing(self) -> None:
        self._blocks &= ~CLIENT_SLOW
        self.proceed()

    def _stall(self) -> None:
        self._stalled = True
        self._transport.pause_reading()
        if self._owner.queue.open >= self._owner.queue.limit:
            self._owner.queue.stand_in_line(self)

    def proceed(self) -> None:
        """Take up where it stalled; what still holds stalls it again."""
        if self._stalled and not self._blocks and not self._dispatching:
            self._stalled = False
            self._consume_rest()
            if not self._stalled:
                self._transport.resume_reading()
