"""An asyncio loop in virtual time: when nothing is left to run, the clock jumps to the next timer.

What is ready on one host runs in the order in which it became ready, as asyncio promises; whose turn it is
among hosts is drawn from the seed, as if each were a process of its own. A `shuffled` loop draws the order
within a host too: code that passes there does not even lean on that promise. Timers run at their exact
times. Work for an executor takes a while of virtual time and then runs in the loop.

The loop is asyncio's `BaseEventLoop` without its selector; `_ready`, `_scheduled` and `_run_once` are the
three names of it that this file relies on, the same in every Python since 3.7.
"""

from __future__ import annotations

import asyncio
import heapq
import random
import socket
from collections import deque
from collections.abc import Callable, Iterable
from types import CoroutineType
from typing import Any, TypeVar

from moldau.testing.simulation.handshake import connect
from moldau.testing.simulation.host import Host, current_host
from moldau.testing.simulation.network import NetworkConditions, SimulatedNetwork
from moldau.testing.simulation.server import SimulatedServer
from moldau.testing.simulation.trace import Trace
from moldau.testing.simulation.transport import SimulatedTransport

Result = TypeVar("Result")
ProtocolFactory = Callable[[], asyncio.BaseProtocol]

# Not zero: code that takes a time of zero for "never" would pass by accident.
START_S = 1000.0
EXECUTOR_S = (0.0001, 0.005)
# So many callbacks without the clock moving are a loop that will not end.
CALLBACKS_PER_MOMENT_MAX = 1_000_000


class SimulationFailed(Exception):
    """The run cannot go on: everybody waits for somebody else, or the virtual time is used up."""


class SimulatedLoop(asyncio.BaseEventLoop):
    """Seeded; see the top of the file. `network` is what its servers and connections live on."""

    _ready: deque[asyncio.Handle]
    _scheduled: list[asyncio.TimerHandle]

    def __init__(
        self,
        seed: int,
        *,
        conditions: NetworkConditions | None = None,
        time_limit_s: float = 3600.0,
        shuffled: bool = False,
    ) -> None:
        super().__init__()
        self.random = random.Random(seed)
        self.trace = Trace()
        self.network = SimulatedNetwork(self, self.random, self.trace, conditions or NetworkConditions())
        self._now = START_S
        self._end = START_S + time_limit_s
        self._shuffled = shuffled
        self._callbacks_this_moment = 0
        self.on_turn: Callable[[Iterable[Host | None]], None] | None = None
        """Called after every turn with the hosts whose code ran in it; what it raises ends the run."""

    def time(self) -> float:
        return self._now

    def grant(self, time_s: float) -> None:
        """Let the run go on until this much later than now."""
        self._end = self._now + time_s
        self._callbacks_this_moment = 0

    def requeue(self, handles: list[asyncio.Handle]) -> None:
        """Run what could not run when its time came."""
        self._ready.extend(handles)

    def _run_once(self) -> None:
        if not self._ready:
            self._advance()
        while self._scheduled and self._scheduled[0].when() <= self._now:
            self._ready.append(heapq.heappop(self._scheduled))
        self._callbacks_this_moment += len(self._ready)
        batch = self._draw_order()
        for host, handle in batch:
            if handle.cancelled():
                continue
            if host is not None and not host.runs:
                host.held.append(handle)
            else:
                handle._run()
        if self.on_turn is not None:
            self.on_turn(dict.fromkeys(host for host, _handle in batch))
        if self._callbacks_this_moment > CALLBACKS_PER_MOMENT_MAX:
            raise SimulationFailed(f"{self._callbacks_this_moment} callbacks and no time passes\n{self.waiting()}")

    def _draw_order(self) -> list[tuple[Host | None, asyncio.Handle]]:
        """Take what is ready, with the hosts that it belongs to, in the order of this turn."""
        batch = [(handle._context.get(current_host), handle) for handle in self._ready]  # type: ignore[attr-defined]
        self._ready.clear()
        turns = [host for host, _handle in batch]
        if self._shuffled:
            self.random.shuffle(batch)
        elif turns.count(turns[0]) < len(turns):
            waiting: dict[Host | None, deque[asyncio.Handle]] = {}
            for host, handle in batch:
                waiting.setdefault(host, deque()).append(handle)
            self.random.shuffle(turns)
            batch = [(host, waiting[host].popleft()) for host in turns]
        return batch

    def _advance(self) -> None:
        while self._scheduled and self._scheduled[0].cancelled():
            heapq.heappop(self._scheduled)
        if not self._scheduled:
            raise SimulationFailed(f"deadlock: nothing is ready and no timer is set\n{self.waiting()}")
        self._now = max(self._now, self._scheduled[0].when())
        self._callbacks_this_moment = 0
        if self._now > self._end:
            raise SimulationFailed(f"the virtual time is used up at {self._now:.3f} s\n{self.waiting()}")

    def waiting(self) -> str:
        """Every task that is not done, and where it waits, innermost call last."""
        tasks = sorted(asyncio.all_tasks(self), key=lambda task: task.get_name())
        return "\n".join(f"  {task.get_name()}: {' > '.join(_calls(task.get_coro()))}" for task in tasks)

    # -- what a real loop does with sockets and threads

    def run_in_executor(  # type: ignore[override]  # typeshed's has type variables of its own
        self, _executor: object, func: Callable[..., Result], *args: Any
    ) -> asyncio.Future[Result]:
        done: asyncio.Future[Result] = self.create_future()

        def work() -> None:
            if done.cancelled():
                return
            try:
                done.set_result(func(*args))
            except Exception as error:
                done.set_exception(error)

        self.call_later(self.random.uniform(*EXECUTOR_S), work)
        return done

    async def getaddrinfo(  # type: ignore[override]  # a host's name is its only address
        self, host: str | None, port: int, **_options: object
    ) -> list[tuple[int, int, int, str, tuple[str, int]]]:
        address = self.network.resolve(host), port
        return [(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", address)]

    async def create_server(  # type: ignore[override]  # no options of sockets, since there is no socket
        self,
        protocol_factory: ProtocolFactory,
        host: str | None = None,
        port: int = 0,
        *,
        ssl: None = None,
        start_serving: bool = True,
        **_options: object,
    ) -> SimulatedServer:
        assert ssl is None, "there is no TLS in the simulation"
        server = self.network.bind(protocol_factory, host, port)
        if start_serving:
            await server.start_serving()
        return server

    async def create_connection(  # type: ignore[override]  # as above
        self,
        protocol_factory: ProtocolFactory,
        host: str,
        port: int,
        *,
        ssl: None = None,
        **_options: object,
    ) -> tuple[SimulatedTransport, asyncio.BaseProtocol]:
        assert ssl is None, "there is no TLS in the simulation"
        return await connect(self.network, protocol_factory, host, port)

    def _write_to_self(self) -> None:
        """Called when another thread wakes the loop; there is none, so there is nothing to interrupt."""


def _calls(coroutine: object) -> list[str]:
    """The chain of awaits below a coroutine, as far as it is made of coroutines."""
    calls = []
    while isinstance(coroutine, CoroutineType) and coroutine.cr_frame is not None:
        code = coroutine.cr_code
        calls.append(f"{code.co_qualname} ({code.co_filename.rpartition('/')[2]}:{coroutine.cr_frame.f_lineno})")
        coroutine = coroutine.cr_await
    return calls or ["not started"]
