"""Producers that crash, pause and are cut off at any step of their transactions, and a broker that is killed.

Invariants, whenever somebody reads what is committed:
- no record of a transaction that was aborted is seen, and none twice;
- what has been seen stays where it is;
and when everything is left alone at the end:
- every transaction is seen as a whole or not at all, also if nobody ever knew how it ended, and as a whole if its
  producer was told that it is committed;
- its offsets count if and only if its records do;
- nothing holds the readers of committed records back.

`MOLDAU_TRANSACTION_SEEDS=2000` runs as many seeds; the name of a failing test is its seed.
"""

from __future__ import annotations

import asyncio
import os
from random import Random

import pytest

from moldau.protocol.messages.create_topics import CreatableTopic
from moldau.testing.simulation import SimulatedNetwork, simulate
from tests.sim.groups.simulated_broker import HOST, SimulatedBroker
from tests.sim.transactions.committed_reader import CommittedReader
from tests.sim.transactions.simulated_producer import PARTITIONS, TOPIC, Attempt, History, SimulatedProducer

SEEDS = int(os.environ.get("MOLDAU_TRANSACTION_SEEDS", "50"))
FAST_SEEDS = 1
STEPS = 30
PRODUCERS_MAX = 5
TRANSACTIONAL_IDS = ("a", "b", "c")
BROKER_RESTARTS = 0.15
SETTLE_S = 30.0
SETTINGS = {
    "transaction.state.log.num.partitions": "2",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000",
}


class Chaos:
    """Everything that happens to transactions, drawn from a seed."""

    def __init__(self, network: SimulatedNetwork, random: Random) -> None:
        self.network = network
        self.random = random
        self.history = History()
        self.broker = SimulatedBroker(network, random, SETTINGS)
        self.producers: dict[SimulatedProducer, None] = {}
        self.count = 0

    async def run(self) -> None:
        await self.broker.start()
        topics = [CreatableTopic(name=TOPIC, num_partitions=PARTITIONS, replication_factor=1)]
        await self.broker.node.topics.create(topics)
        self.reader = CommittedReader()
        for transactional_id in TRANSACTIONAL_IDS:
            self.start(transactional_id)
        for _ in range(STEPS):
            await asyncio.sleep(self.random.choice((0.003, 0.05, 0.5, 2.0)))
            await self.step()
            await self.reader.read()
            self.check()
        await self.settle()

    async def step(self) -> None:
        if self.random.random() < BROKER_RESTARTS:
            await self.restart_broker()
        else:
            actions = [self.begin, self.crash, self.pause, self.cut_off, self.network.heal]
            self.random.choices(actions, (5, 3, 2, 1, 2))[0]()

    # -- what happens

    def begin(self) -> None:
        """Another producer of an id that perhaps has one: the older one becomes a zombie."""
        if len(self.producers) < PRODUCERS_MAX:
            self.start(self.random.choice(TRANSACTIONAL_IDS))

    def start(self, transactional_id: str) -> None:
        self.count += 1
        name = f"producer{self.count}"

        async def live() -> None:
            producer = SimulatedProducer(name, transactional_id, self.history, self.random)
            self.producers[producer] = None
            await producer.run()
            self.producers.pop(producer, None)

        self.network.host(name).run(live())

    def one(self) -> SimulatedProducer | None:
        return self.random.choice(list(self.producers)) if self.producers else None

    def crash(self) -> None:
        producer = self.one()
        if producer is not None:
            del self.producers[producer]
            self.network.crash(producer.name)

    def pause(self) -> None:
        """Long enough, sometimes, for the transaction to time out."""
        producer = self.one()
        if producer is not None and self.network.is_up(producer.name):
            self.network.pause(producer.name)
            self.network.loop.call_later(self.random.choice((0.2, 2.0, 12.0)), self.resume, producer)

    def resume(self, producer: SimulatedProducer) -> None:
        if self.network.is_up(producer.name):
            self.network.resume(producer.name)

    def cut_off(self) -> None:
        producer = self.one()
        if producer is not None:
            self.network.partition([producer.name], [HOST])

    async def restart_broker(self) -> None:
        if self.random.random() < 0.5:
            await self.until_something_is_decided()
        self.broker.kill()
        await asyncio.sleep(self.random.choice((0.05, 1.0, 5.0)))
        await self.broker.start()

    async def until_something_is_decided(self) -> None:
        """The moment that matters most: there is a decision in the log, and markers are missing."""
        for _ in range(500):
            if any(shard.prepared for shard in self.broker.node.transactions.runtime.active.values()):
                return
            await asyncio.sleep(0.001)

    # -- what must hold

    def attempt(self, value: str) -> Attempt:
        return self.history.attempts[value.split("/")[0]]

    def check(self) -> None:
        assert self.history.violations == []
        assert self.broker.failures == []
        for values in self.reader.seen:
            assert len(set(values)) == len(values), "a record is seen twice"
            assert [value for value in values if self.attempt(value).outcome == "aborted"] == []

    async def settle(self) -> None:
        self.network.heal()
        await asyncio.sleep(SETTLE_S)
        for producer in self.producers:
            producer.is_leaving = True
        await asyncio.sleep(SETTLE_S)
        assert not self.producers, [producer.name for producer in self.producers]
        await self.reader.read()
        self.check()
        assert self.reader.is_at_end, "a transaction that nobody ends holds the readers back"
        committed = {self.attempt(value).name for values in self.reader.seen for value in values}
        for attempt in self.history.attempts.values():
            for partition, value in attempt.written:
                assert (value in self.reader.seen[partition]) == (attempt.name in committed), attempt
            if attempt.outcome == "committed":
                assert attempt.name in committed, attempt
        await self.check_offsets(committed)
        assert committed
        self.reader.close()

    async def check_offsets(self, committed: set[str]) -> None:
        """Of each id, the offset of the last transaction that is committed and has one."""
        for transactional_id in TRANSACTIONAL_IDS:
            own = [each for each in self.history.attempts.values() if each.transactional_id == transactional_id]
            numbers = [each.number for each in own if each.has_offset and each.name in committed]
            assert await self.reader.offset_of(transactional_id) == max(numbers, default=-1), transactional_id


@pytest.mark.parametrize(
    "seed", [pytest.param(seed, marks=[pytest.mark.slow] if seed >= FAST_SEEDS else []) for seed in range(SEEDS)]
)
def test_transactions_are_all_or_nothing(seed: int) -> None:
    async def main(network: SimulatedNetwork) -> None:
        await Chaos(network, Random(seed)).run()

    simulate(main, seed)
