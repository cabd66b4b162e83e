"""Whole brokers in the simulation: each on a host of its own, with disks in memory, all on one coordination store.

A broker's host may be killed (what it wrote is kept), lose its power (what it did not sync is lost or torn), be paused,
cut off from others or from the store. Its session expires when the store has not heard of it for the session's timeout,
as a real store does it: the store's side of that is played here.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random

from moldau.base.clock import LoopClock
from moldau.base.config.broker_config import load_broker_config
from moldau.broker.node import Node
from moldau.cluster.embedded import EmbeddedStore
from moldau.cluster.persistence import MemoryPersistence
from moldau.cluster.session import EmbeddedSession
from moldau.testing.disk import SimulatedDisk
from moldau.testing.disk_faults import FaultyFiles
from moldau.testing.simulation import SimulatedNetwork
from moldau.testing.simulation.host import Host, current_host

logger = logging.getLogger(__name__)

PORT = 9092
DIRECTORIES = (Path("/a"), Path("/b"))
SESSION_MS = 6_000
HEARTBEAT_S = 0.5
STOP_S_MAX = 60.0
SETTINGS = {
    "log.dirs": ",".join(map(str, DIRECTORIES)),
    "log.index.size.max.bytes": "4096",
    "zookeeper.session.timeout.ms": str(SESSION_MS),
    "min.insync.replicas": "2",
    "default.replication.factor": "3",
    "offsets.topic.num.partitions": "1",
    "offsets.topic.replication.factor": "3",
    "transaction.state.log.num.partitions": "1",
    "transaction.state.log.replication.factor": "3",
    "transaction.state.log.min.isr": "2",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000",
    "group.initial.rebalance.delay.ms": "0",
    "replica.lag.time.max.ms": "4000",
    "replica.socket.timeout.ms": "3000",
    "controlled.shutdown.retry.backoff.ms": "200",
    "request.timeout.ms": "3000",
    "log.flush.scheduler.interval.ms": "1000",
    "log.flush.interval.ms": "3000",
    "log.retention.ms": "-1",
    "log.roll.ms": "9000000000000",
    "leader.imbalance.check.interval.seconds": "15",
}


DEFECT_LOGGERS = ("moldau.broker.dispatcher", "moldau.base.supervision")


class Defects(logging.Handler):
    """Hears of handlers and tasks that failed with what nobody expected, on hosts that live."""

    def __init__(self, failures: list[str]) -> None:
        super().__init__(logging.ERROR)
        self._failures = failures

    def emit(self, record: logging.LogRecord) -> None:
        host = current_host.get(None)
        if host is not None and host.alive:
            self._failures.append(f"{host}: {record.getMessage()}: {record.exc_info and record.exc_info[1]!r}")

    def __enter__(self) -> None:
        for name in DEFECT_LOGGERS:
            logging.getLogger(name).addHandler(self)

    def __exit__(self, *_failure: object) -> None:
        for name in DEFECT_LOGGERS:
            logging.getLogger(name).removeHandler(self)


def host_of(broker_id: int) -> str:
    return f"broker{broker_id}"


class SetClock(LoopClock):
    """A broker's own idea of the wall time, which somebody may set."""

    offset_ms = 0

    def now_ms(self) -> int:
        return super().now_ms() + self.offset_ms


class BrokerStore:
    """A broker's way to the store; it remembers on which host its sessions are."""

    def __init__(self, cluster: SimulatedCluster, broker: SimulatedBroker) -> None:
        self._cluster = cluster
        self._broker = broker
        self._sessions: list[EmbeddedSession] = []

    async def open_session(self, timeout_ms: int) -> EmbeddedSession:
        session = await self._cluster.store.open_session(timeout_ms)
        self._sessions.append(session)
        self._cluster.watch(session, current_host.get(), self._broker)
        return session

    async def close(self) -> None:
        for session in self._sessions:
            await session.close()


