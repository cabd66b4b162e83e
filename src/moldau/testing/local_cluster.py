"""A real broker inside a test process: on free ports, with temporary data, up in a fraction of a second.

    with LocalCluster() as cluster:
        producer = confluent_kafka.Producer({"bootstrap.servers": cluster.bootstrap_servers})

It is the broker that `moldau serve` runs, with Kafka's protocol on a real socket, so that any client works with it. It
has an event loop in a thread of its own; what goes wrong there is raised where it was asked for.
"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
import threading
from collections.abc import Callable, Coroutine, Mapping
from functools import partial
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
from moldau.net.channel import Channel
from moldau.protocol.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from moldau.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from moldau.protocol.schema import Message

Result = TypeVar("Result")

START_S_MAX = 30.0
STOP_S_MAX = 30.0
TOPIC_TIMEOUT_MS = 10_000
# A test does not wait for members that may come yet, and needs no room for millions of offsets.
DEFAULTS = {
    "broker.id": "0",
    "listeners": "PLAINTEXT://127.0.0.1:0",
    "num.partitions": "1",
    "group.initial.rebalance.delay.ms": "0",
    "log.index.size.max.bytes": "1048576",
}


class LocalCluster:
    """A cluster of one broker; `config` are broker settings by Kafka's names.

    With `data` the directory is used and kept, else it is a temporary one and removed. `restart` keeps everything.
    """

    def __init__(self, config: Mapping[str, str] | None = None, *, data: Path | None = None) -> None:
        self._config = dict(config or {})
        self._temporary = None if data else Path(tempfile.mkdtemp(prefix="moldau-"))
        self._data = data or self._temporary
        self._coordination = MemoryPersistence()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._node: Node | None = None
        self._failure: BaseException | None = None
        self._port = 0

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
        """Come up; raises what prevents it."""
        assert self._thread is None, "it is running"
        self._loop = uvloop.new_event_loop()
        self._thread = threading.Thread(target=self._run, args=(self._loop,), name="moldau-broker", daemon=True)
        self._thread.start()
        try:
            self._node = self._call(self._start_node(), START_S_MAX)
        except BaseException:
            self._end_thread()
            raise
        self._port = self._node.server.addresses["PLAINTEXT"][1]

    def stop(self) -> None:
        """Stop cleanly; the data stays, and `start` goes on with it on the same port."""
        if self._node is not None:
            node, self._node = self._node, None
            self._call(node.stop(), STOP_S_MAX)
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

    async def _start_node(self) -> Node:
        settings = {**DEFAULTS, "log.dirs": str(self._data), **self._config}
        if self._port:
            settings["listeners"] = f"PLAINTEXT://127.0.0.1:{self._port}"
        open_store = partial(EmbeddedStore.open, self._coordination, SystemClock())
        node = Node(load_broker_config(settings), open_store, on_fatal=self._failed)
        await node.start()
        return node

    def _failed(self, _name: str, error: BaseException) -> None:
        self._failure = error

    def _call(self, work: Coroutine[Any, Any, Result], timeout_s: float) -> Result:
        assert self._loop is not None, "it is not running"
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(timeout_s)

    # -- use

    @property
    def bootstrap_servers(self) -> str:
        """For clients: `{"bootstrap.servers": …}`."""
        assert self._node is not None, "it is not running"
        return f"127.0.0.1:{self._port}"

    @property
    def data(self) -> Path:
        """Where the logs are."""
        assert self._data is not None
        return self._data

    def run_in_loop(self, function: Callable[[Node], Result]) -> Result:
        """Call a function with the broker, in its loop: for tests that look inside."""

        async def call() -> Result:
            assert self._node is not None, "it is not running"
            return function(self._node)

        return self._call(call(), STOP_S_MAX)

    def create_topic(
        self, name: str, partitions: int = 1, config: Mapping[str, str] | None = None, *, replication_factor: int = 1
    ) -> None:
        """Create a topic; it has a leader when this returns."""
        configs = [CreatableTopicConfig(name=key, value=value) for key, value in (config or {}).items()]
        topic = CreatableTopic(
            name=name, num_partitions=partitions, replication_factor=replication_factor, configs=configs
        )
        answer = self.request(CreateTopicsRequest(topics=[topic], timeout_ms=TOPIC_TIMEOUT_MS))
        self._check(answer.topics[0])

    def delete_topic(self, name: str) -> None:
        request = DeleteTopicsRequest(topics=[DeleteTopicState(name=name)], timeout_ms=TOPIC_TIMEOUT_MS)
        self._check(self.request(request).responses[0])

    def request(self, request: Message, version: int | None = None) -> Any:
        """Send any request to the broker, and return its answer."""

        async def send() -> Any:
            channel = Channel("127.0.0.1", self._port)
            try:
                return await channel.request(request, version)
            finally:
                channel.close()

        return self._call(send(), STOP_S_MAX)

    @staticmethod
    def _check(outcome: Any) -> None:
        if outcome.error_code:
            raise ApiError(ErrorCode(outcome.error_code), outcome.error_message or "")
