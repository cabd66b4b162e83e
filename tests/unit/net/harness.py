"""A raw client, and the loops on which every scenario of this folder runs: real sockets and the simulation."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Callable, Coroutine
from typing import Any, cast

import uvloop

from moldau.net.answer import Answer
from moldau.net.connection import Handler
from moldau.net.limits import Limits
from moldau.net.server import Listener, Server
from moldau.testing.simulation import SimulatedLoop, simulate

Main = Callable[[], Coroutine[Any, Any, None]]
Run = Callable[[Main], None]

SCENARIO_S_MAX = 20.0
VIRTUAL_SCENARIO_S_MAX = 300.0


_servers: list[Server] = []
_clients: list[RawClient] = []


async def bounded(main: Main, time_s_max: float) -> None:
    """Run a scenario, and close what it has opened, also if it fails: uvloop waits for it for ever."""
    _clients.clear()
    _servers.clear()
    try:
        async with asyncio.timeout(time_s_max):
            await main()
    finally:
        for client in _clients:
            client.transport.abort()
        for server in _servers:
            await server.drain(0)


def run_on_uvloop(main: Main) -> None:
    uvloop.run(bounded(main, SCENARIO_S_MAX))


def run_on_asyncio(main: Main) -> None:
    asyncio.run(bounded(main, SCENARIO_S_MAX))


def run_simulated(main: Main) -> None:
    for seed in range(3):
        simulate(lambda _network: bounded(main, VIRTUAL_SCENARIO_S_MAX), seed, shuffled=seed == 2)


def frame(payload: bytes) -> bytes:
    return struct.pack(">i", len(payload)) + payload


def echo(request: memoryview, answer: Answer) -> None:
    answer.send((request.tobytes(),))


class Collector:
    """A handler that keeps every request and its answer; the test answers."""

    def __init__(self) -> None:
        self.requests: list[bytes] = []
        self.answers: list[Answer] = []

    def __call__(self, request: memoryview, answer: Answer) -> None:
        self.requests.append(request.tobytes())
        self.answers.append(answer)

    async def until(self, count: int) -> None:
        await until(lambda: len(self.requests) >= count)


class RawClient(asyncio.Protocol):
    """Sends bytes as they are, keeps what comes."""

    transport: asyncio.Transport

    def __init__(self) -> None:
        self.received = bytearray()
        self.lost = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        _clients.append(self)

    def data_received(self, data: bytes) -> None:
        self.received += data

    def connection_lost(self, exc: Exception | None) -> None:
        self.lost.set_result(exc)

    def send(self, *payloads: bytes) -> None:
        self.transport.write(b"".join(map(frame, payloads)))

    def frames(self) -> list[bytes]:
        """The whole frames received so far."""
        found, position = [], 0
        while position + 4 <= len(self.received):
            (size,) = struct.unpack_from(">i", self.received, position)
            if position + 4 + size > len(self.received):
                break
            found.append(bytes(self.received[position + 4 : position + 4 + size]))
            position += 4 + size
        return found

    async def expect(self, *payloads: bytes) -> None:
        """Wait for that many frames, and compare."""
        await until(lambda: len(self.frames()) >= len(payloads) or self.lost.done())
        assert self.frames() == list(payloads)


async def until(condition: Callable[[], object]) -> None:
    """Wait for something to become true; the scenario's time limit bounds it."""
    while True:
        if condition():
            return
        await asyncio.sleep(0.002)


async def settle() -> None:
    """Long enough for everything that is under way to arrive."""
    loop = asyncio.get_running_loop()
    await asyncio.sleep(2.0 if isinstance(loop, SimulatedLoop) else 0.05)


async def started(server: Server) -> Server:
    _servers.append(server)
    await server.start()
    return server


async def start(handle: Handler, limits: Limits | None = None) -> Server:
    return await started(Server([Listener("PLAINTEXT", "127.0.0.1", 0)], handle, limits))


async def connect(server: Server, listener: str = "PLAINTEXT") -> RawClient:
    host, port = server.addresses[listener]
    _transport, client = await asyncio.get_running_loop().create_connection(RawClient, host, port)
    return client
