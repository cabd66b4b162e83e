"""The network layer beside a bare uvloop protocol that moves the same bytes.

Server and load generator are processes of their own. The generator is blocking sockets and as few system
calls as possible (one send, one receive per connection and round), so that it is the server that is
measured. Ours and theirs alternate, a short run each; the median of the ratios of neighbouring runs counts,
since what else the machine does changes more slowly than that. Ratio: ours / theirs in requests per second.

The bare echo copies what one read brought, whatever it is; ours finds the requests in it, calls a handler for
each and puts the answers in order. With five requests in a read that is five times the work.
"""

from __future__ import annotations

import asyncio
import socket
import statistics
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple, cast

SIZE = struct.Struct(">i")
ACKNOWLEDGEMENT = b"\0\0\0\1"
LARGE_BYTES = 1024 * 1024
PIPELINE = 5
RUNS = 15
RUN_S = 0.3


class Row(NamedTuple):
    """One comparison; the bar is the ratio that must be reached, None if it is only a figure."""

    name: str
    ours: float
    theirs: float
    ratio: float
    bar: float | None


def frame(payload_bytes: int) -> bytes:
    return SIZE.pack(payload_bytes) + bytes(payload_bytes)


# -- the servers


class BareEcho(asyncio.BufferedProtocol):
    """The least a protocol can do: what arrives is written back."""

    def __init__(self) -> None:
        self._buffer = bytearray(64 * 1024)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def get_buffer(self, sizehint: int) -> bytearray:  # noqa: ARG002 -- given by asyncio
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        self._transport.write(self._buffer[:nbytes])


class BareSink(BareEcho):
    """Reads into one buffer that it never looks at; acknowledges every large frame's worth of bytes."""

    def __init__(self) -> None:
        self._buffer = bytearray(256 * 1024)
        self._owed = 0

    def buffer_updated(self, nbytes: int) -> None:
        self._owed += nbytes
        while self._owed >= SIZE.size + LARGE_BYTES:
            self._owed -= SIZE.size + LARGE_BYTES
            self._transport.write(SIZE.pack(len(ACKNOWLEDGEMENT)) + ACKNOWLEDGEMENT)


class BareSource(BareEcho):
    """Writes the same large frame for every request of one byte."""

    def __init__(self) -> None:
        super().__init__()
        self._answer = frame(LARGE_BYTES)

    def buffer_updated(self, nbytes: int) -> None:
        for _ in range(nbytes // (SIZE.size + 1)):
            self._transport.write(self._answer)


BARE: dict[str, Callable[[], BareEcho]] = {"echo": BareEcho, "sink": BareSink, "source": BareSource}


async def serve_bare(kind: str) -> int:
    acceptor = await asyncio.get_running_loop().create_server(BARE[kind], "127.0.0.1", 0)
    return int(acceptor.sockets[0].getsockname()[1])


async def serve_ours(kind: str) -> int:
    from moldau.net.answer import Answer
    from moldau.net.limits import Limits
    from moldau.net.server import Listener, Server

    large = [bytes(LARGE_BYTES)]

    def echo(request: memoryview, answer: Answer) -> None:
        answer.send((request.tobytes(),))

    def sink(request: memoryview, answer: Answer) -> None:
        assert len(request) == LARGE_BYTES
        answer.send((ACKNOWLEDGEMENT,))

    def source(_request: memoryview, answer: Answer) -> None:
        answer.send(large)

    # The system's socket buffers, as the bare server has them.
    limits = Limits(send_buffer_bytes=-1, receive_buffer_bytes=-1)
    handlers = {"echo": echo, "sink": sink, "source": source}
    server = Server([Listener("PLAINTEXT", "127.0.0.1", 0)], handlers[kind], limits)
    await server.start()
    return server.addresses["PLAINTEXT"][1]


def serve(side: str, kind: str) -> None:
    import uvloop

    async def main() -> None:
        port = await (serve_ours if side == "ours" else serve_bare)(kind)
        print(port, flush=True)
        await asyncio.get_running_loop().create_future()

    uvloop.run(main())


@contextmanager
def server_process(side: str, kind: str) -> Iterator[int]:
    process = subprocess.Popen([sys.executable, __file__, "serve", side, kind], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield int(process.stdout.readline())
    finally:
        process.kill()
        process.communicate()


# -- the load


def rounds_per_second(port: int, connections: int, request: bytes, answer_bytes: int) -> float:
    """Rounds: on every connection one send of `request`, then a receive of `answer_bytes`."""
    sockets = [socket.create_connection(("127.0.0.1", port)) for _ in range(connections)]
    buffer = bytearray(answer_bytes)
    for each in sockets:
        each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    rounds, started, elapsed = 0, time.perf_counter(), 0.0
    while elapsed < RUN_S:
        for each in sockets:
            each.sendall(request)
        for each in sockets:
            received = each.recv_into(buffer, answer_bytes, socket.MSG_WAITALL)
            assert received == answer_bytes
        rounds += 1
        elapsed = time.perf_counter() - started
    for each in sockets:
        each.close()
    return rounds / elapsed


def compare(
    name: str, kind: str, *, connections: int, requests: int, payload_bytes: int, answer_bytes: int, bar: float | None
) -> Row:
    request = frame(payload_bytes) * requests
    answers_bytes = (SIZE.size + answer_bytes) * requests
    ours, theirs = [], []
    with server_process("ours", kind) as our_port, server_process("theirs", kind) as their_port:
        for _ in range(RUNS):
            for port, rates in ((our_port, ours), (their_port, theirs)):
                rate = rounds_per_second(port, connections, request, answers_bytes)
                rates.append(rate * connections * requests)
    ratio = statistics.median(mine / other for mine, other in zip(ours, theirs, strict=True))
    return Row(name, statistics.median(ours), statistics.median(theirs), ratio, bar)


def echo_rows() -> list[Row]:
    return [
        compare(
            f"echo 100 B, {connections} connection(s), pipeline {PIPELINE}: requests/s",
            "echo",
            connections=connections,
            requests=PIPELINE,
            payload_bytes=100,
            answer_bytes=100,
            bar=0.6,
        )
        for connections in (1, 50)
    ]


def large_rows() -> list[Row]:
    incoming = compare(
        "requests of 1 MB in, 1 connection: requests/s (about MB/s)",
        "sink",
        connections=1,
        requests=2,
        payload_bytes=LARGE_BYTES,
        answer_bytes=len(ACKNOWLEDGEMENT),
        bar=None,
    )
    outgoing = compare(
        "answers of 1 MB out, 1 connection: answers/s (about MB/s)",
        "source",
        connections=1,
        requests=2,
        payload_bytes=1,
        answer_bytes=LARGE_BYTES,
        bar=None,
    )
    return [incoming, outgoing]


def rows() -> list[Row]:
    return echo_rows() + large_rows()


if __name__ == "__main__":
    if sys.argv[1:2] == ["serve"]:
        serve(sys.argv[2], sys.argv[3])
    else:
        for row in rows():
            bar = "" if row.bar is None else f"  bar {row.bar:.2f}"
            print(f"{row.name}: {row.ours:,.0f} against {row.theirs:,.0f}, ratio {row.ratio:.2f}{bar}")
