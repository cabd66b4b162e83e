"""A whole broker in the simulation: its own host, a disk in memory, killed and started again at will."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from random import Random

from moldau.base.clock import LoopClock
from moldau.base.config.broker_config import load_broker_config
from moldau.broker.node import Node
from moldau.cluster.embedded import EmbeddedStore
from moldau.cluster.persistence import MemoryPersistence
from moldau.testing.disk import SimulatedDisk
from moldau.testing.simulation import SimulatedNetwork

HOST, PORT = "broker", 9092
DATA = Path("/data")
SETTINGS = {
    "broker.id": "0",
    "listeners": f"PLAINTEXT://{HOST}:{PORT}",
    "log.dirs": str(DATA),
    "log.index.size.max.bytes": "4096",
    "offsets.topic.num.partitions": "1",
}


class SimulatedBroker:
    """What it has written outlives the process, since the operating system goes on: `kill` is no loss of power."""

    node: Node

    def __init__(self, network: SimulatedNetwork, random: Random, settings: dict[str, str]) -> None:
        self._network = network
        self._random = random
        self._clock = LoopClock(network.loop)
        self._disk = SimulatedDisk(self._clock)
        self._disk.make_directory(DATA)
        self._coordination = MemoryPersistence()
        self._config = load_broker_config({**SETTINGS, **settings})
        self.failures: list[str] = []

    async def start(self) -> None:
        host = self._network.host(HOST)
        self.node = await host.run(self._come_up())

    async def _come_up(self) -> Node:
        node = Node(
            self._config,
            partial(EmbeddedStore.open, self._coordination, self._clock),
            on_fatal=lambda name, error: self.failures.append(f"{name}: {error!r}"),
            clock=self._clock,
            random=Random(self._random.getrandbits(64)),
            files=self._disk,
        )
        await node.start()
        return node

    def kill(self) -> None:
        self._network.crash(HOST)
        self._disk.kill()
