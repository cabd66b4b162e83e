"""Named hosts and what lies between them: latency, partitions, pauses and crashes.

Everything that travels (segments, acknowledgements, closes, connection attempts) goes through `carry`.
A partition is what TCP makes of it: nothing is lost, it comes when the partition heals; only a reset,
which nobody repeats, is gone, and so is everything sent to a host that is down.
"""

from __future__ import annotations

import asyncio
import contextvars
import errno
import random
import socket
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from moldau.testing.simulation.host import Host, current_host
from moldau.testing.simulation.server import SimulatedServer
from moldau.testing.simulation.trace import Trace
from moldau.testing.simulation.transport import SimulatedTransport

if TYPE_CHECKING:
    from moldau.testing.simulation.loop import SimulatedLoop

LOCALHOST = "localhost"
OWN_NAMES = frozenset({None, "", LOCALHOST, "127.0.0.1", "0.0.0.0", "::", "::1"})
ORDER_S = 1e-9


@dataclass(frozen=True, slots=True)
class NetworkConditions:
    """From which ranges the network draws; a range is (least, most)."""

    latency_s: tuple[float, float] = (0.0001, 0.002)
    slow_latency_s: tuple[float, float] = (0.01, 0.2)
    slow_share: float = 0.005
    segment_bytes: tuple[int, int] = (1, 16 * 1024)
    tiny_share: float = 0.1
    window_bytes: tuple[int, int] = (2 * 1024, 128 * 1024)


class SimulatedNetwork:
    """All hosts of one simulation. A host is named by its name alone."""

    def __init__(
        self, loop: SimulatedLoop, drawn_from: random.Random, trace: Trace, conditions: NetworkConditions
    ) -> None:
        self.loop = loop
        self.random = drawn_from
        self.trace = trace
        self.conditions = conditions
        self._hosts: dict[str, Host] = {}
        self._dead: list[Host] = []
        self._blocked: set[tuple[str, str]] = set()
        self._held: list[tuple[Host, Host, Callable[[], None], str, SimulatedTransport | None]] = []
        self.kernel = contextvars.Context()  # belongs to no host, so no pause stops it

    # -- hosts and their misfortunes

    def host(self, name: str) -> Host:
        """The host of this name; a new one if there was none, or the last one crashed."""
        if not self.is_up(name):
            if name in self._hosts:
                self._dead.append(self._hosts[name])
            self._hosts[name] = Host(self.loop, name)
        return self._hosts[name]

    def is_up(self, name: str) -> bool:
        return name in self._hosts and self._hosts[name].alive

    def pause(self, name: str) -> None:
        """Nothing of this host runs; its kernel still takes connections and bytes."""
        self._note(f"pause {name}")
        self.host(name).paused = True

    def resume(self, name: str) -> None:
        self._note(f"resume {name}")
        host = self.host(name)
        host.paused = False
        self.loop.requeue(host.held)
        host.held = []

    def crash(self, name: str) -> None:
        """Everything on this host stops for good, without a word to anybody."""
        self._note(f"crash {name}")
        host = self.host(name)
        host.alive = False
        host.listening.clear()
        for transport in list(host.transports):
            transport.vanish()

    def kill(self, name: str) -> None:
        """The process on this host ends; the machine resets its connections, and refuses new ones."""
        self._note(f"kill {name}")
        host = self.host(name)
        host.alive = False
        host.refuses = True
        host.listening.clear()
        for transport in list(host.transports):
            transport.abandon()

    def wake_all(self) -> None:
        """At the end of a run: let everything that was stopped run, so that it can be closed."""
        for host in [*self._hosts.values(), *self._dead]:
            host.alive, host.paused = True, False
            self.loop.requeue(host.held)
            host.held = []

    def block(self, source: str, target: str) -> None:
        """Nothing gets from `source` to `target`; the other direction is not touched."""
        self._note(f"block {source} > {target}")
        self._blocked.add((source, target))

    def partition(self, some: Iterable[str], others: Iterable[str]) -> None:
        others = list(others)
        for one in some:
            for other in others:
                self.block(one, other)
                self.block(other, one)

    def unblock(self, source: str, target: str) -> None:
        self._note(f"unblock {source} > {target}")
        self._blocked.discard((source, target))
        held, self._held = self._held, []
        for parcel in held:  # who is still blocked is held again, in the same order
            self.carry(*parcel)

    def reset_connections(self, one: str, other: str) -> None:
        """Something between the two forgets their connections, as a firewall does: both sides find them broken."""
        self._note(f"reset {one} - {other}")
        for transport in list(self.host(one).transports):
            if transport.peer.host.name == other:
                transport.break_off()
                transport.peer.break_off()

    def heal(self) -> None:
        """End every partition; what was held up goes on its way."""
        for source, target in sorted(self._blocked):
            self.unblock(source, target)

    # -- transport of everything

    def carry(
        self,
        source: Host,
        target: Host,
        deliver: Callable[[], None],
        what: str,
        lane: SimulatedTransport | None = None,
        *,
        lossy: bool = False,
    ) -> None:
        """Call `deliver` at the target after a latency; in one lane, in the order of sending."""
        if (source.name, target.name) in self._blocked:
            if not lossy:
                self._held.append((source, target, deliver, what, lane))
            return
        conditions = self.conditions
        slow = self.random.random() < conditions.slow_share
        arrives_at = self.loop.time() + self.random.uniform(
            *(conditions.slow_latency_s if slow else conditions.latency_s)
        )
        if lane is not None:
            arrives_at = lane.arrives_at = max(arrives_at, lane.arrives_at + ORDER_S)
        self.loop.call_at(arrives_at, self._arrive, deliver, what, context=self.kernel)

    def _arrive(self, deliver: Callable[[], None], what: str) -> None:
        self._note(what)
        deliver()

    def _note(self, event: str) -> None:
        self.trace.add(self.loop.time(), event)

    def draw_segment(self) -> int:
        least, most = self.conditions.segment_bytes
        if self.random.random() < self.conditions.tiny_share:
            most = min(most, least + 7)
        return self.random.randint(least, most)

    def draw_window(self) -> int:
        return self.random.randint(*self.conditions.window_bytes)

    # -- names, ports, connections

    def here(self) -> Host:
        """The host on which the calling code runs."""
        host = current_host.get(None)
        return self.host(LOCALHOST) if host is None else host

    def host_called(self, name: str) -> Host:
        """The host to which packets for this name go, dead or alive."""
        return self._hosts[self.resolve(name)]

    def resolve(self, name: str | None) -> str:
        if name in OWN_NAMES or name is None:
            return self.here().name
        if name not in self._hosts:
            raise socket.gaierror(socket.EAI_NONAME, f"no host is called {name}")
        return name

    def bind(
        self, protocol_factory: Callable[[], asyncio.BaseProtocol], name: str | None, port: int
    ) -> SimulatedServer:
        host = self.here()
        if self.resolve(name) != host.name:
            raise OSError(errno.EADDRNOTAVAIL, f"{name} is not an address of {host}")
        if port in host.listening:
            raise OSError(errno.EADDRINUSE, "Address already in use")
        server = SimulatedServer(self.loop, host, port or host.free_port(), protocol_factory)
        host.listening[server.port] = server
        return server
