"""Frames out of a byte stream: an int32 size, then that many bytes, however the network cut them.

Theory of operation. Handling a frame is a plain call, so between two reads nobody looks at the receive
buffer, and all connections of a loop read into the same one, the scratch. What is left when the whole
frames are handled waits with its connection: a short rest as exactly its bytes, put in front of the next
read; the beginning of a long frame in a buffer of its own, which grows with what ARRIVES (a peer that
announces 100 MB has cost nothing yet) and into which the rest of the frame is read without a copy. An
idle connection therefore holds no buffer at all.

Buffers of long frames are used again, up to a bound: fresh memory costs several times as much as reading
into memory that is there. A server's handler has no view left when its call ends. A client's message has,
of its records; its buffer is used again once those views are gone.
"""

from __future__ import annotations

import asyncio
import struct
from collections import deque

SIZE = struct.Struct(">i")
pack_size = SIZE.pack
unpack_size = SIZE.unpack_from

SCRATCH_BYTES = 64 * 1024
SHORT_BYTES_MAX = SCRATCH_BYTES // 2
SPARE_BYTES_MAX = 32 * 1024 * 1024
LENT_BYTES_MAX = 32 * 1024 * 1024


class ReceiveBuffers:
    """The scratch and the long buffers to use again that the connections of ONE event loop share."""

    __slots__ = ("_eager_bytes", "_lent", "_lent_bytes", "_spares", "_wanted", "scratch", "spare_bytes")

    def __init__(self, *, eager_bytes: int = 0) -> None:
        """`eager_bytes`: up to this, a peer's announcement of a frame is memory at once."""
        self.scratch = memoryview(bytearray(SCRATCH_BYTES))
        self.spare_bytes = 0
        self._eager_bytes = eager_bytes
        self._spares: list[bytearray] = []
        self._lent: deque[bytearray] = deque()
        self._lent_bytes = 0
        self._wanted = False

    def take(self, arrived: int, needed: int) -> bytearray:
        """A buffer with room beyond the `arrived` bytes of a frame that is `needed` bytes long."""
        self._wanted = True
        for index in reversed(range(len(self._spares))):
            if len(self._spares[index]) >= needed:
                spare = self._spares.pop(index)
                self.spare_bytes -= len(spare)
                return spare
        for index, lent in enumerate(self._lent):
            if len(lent) >= needed and _is_free(lent):
                del self._lent[index]  # not `remove`, which takes the first that is equal
                self._lent_bytes -= len(lent)
                return lent
        likely = needed if needed <= self._eager_bytes else min(needed, 2 * arrived)
        return bytearray(1 << (likely - 1).bit_length())

    def give_back(self, buffer: bytearray) -> None:
        if self.spare_bytes + len(buffer) <= SPARE_BYTES_MAX:
            self._spares.append(buffer)
            self.spare_bytes += len(buffer)

    def lend(self, buffer: bytearray) -> None:
        """Somebody keeps views of this buffer; it is used again if they are gone when one is needed."""
        self._lent.append(buffer)
        self._lent_bytes += len(buffer)
        while self._lent_bytes > LENT_BYTES_MAX:
            self._lent_bytes -= len(self._lent.popleft())

    def trim(self) -> None:
        """Let go of what is kept for later if no buffer was wanted since the last call."""
        if not self._wanted:
            self._spares.clear()
            self._lent.clear()
            self.spare_bytes = self._lent_bytes = 0
        self._wanted = False


def _is_free(buffer: bytearray) -> bool:
    """Whether no view of a buffer is left: while there is one, a bytearray refuses to change its length."""
    try:
        buffer.append(buffer.pop())
    except BufferError:
        return False
    return True


class FramedProtocol(asyncio.BufferedProtocol):
    """One socket's incoming half; a subclass says in `_consume` what becomes of whole frames.

    `_consume(data, filled)` handles whole frames from the start of `data` and returns how far it came.
    It may stop early, with a whole frame ahead, if it also stops the transport from reading; later
    `_consume_rest` takes up from there. The bytes of `data` are its own only during the call.
    """

    __slots__ = ("_buffers", "_filled", "_long", "_loop", "_needed", "_rest", "_scratch", "active_at")

    def __init__(self, loop: asyncio.AbstractEventLoop, buffers: ReceiveBuffers) -> None:
        self._loop = loop
        self._buffers = buffers
        self._scratch = buffers.scratch
        self._rest = memoryview(b"")
        self._long: bytearray | None = None
        self._filled = 0  # of _long
        self._needed = 0  # length with its size field of the frame in _long
        self.active_at = loop.time()

    def _consume(self, data: memoryview, filled: int) -> int:
        raise NotImplementedError

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002 -- our own sizes serve better
        long = self._long
        if long is None:
            rest = len(self._rest)
            if not rest:
                return self._scratch
            assert rest < SCRATCH_BYTES, "a transport delivers nothing while reading is paused"
            self._scratch[:rest] = self._rest
            return self._scratch[rest:]
        if self._filled == len(long):
            self._long = self._buffers.take(self._filled, self._needed)
            self._long[: self._filled] = long
            long = self._long
        # Not past the end of the frame: what would come after it had to be moved.
        return memoryview(long)[self._filled : self._needed]

    def buffer_updated(self, nbytes: int) -> None:
        self.active_at = self._loop.time()
        if self._long is None:
            filled = len(self._rest) + nbytes
            done = self._consume(self._scratch, filled)
            if done != filled or filled != nbytes:
                self._keep(self._scratch, done, filled)
        else:
            self._filled += nbytes
            if self._filled == self._needed:
                self._consume_rest()

    def _consume_rest(self) -> None:
        """Handle what has arrived and was not handled yet."""
        if self._long is None:
            self._keep(self._rest, self._consume(self._rest, len(self._rest)), len(self._rest))
        elif self._filled == self._needed and self._consume(memoryview(self._long), self._filled):
            self._forget_long()

    def _forget_long(self) -> None:
        if self._long is not None:
            self._buffers.give_back(self._long)
            self._long = None

    def _keep(self, data: memoryview, done: int, filled: int) -> None:
        rest = data[done:filled]
        if len(rest) >= SHORT_BYTES_MAX and self._take_long(rest):
            self._rest = memoryview(b"")
        elif data is self._rest:
            self._rest = rest
        else:
            self._rest = memoryview(bytes(rest))

    def _take_long(self, rest: memoryview) -> bool:
        """Move the beginning of a long frame to a buffer of its own; False if the frame is whole."""
        (size,) = unpack_size(rest)
        self._needed = SIZE.size + size
        if self._needed <= len(rest):
            return False
        self._filled = len(rest)
        self._long = self._buffers.take(self._filled, self._needed)
        self._long[: self._filled] = rest
        return True
