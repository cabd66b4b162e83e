"""Binding and draining."""

from __future__ import annotations

import asyncio
import socket

import pytest

from moldau.base.errors import ConfigError
from moldau.net.connection import Connection
from moldau.net.limits import Limits
from moldau.net.server import Listener, Server
from moldau.net.traffic import CloseReason
from tests.unit.net.harness import (
    Collector,
    RawClient,
    Run,
    connect,
    echo,
    run_on_uvloop,
    settle,
    start,
    started,
    until,
)


def test_drain_writes_the_open_answers_and_reads_nothing_more(run: Run) -> None:
    async def main() -> None:
        handler = Collector()
        server = await start(handler)
        client, idle = await connect(server), await connect(server)
        client.send(b"a", b"b")
        await handler.until(2)
        draining = asyncio.ensure_future(server.drain(10_000))
        await idle.lost
        client.send(b"too late")
        await settle()
        handler.answers[1].send((b"B" * 300_000,))
        handler.answers[0].send((b"A",))
        assert await draining == 0
        await until(lambda: client.lost.done())
        assert handler.requests == [b"a", b"b"]
        assert server.traffic.closed == {CloseReason.SHUTDOWN: 2}
        assert server.connections == 0
        host, port = server.addresses["PLAINTEXT"]
        with pytest.raises(ConnectionRefusedError):
            await asyncio.get_running_loop().create_connection(RawClient, host, port)

    run(main)


def test_drain_breaks_off_what_is_not_done_in_time(run: Run) -> None:
    async def main() -> None:
        handler = Collector()
        server = await start(handler, Limits(connections_max=2))
        clients = [await connect(server) for _ in range(2)]
        for client in clients:
            client.send(b"never answered")
        await handler.until(2)
        waiting = await connect(server)
        await until(lambda: server.connections == 3)
        assert await server.drain(100) == 2
        assert server.connections == 0
        for client in (*clients, waiting):
            await client.lost
        handler.answers[0].send((b"nobody listens",))

    run(main)


def test_who_was_at_the_door_when_it_was_shut_does_not_get_in(run: Run) -> None:
    async def main() -> None:
        drained, other = await start(echo), await start(echo)
        await drained.drain(0)
        loop = asyncio.get_running_loop()
        # A socket that was accepted, or a TLS handshake that ends, after the drain has begun.
        address = other.addresses["PLAINTEXT"]
        await loop.create_connection(lambda: Connection(loop, drained, "PLAINTEXT"), *address)
        await until(lambda: drained.traffic.closed == {CloseReason.SHUTDOWN: 1})
        assert drained.connections == 0

    run(main)


def test_a_port_in_use_is_named_and_nothing_stays_bound(run: Run) -> None:
    async def main() -> None:
        first = await start(echo)
        port = first.addresses["PLAINTEXT"][1]
        listeners = [Listener("EXTERNAL", "127.0.0.1", 0), Listener("INTERNAL", "127.0.0.1", port)]
        second = Server(listeners, echo)
        with pytest.raises(ConfigError, match=rf"listener INTERNAL .* 127\.0\.0\.1:{port}: .*in use") as raised:
            await second.start()
        assert "\n" not in str(raised.value)
        with pytest.raises(ConnectionRefusedError):
            await connect(second, "EXTERNAL")

    run(main)


def test_a_host_that_does_not_exist_is_named() -> None:
    async def main() -> None:
        server = Server([Listener("PLAINTEXT", "no-such-host.invalid", 9092)], echo)
        with pytest.raises(ConfigError, match=r"no-such-host\.invalid:9092"):
            await server.start()

    run_on_uvloop(main)


def test_no_host_is_every_address_of_the_machine_on_one_port() -> None:
    async def main() -> None:
        server = await started(Server([Listener("PLAINTEXT", "", 0)], echo))
        _host, port = server.addresses["PLAINTEXT"]
        reached = []
        for address in ("127.0.0.1", "::1") if socket.has_ipv6 else ("127.0.0.1",):
            loop = asyncio.get_running_loop()
            _transport, client = await loop.create_connection(RawClient, address, port)
            client.send(b"hello")
            await client.expect(b"hello")
            reached.append(address)
        assert "127.0.0.1" in reached

    run_on_uvloop(main)


def test_socket_buffers_are_as_configured() -> None:
    async def main() -> None:
        handler = Collector()
        server = await start(handler, Limits(send_buffer_bytes=30_000, receive_buffer_bytes=50_000))
        client = await connect(server)
        client.send(b"x")
        await handler.until(1)
        accepted = handler.answers[0].connection.extra_info("socket")
        assert isinstance(accepted, object)
        # Linux doubles what it is asked for, for its own bookkeeping; macOS does not.
        assert accepted.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF) in (30_000, 60_000)  # type: ignore[attr-defined]
        assert accepted.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF) in (50_000, 100_000)  # type: ignore[attr-defined]

    run_on_uvloop(main)
