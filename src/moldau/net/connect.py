"""Making a connection: TCP, TLS, the broker's versions, authentication, all within one set-up time."""

from __future__ import annotations

import asyncio
import socket
from typing import cast

from moldau.base.errors import ConnectFailed, ConnectRefused, Disconnected
from moldau.net.client import ClientConnection
from moldau.net.client_options import ClientOptions
from moldau.net.frames import ReceiveBuffers
from moldau.net.versions import negotiate
from moldau.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse

# A broker is trusted so far that this much of an announced answer is memory at once, which saves the growing.
EAGER_BYTES = 64 * 1024 * 1024


def client_buffers() -> ReceiveBuffers:
    """For connections of one loop to share, if a client has many of them."""
    return ReceiveBuffers(eager_bytes=EAGER_BYTES)


async def connect(
    host: str,
    port: int,
    options: ClientOptions | None = None,
    *,
    buffers: ReceiveBuffers | None = None,
    setup_timeout_ms: float | None = None,
) -> ClientConnection:
    """A connection that is ready for requests.

    Raises ConnectFailed; or UnsupportedVersion, or what `authenticate` raises.
    """
    options = options or ClientOptions()
    timeout_ms = setup_timeout_ms or options.setup_timeout_ms
    connection = None
    try:
        async with asyncio.timeout(timeout_ms / 1000):
            connection = await _open(host, port, options, buffers or client_buffers())
            if options.negotiate:
                await _negotiate(connection, options)
            if options.authenticate is not None:
                await options.authenticate(connection)
    except BaseException as error:
        if connection is not None:
            connection.close("its set-up failed")
        if isinstance(error, TimeoutError):
            raise ConnectFailed(f"{host}:{port}: no connection within {timeout_ms:g} ms") from error
        if isinstance(error, ConnectionRefusedError):
            raise ConnectRefused(f"{host}:{port}: {error}") from error
        if isinstance(error, OSError | Disconnected):
            raise ConnectFailed(f"{host}:{port}: {error}") from error
        raise
    return connection


async def _open(host: str, port: int, options: ClientOptions, buffers: ReceiveBuffers) -> ClientConnection:
    loop = asyncio.get_running_loop()
    transport, protocol = await loop.create_connection(
        lambda: ClientConnection(loop, buffers, f"{host}:{port}", options),
        host,
        port,
        ssl=options.tls,
        server_hostname=(options.tls_server_name or host) if options.tls else None,
    )
    opened = cast("socket.socket | None", transport.get_extra_info("socket"))
    if opened is not None:  # there is none in a simulation
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for option, size in (
            (socket.SO_SNDBUF, options.send_buffer_bytes),
            (socket.SO_RCVBUF, options.receive_buffer_bytes),
        ):
            if size >= 0:
                opened.setsockopt(socket.SOL_SOCKET, option, size)
    return protocol


async def _negotiate(connection: ClientConnection, options: ClientOptions) -> None:
    async def ask(request: ApiVersionsRequest, version: int) -> ApiVersionsResponse:
        answer = await connection.send(request, version)
        assert isinstance(answer, ApiVersionsResponse)
        return answer

    request = ApiVersionsRequest(
        client_software_name=options.software_name, client_software_version=options.software_version
    )
    connection.versions = await negotiate(ask, request)
