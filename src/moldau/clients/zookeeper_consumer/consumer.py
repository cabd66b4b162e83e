"""The old consumer: its group in ZooKeeper, its records by fetches of the newer consumer without a group."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import time
import uuid
from collections.abc import Mapping
from types import TracebackType
from typing import Final, Self

from moldau.base.clock import SystemClock
from moldau.base.errors import ConfigError, MoldauError
from moldau.base.supervision import Supervisor
from moldau.clients.background import BackgroundLoop
from moldau.clients.consumer import consumer as aio
from moldau.clients.errors import IllegalState
from moldau.clients.records import TopicPartition
from moldau.clients.zookeeper_consumer.group import OldGroup, Owned
from moldau.clients.zookeeper_consumer.settings import OldSettings, read_settings
from moldau.clients.zookeeper_consumer.streams import Stream
from moldau.cluster.store import CoordinationSession
from moldau.cluster.znodes.brokers import BrokerRegistration
from moldau.cluster.znodes.layout import BROKER_IDS, broker_path
from moldau.cluster.zookeeper.ensemble import Ensemble
from moldau.cluster.zookeeper.options import ZooKeeperOptions
from moldau.cluster.zookeeper.store import ZooKeeperStore

logger = logging.getLogger(__name__)

POLL_S: Final = 0.1
CLOSE_S: Final = 30.0
STOP_MS: Final = 5_000


class ZookeeperConsumer:
    """`create_streams` is called once; each stream is for one thread."""

    def __init__(self, settings: Mapping[str, object]) -> None:
        self._settings: OldSettings = read_settings(settings)
        ensemble = Ensemble.parse(self._settings.zookeeper_connect)
        options = ZooKeeperOptions(connection_timeout_ms=self._settings.zookeeper_connection_timeout_ms)
        self._store = ZooKeeperStore(ensemble, options)
        self.consumer_id = f"{self._settings.group_id}_{self._settings.consumer_id or _new_consumer_id()}"
        self._background = BackgroundLoop("moldau-zookeeper-consumer")
        self._streams: dict[str, list[Stream]] = {}
        self._supervisor = Supervisor(self._fail)
        self._settled = asyncio.Event()  # it has its first share, which may be nothing, or has failed
        self._failure: BaseException | None = None
        self._reading: dict[TopicPartition, Stream] = {}
        self._records: aio.Consumer | None = None
        self._group: OldGroup | None = None

    def create_streams(self, threads: Mapping[str, int]) -> list[Stream]:
        """Join the group with so many threads for each topic; a stream for each of them, topic by topic."""
        if self._streams:
            raise IllegalState("create_streams is called once for a consumer; make another consumer")
        if not threads or any(count < 1 for count in threads.values()):
            raise ConfigError(f"streams are asked for with a number of threads for each topic, not {dict(threads)}")
        settings = self._settings
        self._streams = {
            topic: [
                Stream(topic, settings.queued_max_messages, settings.consumer_timeout_ms, lambda: self._failure)
                for _ in range(count)
            ]
            for topic, count in threads.items()
        }
        self._background.run(self._join(threads))
        return [stream for streams in self._streams.values() for stream in streams]

    def commit_offsets(self) -> None:
        """Write how far the streams have handed out records."""
        self._background.run(self._commit())

    def close(self) -> None:
        """Commit if that is done automatically, leave the group, and end the streams."""
        if self._background.unusable is not None:
            return
        try:
            self._background.run(self._leave(), CLOSE_S)
        finally:
            for stream in self._all_streams():
                stream.close()
            self._background.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # -- in the loop

    async def _join(self, threads: Mapping[str, int]) -> None:
        settings = self._settings
        session = await self._store.open_session(settings.zookeeper_session_timeout_ms)
        self._records = aio.Consumer(
            {
                "bootstrap.servers": await _bootstrap_servers(session, settings.zookeeper_connect),
                "client.id": settings.client_id or settings.group_id,
                "auto.offset.reset": settings.reset_policy,
                "enable.auto.commit": False,
                "max.partition.fetch.bytes": settings.fetch_message_max_bytes,
                "fetch.min.bytes": settings.fetch_min_bytes,
                "fetch.max.wait.ms": settings.fetch_wait_max_ms,
            }
        )
        self._group = OldGroup(
            session,
            settings.group_id,
            self.consumer_id,
            threads,
            SystemClock(),
            retries_max=settings.rebalance_max_retries,
            backoff_ms=settings.rebalance_backoff_ms,
            give_up=self._give_up,
            take_up=self._take_up,
        )
        self._supervisor.start("group", self._group.run)
        self._supervisor.start("fetches", self._read)
        if settings.auto_commit_enable:
            self._supervisor.every(settings.auto_commit_interval_ms, "commits", self._commit)
        await self._settled.wait()
        if self._failure is not None:
            raise self._failure

    def _fail(self, _name: str, error: BaseException) -> None:
        self._failure = self._failure or error
        self._settled.set()

    async def _leave(self) -> None:
        await self._supervisor.stop(STOP_MS)
        with contextlib.suppress(MoldauError):  # what failed was told; what is left ends with the session
            if self._group is not None:
                await self._group.leave()
        if self._records is not None:
            await self._records.close()
        await self._store.close()

    async def _give_up(self) -> dict[TopicPartition, int]:
        assert self._records is not None
        self._reading = {}
        self._records.assign([])
        return {each: offset for stream in self._all_streams() for each, offset in stream.stop().items()}

    async def _take_up(self, owned: Owned, offsets: Mapping[TopicPartition, int | None]) -> None:
        assert self._records is not None
        reading = {each: self._streams[each.topic][thread] for each, thread in owned.items()}
        for stream in self._all_streams():
            stream.start(each for each, reader in reading.items() if reader is stream)
        self._records.assign(owned)
        for partition, offset in offsets.items():
            if offset is not None:
                self._records.seek(partition, offset)
        self._reading = reading
        self._settled.set()

    async def _read(self) -> None:
        """Fetch for all streams; who has enough that nobody takes is left out meanwhile."""
        assert self._records is not None
        while True:
            if not self._reading:
                await asyncio.sleep(POLL_S)
                continue
            full = {each for each, stream in self._reading.items() if stream.is_full}
            paused = self._records.paused()
            self._records.pause(full - paused)
            self._records.resume(paused - full)
            for record in await self._records.poll(POLL_S):
                stream = self._reading.get(TopicPartition(record.topic, record.partition))
                if stream is not None:
                    stream.put(record)

    async def _commit(self) -> None:
        if self._group is not None:
            await self._group.commit({each: at for one in self._all_streams() for each, at in one.offsets().items()})

    def _all_streams(self) -> list[Stream]:
        return [stream for streams in self._streams.values() for stream in streams]


def _new_consumer_id() -> str:
    return f"{socket.gethostname()}-{time.time_ns() // 1_000_000}-{uuid.uuid4().hex[:8]}"


async def _bootstrap_servers(session: CoordinationSession, connect: str) -> str:
    servers = []
    for name in await session.children(BROKER_IDS):
        registration = BrokerRegistration.decode(int(name), (await session.get(broker_path(int(name)))).data)
        servers += [
            f"{each.host}:{each.port}" for each in registration.endpoints if each.security_protocol == "PLAINTEXT"
        ]
    if not servers:
        raise ConfigError(f"no broker with a PLAINTEXT listener is registered in the ZooKeeper at {connect}")
    return ",".join(servers)
