"""Cables that can be cut: TCP proxies between brokers, and between a broker and ZooKeeper.

A cut is what a broken network is: nothing arrives and nobody is told. Connections stay, and what was written to them
goes on its way when the cable is whole again. In front of every broker is one proxy; who is at the other end of a
connection is told by the client id in its first request, which is `broker-<id>` for brokers, or begins so, or is their
id alone where the broker is Apache Kafka.
"""

from __future__ import annotations

import asyncio
import re
import struct
import threading
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, TypeVar

Result = TypeVar("Result")

CHUNK_BYTES = 1 << 16
CALL_S_MAX = 10.0
ANYBODY = "anybody"
_BROKER = re.compile(r"(?:broker-)?(\d+)(?:-|$)")
_HEADER = struct.Struct(">ihhih")  # size, API key, version, correlation id, length of the client id


class Network:
    """All cables, in a thread of their own. Ends are named: `broker-0`, `zookeeper`, or `anybody` else."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="network", daemon=True)
        self._thread.start()
        self._cuts: set[frozenset[str]] = set()
        self._delays_s: dict[frozenset[str], float] = {}
        self._changed = asyncio.Event()
        self._servers: list[asyncio.Server] = []
        self._tasks: set[asyncio.Task[None]] = set()

    def connect(self, end: str, port: int, other: str | None = None) -> int:
        """A port that leads to `port`, where `end` is; `other` is who uses it, or None if that is to be found out."""
        return self._call(self._connect(end, port, other))

    def cut(self, one: str, other: str) -> None:
        self._change(lambda: self._cuts.add(frozenset((one, other))))

    def slow(self, one: str, other: str, delay_s: float) -> None:
        """Everything that goes between the two takes so much longer."""
        self._change(lambda: self._delays_s.update({frozenset((one, other)): delay_s}))

    def heal(self) -> None:
        """All cables are whole and fast."""

        def heal() -> None:
            self._cuts.clear()
            self._delays_s.clear()

        self._change(heal)

    def close(self) -> None:
        async def end() -> None:
            for server in self._servers:
                server.close()
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

        self._call(end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(CALL_S_MAX)
        self._loop.close()

    # -- in the thread

    def _call(self, work: Coroutine[Any, Any, Result]) -> Result:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(CALL_S_MAX)

    def _change(self, change: Callable[[], object]) -> None:
        async def apply() -> None:
            change()
            self._changed.set()
            self._changed = asyncio.Event()

        self._call(apply())

    async def _connect(self, end: str, port: int, other: str | None) -> int:
        async def accepted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            assert task is not None
            self._tasks.add(task)
            try:
                with suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
                    await self._carry(end, port, other, reader, writer)
            finally:
                self._tasks.discard(task)
                writer.close()

        server = await asyncio.start_server(accepted, "127.0.0.1", 0)
        self._servers.append(server)
        bound: int = server.sockets[0].getsockname()[1]
        return bound

    async def _carry(
        self, end: str, port: int, other: str | None, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        first = b""
        if other is None:
            first = await reader.readexactly(_HEADER.size)
            length = max(_HEADER.unpack(first)[4], 0)
            client_id = await reader.readexactly(length)
            first += client_id
            found = _BROKER.match(client_id.decode())
            other = f"broker-{found[1]}" if found else ANYBODY
        pair = frozenset((end, other))
        await self._pass(pair)
        to_reader, to_writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            to_writer.write(first)
            await asyncio.gather(self._pump(pair, reader, to_writer), self._pump(pair, to_reader, writer))
        finally:
            to_writer.close()

    async def _pump(self, pair: frozenset[str], reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(CHUNK_BYTES):
            await self._pass(pair)
            writer.write(data)
            await writer.drain()
        await self._pass(pair)
        writer.close()

    async def _pass(self, pair: frozenset[str]) -> None:
        delay_s = self._delays_s.get(pair)
        if delay_s is not None:
            await asyncio.sleep(delay_s)
        while pair in self._cuts:
            await self._changed.wait()
