"""One run: a cluster, its clients and its misfortunes, all from one seed."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from random import Random

from moldau.cluster.tree import Changes
from moldau.testing.simulation import SimulatedNetwork, simulate
from moldau.testing.simulation.loop import START_S
from tests.sim.cluster.administration import REPLICAS, Administrator
from tests.sim.cluster.end_checks import EndChecks
from tests.sim.cluster.faults import Faults
from tests.sim.cluster.invariants import Invariants, Violated
from tests.sim.cluster.simulated_cluster import Defects, SimulatedCluster
from tests.sim.cluster.workload import (
    PARTITIONS,
    TOPIC,
    ClientHistory,
    GroupMember,
    IdempotentProducer,
    Reader,
    TransactionalProducer,
)
from tests.sim.controller.checked_persistence import CheckedPersistence

STEPS = 7
STEP_PAUSES_S = (0.1, 0.5, 1.5, 3.0)
BROKERS = (3, 3, 3, 4, 5)
MEMBERS = 2
TRANSACTIONAL_IDS = ("a", "b")
REPLACED_AFTER_S = 1.0
HEAL_S_MAX = 60.0
COMMIT_S = (0.0005, 0.01)

Client = IdempotentProducer | TransactionalProducer | GroupMember


class SlowPersistence(CheckedPersistence):
    """A commit of the store takes a while, as with an ensemble."""

    def __init__(self, random: Random) -> None:
        super().__init__()
        self._random = random

    def commit(self, last_zxid: int, changes: Changes) -> asyncio.Future[None]:
        loop = asyncio.get_running_loop()
        slow: asyncio.Future[None] = loop.create_future()
        done = super().commit(last_zxid, changes)
        delay_s = self._random.uniform(*COMMIT_S)
        done.add_done_callback(lambda _done: loop.call_later(delay_s, slow.set_result, None))
        return slow


@dataclass
class Outcome:
    """What a run came to."""

    digest: str
    events: int
    virtual_s: float
    looks: int
    acknowledged: int
    transactions: int
    commits: int
    faults: dict[str, int] = field(default_factory=dict)
    asked: dict[str, int] = field(default_factory=dict)


class ClusterRun:
    def __init__(self, network: SimulatedNetwork, seed: int, settings: dict[str, str] | None = None) -> None:
        self._network = network
        self._random = Random(seed)
        self._count = self._random.choice(BROKERS)
        self._stored = SlowPersistence(self._random)
        self._cluster = SimulatedCluster(network, self._random, self._stored, self._count, settings)
        self._invariants = Invariants(self._cluster, self._stored)
        self._faults = Faults(self._cluster, self._stored, self._random)
        self._history = ClientHistory(on_acknowledged=partial(self._invariants.check_acknowledged, TOPIC))
        self._clients: dict[asyncio.Task[None], Client] = {}
        self._administrator: Administrator
        self._reader: Reader
        self._is_settling = False

    async def run(self) -> Outcome:
        loop = self._network.loop
        loop.on_turn = self._invariants.look
        try:
            with Defects(self._cluster.failures):
                await self._run()
        finally:
            loop.on_turn = None
            self._is_settling = True
        return Outcome(
            self._network.trace.digest(),
            self._network.trace.count,
            loop.time() - START_S,
            self._invariants.looks,
            len(self._history.acknowledged),
            len(self._history.transactions.attempts),
            self._history.group.commits,
            self._faults.counts,
            self._administrator.asked,
        )

    async def _run(self) -> None:
        await self._cluster.start()
        await self._start_clients()
        for _ in range(STEPS):
            await asyncio.sleep(self._random.choice(STEP_PAUSES_S))
            await self._faults.strike()
            self._history.check()
        await self._settle()
        checks = EndChecks(self._cluster, self._stored, self._history, self._random)
        await self._within("a reader gets to the end", checks.read)
        checks.check(self._reader)
        await self._within("offsets can be asked for", checks.check_offsets)
        await self._within("all replicas have the same log", checks.are_logs_equal)

    # -- clients

    async def _start_clients(self) -> None:
        count, random, history = self._count, self._random, self._history

        async def administer() -> None:
            self._administrator = Administrator(count, random)
            await self._administrator.create_main_topic()
            self._network.host("admin").run(self._administrator.run())

        async def read() -> None:
            self._reader = Reader("reader", count, history, random)
            await self._reader.run()

        await self._network.host("admin").run(administer())
        self._network.host("reader").run(read())
        for partition in range(PARTITIONS):
            name = f"producer{partition}"
            self._start(name, partial(IdempotentProducer, name, partition, count, history, random))
        for name in (f"member{number}" for number in range(MEMBERS)):
            self._start(name, partial(GroupMember, name, count, history.group, random))
        for transactional_id in TRANSACTIONAL_IDS:
            self._start_transactional(transactional_id)

    def _start(self, name: str, make: Callable[[], Client]) -> asyncio.Task[None]:
        async def live() -> None:
            client = make()
            self._clients[task] = client
            await client.run()

        task = self._network.host(name).run(live())
        return task

    def _start_transactional(self, transactional_id: str) -> None:
        """One whose transaction timed out is fenced: the next takes its place, as applications do it."""
        if self._is_settling:
            return
        name = f"transactional-{transactional_id}"

        def ended(_task: asyncio.Task[None]) -> None:
            loop, kernel = self._network.loop, self._network.kernel
            loop.call_later(REPLACED_AFTER_S, self._start_transactional, transactional_id, context=kernel)

        history = self._history.transactions
        make = partial(TransactionalProducer, name, transactional_id, self._count, history, self._random)
        self._start(name, make).add_done_callback(ended)

    # -- the end

    async def _settle(self) -> None:
        await self._faults.settle()
        await self._within("every partition has a leader and all replicas in sync", self._is_healed)
        self._is_settling = True
        self._administrator.is_leaving = True
        for client in self._clients.values():
            client.is_leaving = True
        await self._within("every client can finish", self._are_done)
        for task in self._clients:
            task.result()

    async def _within(self, what: str, holds: Callable[[], Awaitable[bool]]) -> None:
        end = self._network.loop.time() + HEAL_S_MAX
        while not await holds():
            if self._network.loop.time() > end:
                states = {path: state for path, (state, _) in self._stored.states.items()}
                busy = [client.name for task, client in self._clients.items() if not task.done()]
                raise Violated("heals", f"not so after {HEAL_S_MAX:.0f} s: {what}; busy are {busy}; {states}")
            await asyncio.sleep(0.5)
        self._history.check()

    async def _is_healed(self) -> bool:
        return all(broker.is_up for broker in self._cluster.brokers.values()) and all(
            len(state.isr) == REPLICAS and state.leader >= 0 for state, _ in self._stored.states.values()
        )

    async def _are_done(self) -> bool:
        return all(task.done() for task in self._clients)


def run_seed(seed: int, settings: dict[str, str] | None = None) -> Outcome:
    """Run one seed; what fails says how to see it again."""

    async def main(network: SimulatedNetwork) -> Outcome:
        return await ClusterRun(network, seed, settings).run()

    try:
        return simulate(main, seed)
    except BaseException as error:
        error.add_note(f"again: PYTHONPATH=src python -m tests.sim.cluster.run {seed} --log")
        raise
    finally:
        gc.unfreeze()  # brokers freeze what is there when they have started, and here they come and go
