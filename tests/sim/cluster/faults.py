"""What happens to the brokers of a simulated cluster, drawn from a seed.

Each fault lasts a while and is then made good; several may go on together. The loss of power is different: what was
acknowledged is in the page cache of the in-sync replicas, and no replicated log without syncs survives that all of them
lose it. So it strikes one broker at a time, in a cluster that is otherwise well, and nothing else happens until the
broker is out of every ISR.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from random import Random

from moldau.cluster.errors import CoordinationError
from moldau.cluster.znodes.layout import CONTROLLER
from tests.sim.cluster.invariants import Violated
from tests.sim.cluster.simulated_cluster import DIRECTORIES, SimulatedBroker, SimulatedCluster
from tests.sim.controller.checked_persistence import CheckedPersistence

SHORT_S, LONG_S = (0.2, 1.0, 3.0), (0.5, 3.0, 9.0)
CLOCK_JUMPS_MS = (-3_600_000, -5_000, 5_000, 600_000)
SPITE = 0.5
POWER_CHECK_S, POWER_CHECKS_MAX = 0.05, 1_200

Fault = Callable[[SimulatedBroker], Awaitable[None]]


class Faults:
    def __init__(self, cluster: SimulatedCluster, stored: CheckedPersistence, random: Random) -> None:
        self._cluster = cluster
        self._network = cluster.network
        self._stored = stored
        self._random = random
        self._going_on: set[asyncio.Task[None]] = set()
        self.counts: dict[str, int] = {}

    async def strike(self) -> None:
        """One more fault; returns when the next may come."""
        faults: list[tuple[Fault, int]] = [
            (self.kill, 4),
            (self.restart, 2),
            (self.pause, 4),
            (self.cut_off, 3),
            (self.cut_pair, 3),
            (self.reset, 2),
            (self.cut_from_store, 3),
            (self.expire, 2),
            (self.fail_directory, 1),
            (self.jump_clock, 1),
            (self.move_controller, 2),
        ]
        broker = self._victim()
        if self._is_well() and self._random.random() < 0.5:
            self._count("lose_power")
            await self.lose_power(broker)
            return
        fault = self._random.choices([fault for fault, _ in faults], [weight for _, weight in faults])[0]
        if not broker.is_up and fault != self.move_controller:
            return
        self._count(fault.__name__)
        self._cluster.note(f"fault: {fault.__name__} {broker.host_name}")
        task = asyncio.get_running_loop().create_task(_carry_out(fault, broker))
        self._going_on.add(task)
        task.add_done_callback(self._going_on.discard)

    def _victim(self) -> SimulatedBroker:
        """Anybody, or who can be spared least: the leader with the fewest replicas in sync."""
        states = [state for state, _ in self._stored.states.values() if state.leader >= 0]
        if states and self._random.random() < SPITE:
            return self._cluster.brokers[min(states, key=lambda state: len(state.isr)).leader]
        return self._random.choice(list(self._cluster.brokers.values()))

    def _count(self, name: str) -> None:
        self.counts[name] = self.counts.get(name, 0) + 1

    async def settle(self) -> None:
        """Make everything good again."""
        if self._going_on:
            await asyncio.wait(self._going_on)
        for task in self._going_on:
            task.result()
        self._network.heal()
        for broker in self._cluster.brokers.values():
            broker.clock.offset_ms = 0
        await self._cluster.until_up()

    def _is_well(self) -> bool:
        if self._going_on or not all(broker.is_up for broker in self._cluster.brokers.values()):
            return False
        return bool(self._stored.states) and all(
            len(state.isr) >= 3 and state.leader >= 0 for state, _ in self._stored.states.values()
        )

    def _pause(self, choices: tuple[float, ...]) -> Awaitable[None]:
        return asyncio.sleep(self._random.choice(choices))

    # -- the faults

    async def kill(self, broker: SimulatedBroker) -> None:
        broker.kill()
        await self._pause(LONG_S)
        await broker.start()

    async def lose_power(self, broker: SimulatedBroker) -> None:
        sessions = self._cluster.sessions_of(broker)
        broker.lose_power()
        for session in sessions:
            await self._cluster.store.expire(session.session_id)
        for _ in range(POWER_CHECKS_MAX):
            if not any(broker.broker_id in state.isr for state, _ in self._stored.states.values()):
                break
            await asyncio.sleep(POWER_CHECK_S)
        else:
            raise Violated("heals", f"{broker.host_name} is dead, and in sync nevertheless")
        await broker.start()

    async def restart(self, broker: SimulatedBroker) -> None:
        await broker.stop()
        await self._pause(SHORT_S)
        await broker.start()

    async def pause(self, broker: SimulatedBroker) -> None:
        host = self._network.host(broker.host_name)
        self._network.pause(broker.host_name)
        await self._pause(LONG_S)
        if host.alive:
            self._network.resume(broker.host_name)

    async def cut_off(self, broker: SimulatedBroker) -> None:
        others = [each.host_name for each in self._cluster.brokers.values() if each is not broker]
        self._network.partition([broker.host_name], others)
        await self._pause(LONG_S)
        for other in others:
            self._network.unblock(broker.host_name, other)
            self._network.unblock(other, broker.host_name)

    async def cut_pair(self, broker: SimulatedBroker) -> None:
        """One direction only, more often than not."""
        other = self._random.choice([each for each in self._cluster.brokers.values() if each is not broker])
        ways = [(broker.host_name, other.host_name), (other.host_name, broker.host_name)]
        ways = self._random.sample(ways, self._random.choice((1, 1, 2)))
        for source, target in ways:
            self._network.block(source, target)
        await self._pause(LONG_S)
        for source, target in ways:
            self._network.unblock(source, target)

    async def reset(self, broker: SimulatedBroker) -> None:
        for other in self._cluster.brokers.values():
            self._network.reset_connections(broker.host_name, other.host_name)

    async def cut_from_store(self, broker: SimulatedBroker) -> None:
        broker.cut_from_store()
        await self._pause(LONG_S)
        broker.reach_store()

    async def expire(self, broker: SimulatedBroker) -> None:
        for session in self._cluster.sessions_of(broker):
            await self._cluster.store.expire(session.session_id)

    async def fail_directory(self, broker: SimulatedBroker) -> None:
        """It stays broken until the broker is started again, and again if it has been started with it meanwhile."""
        directory = self._random.choice(DIRECTORIES)
        operation = self._random.choice(("*", "append", "sync"))
        broker.files.fail(operation, f"{directory}*")
        await self._pause(LONG_S)
        if broker.is_up or broker.is_starting:
            await self.kill(broker)
        else:
            broker.files.heal()

    async def jump_clock(self, broker: SimulatedBroker) -> None:
        broker.clock.offset_ms += self._random.choice(CLOCK_JUMPS_MS)

    async def move_controller(self, _broker: SimulatedBroker) -> None:
        """As an operator may do it: whoever is the controller finds another in its place."""
        session = await self._cluster.store.open_session(1_000)
        try:
            await session.delete(CONTROLLER)
        except CoordinationError:
            return  # there is none
        finally:
            await session.close()


async def _carry_out(fault: Fault, broker: SimulatedBroker) -> None:
    await fault(broker)
