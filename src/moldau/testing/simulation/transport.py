"""One end of a connection in memory, with what makes real ones hard.

Theory of operation. What is written waits at the sender (`pause_writing` above the high mark) and leaves
in segments of random length, as far as the receiver's window has room. A segment arrives after a random
latency, in order, in the receiver's kernel, and is read in pieces of random length when the receiver's
host runs and its protocol reads; only then the window opens again, half of it at a time. A close travels
behind the data; a close with unread data, or an abort, is a reset, which may destroy what has arrived, is
lost in a partition, and is noticed only by who reads or writes. Bytes handed to `write` are copied when
they leave, not before: a sender that changes them meanwhile sends the wrong bytes, as on a real socket.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections import deque
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from moldau.testing.simulation.host import Host
    from moldau.testing.simulation.network import SimulatedNetwork

WRITE_BUFFER_HIGH_BYTES = 64 * 1024

Bytes = bytes | bytearray | memoryview


class SimulatedTransport(asyncio.Transport):
    """Made in pairs by the network; `peer` is the other end."""

    peer: SimulatedTransport

    def __init__(
        self,
        network: SimulatedNetwork,
        host: Host,
        addresses: tuple[tuple[str, int], tuple[str, int]],
        context: contextvars.Context,
    ) -> None:
        local, remote = addresses
        super().__init__({"sockname": local, "peername": remote})
        self.host = host
        self.name = f"{local[0]}:{local[1]}>{remote[0]}:{remote[1]}"
        self.arrives_at = 0.0  # when the last segment from here arrives: later ones come later
        self._network = network
        self._loop = network.loop
        self.context = context
        self._protocol: asyncio.BaseProtocol
        self._connected = False
        self._closing = False
        self._lost = False
        # towards the peer
        self._unsent: deque[memoryview] = deque()
        self._unsent_bytes = 0
        self._window_bytes = self._room_bytes = network.draw_window()
        self._high, self._low = WRITE_BUFFER_HIGH_BYTES, WRITE_BUFFER_HIGH_BYTES // 4
        self._protocol_paused = False
        self._send_due = False
        self._eof_wanted = self._eof_sent = False
        # from the peer
        self._arrived = bytearray()
        self._unacknowledged_bytes = 0
        self._eof_arrived = False
        self._reset_arrived = False
        self._reading = True
        self._read_due = False
        host.transports[self] = None

    def connect_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        """The host takes up the connection that its kernel made."""
        if self._lost:
            return
        self._protocol = protocol
        self._connected = True
        protocol.connection_made(self)
        self._read_soon()

    # -- what protocols call

    def get_protocol(self) -> asyncio.BaseProtocol:
        return self._protocol

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self._protocol = protocol

    def is_closing(self) -> bool:
        return self._closing

    def is_reading(self) -> bool:
        return self._reading and not self._closing

    def pause_reading(self) -> None:
        self._reading = False

    def resume_reading(self) -> None:
        self._reading = True
        self._read_soon()

    def get_write_buffer_size(self) -> int:
        return self._unsent_bytes

    def get_write_buffer_limits(self) -> tuple[int, int]:
        return self._low, self._high

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        self._high = WRITE_BUFFER_HIGH_BYTES if high is None else high
        self._low = self._high // 4 if low is None else low
        self._pause_if_high()

    def write(self, data: Bytes) -> None:
        assert not self._eof_wanted, "write after write_eof"
        if not data or self._lost:
            return
        self._unsent.append(memoryview(data).cast("B"))
        self._unsent_bytes += len(data)
        self._pause_if_high()
        self._send_soon()

    def writelines(self, list_of_data: Iterable[Any]) -> None:
        for data in list_of_data:
            self.write(data)

    def can_write_eof(self) -> bool:
        return True

    def write_eof(self) -> None:
        self._eof_wanted = True
        self._send_soon()

    def close(self) -> None:
        if not self._closing:
            self._closing = True
            self._send_soon()

    def abort(self) -> None:
        if not self._lost:
            self._send_reset()
            self._lose(None)

    def abandon(self) -> None:
        """Nobody takes up the connection that the kernel made; the other side may have broken it off already."""
        if not self._lost:
            self._send_reset()
            self.vanish()

    def vanish(self) -> None:
        """The host died: nobody is told."""
        self._closing = self._lost = True
        del self.host.transports[self]

    def break_off(self) -> None:
        """The connection is found to be broken by this side."""
        if not self._lost:
            self._reset_comes()

    # -- sending

    def _pause_if_high(self) -> None:
        if self._unsent_bytes > self._high and not self._protocol_paused:
            self._protocol_paused = True
            self._protocol.pause_writing()

    def _send_soon(self) -> None:
        if not self._send_due and not self._lost:
            self._send_due = True
            self._loop.call_soon(self._send, context=self.context)

    def _send(self) -> None:
        self._send_due = False
        if self._lost:
            return
        if self._reset_arrived and self._unsent:
            self._lose(BrokenPipeError("the peer is gone"))
            return
        # Like TCP, wait for a good part of the window rather than fill every byte that gets free.
        while self._unsent and self._room_bytes >= min(self._window_bytes // 4, self._unsent_bytes):
            self._send_segment()
        if self._protocol_paused and self._unsent_bytes <= self._low:
            self._protocol_paused = False
            self._protocol.resume_writing()
        if self._unsent:
            return
        if self._closing and (self._arrived or self._reset_arrived):
            self._send_reset()
            self._lose(None)
            return
        if (self._closing or self._eof_wanted) and not self._eof_sent:
            self._eof_sent = True
            self._carry(self.peer._eof_comes, "eof")
        if self._closing:
            self._lose(None)

    def _send_segment(self) -> None:
        first = self._unsent.popleft()
        length = min(len(first), self._room_bytes, self._network.draw_segment())
        segment = bytes(first[:length])
        if length < len(first):
            self._unsent.appendleft(first[length:])
        self._unsent_bytes -= length
        self._room_bytes -= length
        self._carry(lambda: self.peer._segment_comes(segment), f"{length} bytes")

    def _send_reset(self) -> None:
        self._carry(self.peer._reset_comes, "reset", lossy=True)

    def _carry(self, deliver: Callable[[], None], what: str, *, lossy: bool = False) -> None:
        self._network.carry(self.host, self.peer.host, deliver, f"{self.name} {what}", lane=self, lossy=lossy)

    # -- what comes, in the kernel

    def _segment_comes(self, segment: bytes) -> None:
        if self._lost:
            if self._network.is_up(self.host.name):
                self._send_reset()
        else:
            self._arrived += segment
            self._read_soon()

    def _acknowledgement_comes(self, length: int) -> None:
        self._room_bytes += length
        self._send_soon()

    def _eof_comes(self) -> None:
        self._eof_arrived = True
        self._read_soon()

    def _reset_comes(self) -> None:
        self._reset_arrived = True
        if self._network.random.random() < 0.5:
            self._arrived.clear()
        self._read_soon()
        self._send_soon()

    # -- reading

    def _read_soon(self) -> None:
        if self._connected and self._reading and not (self._read_due or self._closing):
            self._read_due = True
            self._loop.call_soon(self._read, context=self.context)

    def _read(self) -> None:
        self._read_due = False
        if not self._reading or self._closing:
            return
        if self._arrived:
            length = min(len(self._arrived), self._network.draw_segment())
            self._deliver(length)
            self._read_soon()
        elif self._reset_arrived:
            self._lose(ConnectionResetError("the peer broke the connection off"))
        elif self._eof_arrived:
            self._eof_arrived = False
            assert isinstance(self._protocol, asyncio.Protocol | asyncio.BufferedProtocol)
            if not self._protocol.eof_received():
                self.close()

    def _deliver(self, length: int) -> None:
        protocol = self._protocol
        try:
            if isinstance(protocol, asyncio.BufferedProtocol):
                buffer = memoryview(protocol.get_buffer(length))
                length = min(length, len(buffer))
                buffer[:length] = self._take(length)
                protocol.buffer_updated(length)
            else:
                assert isinstance(protocol, asyncio.Protocol)
                protocol.data_received(self._take(length))
        except Exception as error:
            self._loop.call_exception_handler(
                {"message": "a protocol failed to take bytes", "exception": error, "protocol": protocol}
            )
            self.abort()
        self._unacknowledged_bytes += length
        if self._unacknowledged_bytes >= self.peer._window_bytes // 2:
            taken, self._unacknowledged_bytes = self._unacknowledged_bytes, 0
            self._carry(lambda: self.peer._acknowledgement_comes(taken), f"took {taken}")

    def _take(self, length: int) -> bytes:
        taken = bytes(self._arrived[:length])
        del self._arrived[:length]
        return taken

    # -- the end

    def _lose(self, error: Exception | None) -> None:
        self._closing = self._lost = True
        self._unsent.clear()
        self._unsent_bytes = 0
        del self.host.transports[self]
        self._loop.call_soon(self._protocol.connection_lost, error, context=self.context)
