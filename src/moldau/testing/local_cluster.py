"""Real brokers inside a test process: on free ports, with temporary data, up in a fraction of a second.

    with LocalCluster(brokers=3) as cluster:
        producer = confluent_kafka.Producer({"bootstrap.servers": cluster.bootstrap_servers})
        cluster.kill_broker(0)

They are the brokers that `moldau serve` runs, with Kafka's protocol on real sockets, so that any client works with
them. They share an event loop in a thread of its own, and a coordination store; what goes wrong there is raised where
it was asked for.
"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

import uvloop

from moldau.base.clock import SystemClock
from moldau.base.config.broker_config import load_broker_config
from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError
from moldau.broker.node import Node
from moldau.cluster.embedded import EmbeddedStore
from moldau.cluster.persistence import MemoryPersistence
from moldau.cluster.shared_store import SharedStores
from moldau.net.channel import Channel
from moldau.protocol.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from moldau.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from moldau.protocol.schema import Message

Result = TypeVar("Result")

START_S_MAX = 30.0
STOP_S_MAX = 30.0
TOPIC_TIMEOUT_MS = 10_000
CONTROLLER_S_MAX = 10.0
# A test does not wait for members that may come yet, nor long for a leader that nobody can be, and needs no room for
# millions of offsets.
DEFAULTS = {
    "num.partitions": "1",
    "group.initial.rebalance.delay.ms": "0",
    "log.index.size.max.bytes": "1048576",
    "controlled.shutdown.retry.backoff.ms": "100",
}


class LocalCluster:
    """A cluster of brokers 0, 1, …; `config` are settings of all by Kafka's names, `broker_config` those of some.

    With `data` the directory is used and kept, else it is a temporary one and removed. It has the logs of one broker,
    or a directory `broker-0`, … for each of several. `restart` keeps everything.
    """

    def __init__(
        self,
        config: Mapping[str, str] | None = None,
        *,
        data: Path | None = None,
        brokers: int = 1,
        broker_config: Mapping[int, Mapping[str, str]] | None = None,
    ) -> None:
        assert brokers > 0
        self._config = dict(config or {})
        self._broker_config = dict(broker_config or {})
        self._temporary = None if data else Path(tempfile.mkdtemp(prefix="moldau-"))
        self._data = data or self._temporary
        self._coordination = MemoryPersistence()
        self._stores: SharedStores
        self._store: EmbeddedStore
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._ports = dict.fromkeys(range(brokers), 0)
        self._nodes: dict[int, Node] = {}
        self._failure: BaseException | None = None

    # -- life

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.close()  # or nobody would: `with` leaves only what it has entered
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def start(self) -> None:
        """Come up with all brokers; raises what prevents it."""
        assert self._thread is None, "it is running"
        self._loop = uvloop.new_event_loop()
        self._thread = threading.Thread(target=self._run, args=(self._loop,), name="moldau-broker", daemon=True)
        self._thread.start()
        self._stores = SharedStores(self._open_store)
        try:
            for broker_id in self._ports:
                self.start_broker(broker_id)
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Stop all brokers cleanly; the data stays, and `start` goes on with it."""
        nodes = [self._nodes.pop(broker_id) for broker_id in sorted(self._nodes, reverse=True)]
        try:
            if nodes:
                self._call(_stop_together(nodes), STOP_S_MAX)
        finally:
            self._end_thread()

    def restart(self) -> None:
        self.stop()
        self.start()

    def close(self) -> None:
        """Stop, and remove the data if it was temporary."""
        try:
            self.stop()
        finally:
            if self._temporary is not None:
                shutil.rmtree(self._temporary, ignore_errors=True)
        if self._failure is not None:
            raise RuntimeError("the broker failed while it ran") from self._failure

    def _end_thread(self) -> None:
        loop, thread = self._loop, self._thread
        self._loop = self._thread = None
        if loop is not None and thread is not None:
            loop.call_soon_threadsafe(loop.stop)
            thread.join(STOP_S_MAX)
            loop.close()

    @staticmethod
    def _run(loop: asyncio.AbstractEventLoop) -> None:
        asyncio.set_event_loop(loop)
        loop.run_forever()

    def _failed(self, _name: str, error: BaseException) -> None:
        self._failure = error

    def _call(self, work: Coroutine[Any, Any, Result], timeout_s: float) -> Result:
        assert self._loop is not None, "it is not running"
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(timeout_s)

    # -- the life of one broker

    def start_broker(self, broker_id: int) -> None:
        """Start one that was stopped or killed, on the port it had and with what it has on disk."""
        assert broker_id not in self._nodes, "it is running"
        node = self._call(self._start_node(broker_id), START_S_MAX)
        self._nodes[broker_id] = node
        self._ports[broker_id] = node.server.addresses["PLAINTEXT"][1]

    def stop_broker(self, broker_id: int) -> None:
        """Stop one cleanly: its leaderships go to others first, where there are any."""
        self._call(self._nodes.pop(broker_id).stop(), STOP_S_MAX)

    def kill_broker(self, broker_id: int) -> None:
        """End one as kill -9 does: it tells nobody, flushes and marks nothing; its session expires at once."""
        self._call(self._kill_node(self._nodes.pop(broker_id)), STOP_S_MAX)

    def expire_session(self, broker_id: int) -> None:
        """End a broker's session as if it had been paused or cut off for too long; the broker runs on."""
        session_id = self.run_in_loop(lambda node: node.session.session_id, broker_id)
        self._call(self._store.expire(session_id), STOP_S_MAX)

    async def _start_node(self, broker_id: int) -> Node:
        settings = {
            **DEFAULTS,
            "broker.id": str(broker_id),
            "log.dirs": str(self.data_of(broker_id)),
            **self._config,
            **self._broker_config.get(broker_id, {}),
        }
        if self._ports[broker_id] or "listeners" not in settings:
            settings["listeners"] = f"PLAINTEXT://127.0.0.1:{self._ports[broker_id]}"
        node = Node(load_broker_config(settings), self._stores.share, on_fatal=self._failed)
        await node.start()
        return node

    async def _open_store(self) -> EmbeddedStore:
        self._store = await EmbeddedStore.open(self._coordination, SystemClock())
        return self._store

    async def _kill_node(self, node: Node) -> None:
        await node.abandon()
        await self._store.expire(node.session.session_id)

    # -- use

    @property
    def bootstrap_servers(self) -> str:
        """For clients: `{"bootstrap.servers": …}`; of all brokers, also of those that do not run now."""
        assert self._nodes, "it is not running"
        return ",".join(f"127.0.0.1:{port}" for port in self._ports.values())

    @property
    def running(self) -> list[int]:
        """The ids of the brokers that run."""
        return sorted(self._nodes)

    @property
    def data(self) -> Path:
        """Where the logs are, or the directories of several brokers."""
        assert self._data is not None
        return self._data

    def data_of(self, broker_id: int) -> Path:
        """Where a broker's logs are."""
        return self.data if len(self._ports) == 1 else self.data / f"broker-{broker_id}"

    @property
    def controller_id(self) -> int:
        """Who is the controller now; waits for the end of an election."""
        ends_at = time.monotonic() + CONTROLLER_S_MAX
        while time.monotonic() < ends_at:
            for broker_id in self.running:
                if self.run_in_loop(lambda node: node.controller.is_active, broker_id):
                    return broker_id
            time.sleep(0.01)
        raise TimeoutError("there is no controller")

    def run_in_loop(self, function: Callable[[Node], Result], broker_id: int = 0) -> Result:
        """Call a function with a broker, in its loop: for tests that look inside."""

        async def call() -> Result:
            return function(self._nodes[broker_id])

        assert broker_id in self._nodes, "it is not running"
        return self._call(call(), STOP_S_MAX)

    def create_topic(
        self, name: str, partitions: int = 1, config: Mapping[str, str] | None = None, *, replication_factor: int = 1
    ) -> None:
        """Create a topic; it has a leader, and all brokers know it, when this returns."""
        configs = [CreatableTopicConfig(name=key, value=value) for key, value in (config or {}).items()]
        topic = CreatableTopic(
            name=name, num_partitions=partitions, replication_factor=replication_factor, configs=configs
        )
        request = CreateTopicsRequest(topics=[topic], timeout_ms=TOPIC_TIMEOUT_MS)
        self._check(self.request(request, broker_id=self.controller_id).topics[0])
        for node in self._nodes.values():
            self._call(node.topics.waits.until_led({name: range(partitions)}, TOPIC_TIMEOUT_MS), STOP_S_MAX)

    def delete_topic(self, name: str) -> None:
        request = DeleteTopicsRequest(topics=[DeleteTopicState(name=name)], timeout_ms=TOPIC_TIMEOUT_MS)
        self._check(self.request(request, broker_id=self.controller_id).responses[0])

    def request(self, request: Message, version: int | None = None, *, broker_id: int = 0) -> Any:
        """Send any request to a broker, and return its answer."""

        async def send() -> Any:
            channel = Channel("127.0.0.1", self._ports[broker_id])
            try:
                return await channel.request(request, version)
            finally:
                channel.close()

        return self._call(send(), STOP_S_MAX)

    @staticmethod
    def _check(outcome: Any) -> None:
        if outcome.error_code:
            raise ApiError(ErrorCode(outcome.error_code), outcome.error_message or "")


async def _stop_together(nodes: Sequence[Node]) -> None:
    """Nobody is left to take over: no controller has to look for new leaders, and no follower to miss its leader."""
    for node in nodes:
        node.fetchers.close()
        await node.controller.stop()
    for node in nodes:
        await node.stop(hand_over=False)
