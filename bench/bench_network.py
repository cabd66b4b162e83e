"""The network layer beside a bare uvloop protocol that moves the same bytes.

Server and load generator are processes of their own, on two cores. The generator is plain sockets: a
pipeline of five means that every connection has five requests in flight and sends one more, in a write of
its own, for every answer, as a client does. Ours and theirs alternate, a short run each; the median of the
ratios of neighbouring runs counts, since what else the machine does changes more slowly than that.

The bursts are a figure without a bar, at the server's limit: five requests in one write, wait for five
answers. There the bare echo copies one read, whatever is in it, while ours finds five requests in it, calls
a handler for each and puts five answers in order.
"""

from __future__ import annotations

import asyncio
import select
import socket
import statistics
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple, cast

from bench.measure import Row, table

SIZE = struct.Struct(">i")
ACKNOWLEDGEMENT = b"\0\0\0\1"
LARGE_BYTES = 1024 * 1024
RUNS = 15
RUN_S = 0.3


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
    process = subprocess.Popen(
        [sys.executable, "-m", "bench.bench_network", "serve", side, kind], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        yield int(process.stdout.readline())
    finally:
        process.kill()
        process.communicate()


# -- the load: each returns answers per second


class Load(NamedTuple):
    """What the generator does."""

    connections: int
    pipeline: int
    request: bytes
    answer_bytes: int  # with the size field


def connect_all(port: int, load: Load) -> list[socket.socket]:
    sockets = [socket.create_connection(("127.0.0.1", port)) for _ in range(load.connections)]
    for each in sockets:
        each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return sockets


def windows(port: int, load: Load) -> float:
    """Keep the pipeline full: one request more for every answer."""
    sockets = {each.fileno(): each for each in connect_all(port, load)}
    incomplete = dict.fromkeys(sockets, 0)
    buffer = bytearray(64 * 1024)
    readable = select.epoll()
    for number, each in sockets.items():
        readable.register(number, select.EPOLLIN)
        for _ in range(load.pipeline):
            each.send(load.request)
    answers, started, elapsed = 0, time.perf_counter(), 0.0
    while elapsed < RUN_S:
        for number, _event in readable.poll():
            each = sockets[number]
            arrived = incomplete[number] + each.recv_into(buffer)
            done, incomplete[number] = divmod(arrived, load.answer_bytes)
            answers += done
            for _ in range(done):
                each.send(load.request)
        elapsed = time.perf_counter() - started
    for each in sockets.values():
        each.close()
    readable.close()
    return answers / elapsed


def bursts(port: int, load: Load) -> float:
    """Send the whole pipeline in one piece, wait for all of its answers."""
    sockets = connect_all(port, load)
    requests, answers_bytes = load.request * load.pipeline, load.answer_bytes * load.pipeline
    buffer = bytearray(answers_bytes)
    rounds, started, elapsed = 0, time.perf_counter(), 0.0
    while elapsed < RUN_S:
        for each in sockets:
            each.sendall(requests)
        for each in sockets:
            received = each.recv_into(buffer, answers_bytes, socket.MSG_WAITALL)
            assert received == answers_bytes
        rounds += 1
        elapsed = time.perf_counter() - started
    for each in sockets:
        each.close()
    return rounds * load.connections * load.pipeline / elapsed


def compare(name: str, unit: str, kind: str, drive: Callable[[int, Load], float], load: Load, bar: str = "") -> Row:
    ours: list[float] = []
    theirs: list[float] = []
    with server_process("ours", kind) as our_port, server_process("theirs", kind) as their_port:
        for _ in range(RUNS):
            ours.append(drive(our_port, load))
            theirs.append(drive(their_port, load))
    ratio = statistics.median(mine / other for mine, other in zip(ours, theirs, strict=True))
    against = "bare uvloop protocol"
    return Row(name, statistics.median(ours), statistics.median(theirs), unit, against, bar, ratio)


def echo_rows() -> list[Row]:
    small = frame(100)
    one, fifty = (Load(connections, 5, small, len(small)) for connections in (1, 50))
    return [
        compare("echo 100 B, 1 connection, pipeline 5", "req/s", "echo", windows, one, "≥0.6"),
        compare("echo 100 B, 50 connections, pipeline 5", "req/s", "echo", windows, fifty, "≥0.6"),
        compare("echo 100 B, 1 connection, bursts of 5", "req/s", "echo", bursts, one),
        compare("echo 100 B, 50 connections, bursts of 5", "req/s", "echo", bursts, fifty),
    ]


def large_rows() -> list[Row]:
    incoming = Load(1, 2, frame(LARGE_BYTES), SIZE.size + len(ACKNOWLEDGEMENT))
    outgoing = Load(1, 2, frame(1), SIZE.size + LARGE_BYTES)
    return [
        compare("requests of 1 MiB in, 1 connection", "MiB/s", "sink", bursts, incoming),
        compare("answers of 1 MiB out, 1 connection", "MiB/s", "source", bursts, outgoing),
    ]


def rows() -> list[Row]:
    return echo_rows() + large_rows()


if __name__ == "__main__":
    if sys.argv[1:2] == ["serve"]:
        serve(sys.argv[2], sys.argv[3])
    else:
        print(table(rows()))
