"""How a connection comes about between two simulated hosts.

As with TCP, the kernels make it: the listening program need not run for the other side to be connected.
Nobody listening is a refusal after a round trip; a host that is down or cut off says nothing at all.
"""

from __future__ import annotations

import asyncio
import contextvars
import errno
from collections.abc import Callable

from moldau.testing.simulation.network import SimulatedNetwork
from moldau.testing.simulation.transport import SimulatedTransport

ProtocolFactory = Callable[[], asyncio.BaseProtocol]

# How long Linux tries to connect to a host that does not answer.
CONNECT_S_MAX = 127.0


class Handshake:
    """One attempt to connect; `made` becomes the caller's transport, or the error."""

    def __init__(self, network: SimulatedNetwork, name: str, port: int) -> None:
        self._network = network
        self._source = network.here()
        self._target = network.host_called(name)
        self._local = (self._source.name, self._source.free_port())
        self._remote = (self._target.name, port)
        self._what = f"{self._local[0]}:{self._local[1]}>{self._remote[0]}:{port}"
        self._context = contextvars.copy_context()
        self.made: asyncio.Future[SimulatedTransport] = network.loop.create_future()
        network.carry(self._source, self._target, self._syn_comes, f"{self._what} connect")

    def _syn_comes(self) -> None:
        network, (name, port) = self._network, self._remote
        target = network.host_called(name)
        if not (target.alive or target.refuses):
            return
        server = target.listening.get(port)
        if server is None or not server.is_serving():
            network.carry(target, self._source, self._refusal_comes, f"{self._what} refused", lossy=True)
            return
        ours = SimulatedTransport(network, self._source, (self._local, self._remote), self._context)
        theirs = SimulatedTransport(network, target, (self._remote, self._local), server.context.copy())
        ours.peer, theirs.peer = theirs, ours
        network.loop.call_soon(lambda: theirs.connect_protocol(server.protocol_factory()), context=theirs.context)
        network.carry(target, self._source, lambda: self._made(ours), f"{self._what} connected", ours)

    def _refusal_comes(self) -> None:
        if not self.made.done():
            self.made.set_exception(ConnectionRefusedError(errno.ECONNREFUSED, "Connection refused"))

    def _made(self, transport: SimulatedTransport) -> None:
        if self.made.done():
            transport.abandon()
        else:
            self.made.set_result(transport)


async def connect(
    network: SimulatedNetwork, protocol_factory: ProtocolFactory, name: str, port: int
) -> tuple[SimulatedTransport, asyncio.BaseProtocol]:
    handshake = Handshake(network, name, port)
    made = handshake.made
    try:
        async with asyncio.timeout(CONNECT_S_MAX):
            transport = await made
    except TimeoutError as error:
        raise TimeoutError(errno.ETIMEDOUT, f"{name}:{port} does not answer") from error
    except asyncio.CancelledError:
        if made.done() and not made.cancelled() and not made.exception():
            made.result().abandon()
        raise
    protocol = protocol_factory()
    transport.connect_protocol(protocol)
    return transport, protocol