class SimulatedBroker:
    """`node` is the last one that was made, also when it is dead: a log that was killed can still be looked at."""

    def __init__(self, broker_id: int, cluster: SimulatedCluster, settings: dict[str, str]) -> None:
        self.broker_id = broker_id
        self.host_name = host_of(broker_id)
        self.node: Node | None = None
        self.is_up = False
        self.is_starting = False
        self.is_cut_from_store = False
        self.has_lost_power = False
        self.clock = SetClock(cluster.network.loop)
        self.disk = SimulatedDisk(self.clock)
        for directory in DIRECTORIES:
            self.disk.make_directory(directory)
        self.disk.sync_directory(Path("/"))
        self.files = FaultyFiles(self.disk)
        self._cluster = cluster
        self._config = load_broker_config(
            {
                **SETTINGS,
                "broker.id": str(broker_id),
                "listeners": f"PLAINTEXT://{self.host_name}:{PORT}",
                **settings,
            }
        )

    async def start(self) -> None:
        """Come up, unless it is struck down meanwhile; nobody waits for that."""
        if self.is_up or self.is_starting:
            return
        self.is_starting = True
        host = self._cluster.network.host(self.host_name)
        host.run(self._come_up(host))

    async def _come_up(self, host: Host) -> None:
        cluster = self._cluster
        node = Node(
            self._config,
            self._open_store,
            on_fatal=partial(self._failed, host),
            clock=self.clock,
            random=Random(cluster.random.getrandbits(64)),
            files=self.files,
        )
        self.node = node
        self.has_lost_power = False
        try:
            await node.start()
        except Exception as error:
            cluster.note(f"{self.host_name} does not come up: {error!r}")
            cluster.network.loop.call_soon(self.kill, context=cluster.context)
        else:
            cluster.note(f"{self.host_name} is up")
            self.is_up = True
        finally:
            self.is_starting = False

    async def _open_store(self) -> BrokerStore:
        return BrokerStore(self._cluster, self)

    def _failed(self, host: Host, name: str, error: BaseException) -> None:
        """As `moldau serve` does, it ends when it cannot go on; only broken disks are a reason."""
        cluster = self._cluster
        cluster.note(f"{self.host_name} ends: {name}: {error!r}")
        if not isinstance(error, OSError):
            cluster.failures.append(f"{self.host_name}: {name}: {error!r}")
        if host.alive:
            cluster.network.loop.call_soon(self.kill, context=cluster.context)

    def kill(self) -> None:
        if self._end(self._cluster.network.kill):
            self.disk.kill()

    def lose_power(self) -> None:
        if self._end(self._cluster.network.crash):
            self.has_lost_power = True
            self.disk.crash(self._cluster.random)

    def _end(self, strike: Callable[[str], None]) -> bool:
        if not self._cluster.network.is_up(self.host_name):
            return False
        strike(self.host_name)
        self.is_up = self.is_starting = False
        self.files.heal()
        return True

    async def stop(self) -> None:
        """In good order, if it is not struck down meanwhile."""
        assert self.node is not None
        self.is_up = False
        stopping = self._cluster.network.host(self.host_name).run(self.node.stop())
        await asyncio.wait([stopping], timeout=STOP_S_MAX)
        if stopping.done():
            stopping.result()
        self.kill()

    def cut_from_store(self) -> None:
        self._cluster.note(f"{self.host_name} cannot reach the store")
        self.is_cut_from_store = True
        for session in self._cluster.sessions_of(self):
            session.suspend()

    def reach_store(self) -> None:
        self._cluster.note(f"{self.host_name} reaches the store")
        self.is_cut_from_store = False
        for session in self._cluster.sessions_of(self):
            session.resume()


class SimulatedCluster:
    store: EmbeddedStore

    def __init__(
        self,
        network: SimulatedNetwork,
        random: Random,
        persistence: MemoryPersistence,
        brokers: int,
        settings: dict[str, str] | None = None,
    ) -> None:
        self.network = network
        self.random = random
        self.persistence = persistence
        self.failures: list[str] = []
        self.clock = LoopClock(network.loop)
        self.brokers = {broker_id: SimulatedBroker(broker_id, self, settings or {}) for broker_id in range(brokers)}
        for broker in self.brokers.values():
            network.host(broker.host_name)
        self._sessions: dict[EmbeddedSession, tuple[Host, SimulatedBroker, float]] = {}
        self.context = network.kernel

    def note(self, event: str) -> None:
        self.network.trace.add(self.network.loop.time(), event)
        logger.info("%s", event)

    async def start(self) -> None:
        self.store = await EmbeddedStore.open(self.persistence, self.clock)
        self._watching = asyncio.get_running_loop().create_task(self._expire_sessions())
        for broker in self.brokers.values():
            await broker.start()
        await self.until_up()

    async def until_up(self) -> None:
        while not all(broker.is_up for broker in self.brokers.values()):
            for broker in self.brokers.values():
                if not (broker.is_up or broker.is_starting):
                    await broker.start()
            await asyncio.sleep(0.1)

    # -- the store's side of sessions

    def watch(self, session: EmbeddedSession, host: Host, broker: SimulatedBroker) -> None:
        self._sessions[session] = host, broker, self.network.loop.time()
        if broker.is_cut_from_store:
            session.suspend()

    def sessions_of(self, broker: SimulatedBroker) -> list[EmbeddedSession]:
        """Of the broker's present life."""
        host = self.network.host(broker.host_name)
        return [session for session, (its_host, _, _) in self._sessions.items() if its_host is host]

    async def _expire_sessions(self) -> None:
        while True:
            await asyncio.sleep(HEARTBEAT_S)
            now = self.network.loop.time()
            for session, (host, broker, heard_at) in list(self._sessions.items()):
                if session.ending:
                    if not broker.is_cut_from_store or not host.alive:
                        del self._sessions[session]
                elif host.runs and not broker.is_cut_from_store:
                    self._sessions[session] = host, broker, now
                elif now - heard_at > session.timeout_ms / 1000:
                    self.note(f"the session of {host} expires")
                    await self.store.expire(session.session_id)
