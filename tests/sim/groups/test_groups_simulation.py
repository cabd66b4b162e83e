"""Members that join, crash, pause, are cut off and leave, and a broker that is killed: what must hold all the time.

Invariants, after every answer that anybody gets:
- a partition has one owner in a generation;
- an offset that was acknowledged is never lost, and never overwritten by a member of an older generation;
and when everything is left alone at the end, all members are in one generation and share all partitions.

`MOLDAU_GROUP_SEEDS=2000` runs as many seeds; the name of a failing test is its seed.
"""

from __future__ import annotations

import asyncio
import os
from random import Random

import pytest

from moldau.protocol.messages.create_topics import CreatableTopic
from moldau.testing.simulation import SimulatedNetwork, simulate
from tests.sim.groups.simulated_broker import HOST, SimulatedBroker
from tests.sim.groups.simulated_member import PARTITIONS, TOPIC, History, SimulatedMember

SEEDS = int(os.environ.get("MOLDAU_GROUP_SEEDS", "50"))
FAST_SEEDS = 1
STEPS = 40
MEMBERS_MAX = 5
WEIGHTS = (5, 4, 2, 1, 2, 3)
BROKER_RESTARTS = 0.12
SETTLE_S = 40.0
SETTINGS = {"group.initial.rebalance.delay.ms": "300"}


class Chaos:
    """Everything that happens to a group, drawn from a seed."""

    def __init__(self, network: SimulatedNetwork, random: Random) -> None:
        self.network = network
        self.random = random
        self.history = History()
        self.broker = SimulatedBroker(network, random, SETTINGS)
        self.members: dict[SimulatedMember, None] = {}
        self.count = 0

    async def run(self) -> None:
        await self.broker.start()
        topics = [CreatableTopic(name=TOPIC, num_partitions=PARTITIONS, replication_factor=1)]
        await self.broker.node.topics.create(topics)
        for _ in range(3):
            self.start(None)
        for _ in range(STEPS):
            await asyncio.sleep(self.random.choice((0.01, 0.5, 3.0, 6.0)))
            await self.step()
            self.check()
        await self.settle()

    async def step(self) -> None:
        actions = [self.join, self.pause, self.crash, self.leave, self.cut_off, self.heal]
        if self.random.random() < BROKER_RESTARTS:
            await self.restart_broker()
        else:
            self.random.choices(actions, WEIGHTS)[0]()

    # -- what happens

    def join(self) -> None:
        if len(self.members) < MEMBERS_MAX:
            instance = self.random.choice((None, None, "i", "j"))
            self.start(instance)

    def start(self, instance: str | None) -> None:
        self.count += 1
        name = f"member{self.count}"
        host = self.network.host(name)

        async def live() -> None:
            member = SimulatedMember(name, self.history, self.random, instance)
            self.members[member] = None
            await member.run()
            self.members.pop(member, None)

        host.run(live())

    def one(self) -> SimulatedMember | None:
        return self.random.choice(list(self.members)) if self.members else None

    def crash(self) -> None:
        """A static member is started again by whoever watches over it, sooner or later."""
        member = self.one()
        if member is not None:
            del self.members[member]
            self.network.crash(member.name)
            if member.instance is not None:
                self.network.loop.call_later(self.random.choice((0.5, 4.0, 9.0)), self.start, member.instance)

    def pause(self) -> None:
        member = self.one()
        if member is not None and self.network.is_up(member.name):
            self.network.pause(member.name)
            self.network.loop.call_later(self.random.choice((1.0, 8.0, 12.0)), self.resume, member)

    def resume(self, member: SimulatedMember) -> None:
        if self.network.is_up(member.name):
            self.network.resume(member.name)

    def leave(self) -> None:
        member = self.one()
        if member is not None:
            member.is_leaving = True

    def cut_off(self) -> None:
        member = self.one()
        if member is not None:
            self.network.partition([member.name], [HOST])

    def heal(self) -> None:
        self.network.heal()

    async def restart_broker(self) -> None:
        self.broker.kill()
        await asyncio.sleep(self.random.choice((0.1, 3.0, 10.0)))
        await self.broker.start()

    # -- what must hold

    def check(self) -> None:
        assert self.history.violations == []
        assert self.broker.failures == []

    async def settle(self) -> None:
        self.network.heal()
        await asyncio.sleep(SETTLE_S)
        self.start(None)
        await asyncio.sleep(SETTLE_S)
        self.check()
        working = [member for member in self.members if member.positions]
        owned = sorted(partition for member in working for partition in member.positions)
        assert owned == list(range(PARTITIONS)), [(m.name, m.generation, m.positions) for m in self.members]
        assert len({member.generation for member in self.members}) == 1
        assert self.history.commits
        for member in self.members:
            member.is_leaving = True
        await asyncio.sleep(3)


@pytest.mark.parametrize(
    "seed", [pytest.param(seed, marks=[pytest.mark.slow] if seed >= FAST_SEEDS else []) for seed in range(SEEDS)]
)
def test_groups_survive_everything(seed: int) -> None:
    async def main(network: SimulatedNetwork) -> None:
        await Chaos(network, Random(seed)).run()

    simulate(main, seed)
