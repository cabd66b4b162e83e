"""A consumer's membership in an old group: it registers, watches who else does, and takes and gives up partitions.

There is no coordinator. Whoever sees the group or a topic change gives up what it owns, computes everybody's share anew
and claims its own; a partition that another has not given up yet makes it give up again, wait and start over.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping

from moldau.base.clock import Clock
from moldau.base.errors import MoldauError
from moldau.clients.records import TopicPartition
from moldau.clients.zookeeper_consumer.sharing import own_share, thread_ids
from moldau.clients.zookeeper_consumer.znodes import (
    consumer_path,
    decode_offset,
    decode_registration,
    encode_registration,
    ids_path,
    offset_path,
    owner_path,
)
from moldau.cluster.bootstrap import create_path
from moldau.cluster.errors import NodeExists, NoNode
from moldau.cluster.paths import parent_of
from moldau.cluster.store import CoordinationSession, CreateMode, WatchEvent
from moldau.cluster.znodes.layout import topic_path
from moldau.cluster.znodes.topics import TopicAssignment

logger = logging.getLogger(__name__)

Owned = Mapping[TopicPartition, int]
"""Partitions, and the number of the thread that reads each."""

GiveUp = Callable[[], Awaitable[Mapping[TopicPartition, int]]]
"""Stops all reading; how far each partition was handed out."""

TakeUp = Callable[[Owned, Mapping[TopicPartition, int | None]], Awaitable[None]]
"""Starts to read partitions at their offsets, or where the policy says if there is none."""


class RebalanceFailed(MoldauError):
    """Others did not give up their partitions in time; the text says which."""


class OldGroup:
    """To be used in one event loop. `run` goes on until it is cancelled or the session ends."""

    def __init__(
        self,
        session: CoordinationSession,
        group: str,
        consumer: str,
        threads: Mapping[str, int],
        clock: Clock,
        *,
        retries_max: int,
        backoff_ms: int,
        give_up: GiveUp,
        take_up: TakeUp,
    ) -> None:
        self._session = session
        self._group = group
        self._consumer = consumer
        self._threads = dict(threads)
        self._clock = clock
        self._retries_max = retries_max
        self._backoff_ms = backoff_ms
        self._give_up = give_up
        self._take_up = take_up
        self._owned: dict[TopicPartition, int] = {}
        self._changed = asyncio.Event()
        self._written: dict[TopicPartition, int] = {}

    async def run(self) -> None:
        registration = encode_registration(self._threads, self._clock.now_ms())
        await create_path(self._session, ids_path(self._group))
        await self._session.create(consumer_path(self._group, self._consumer), registration, CreateMode.EPHEMERAL)
        self._changed.set()
        while True:
            await self._changed.wait()
            await self._rebalance()

    async def leave(self) -> None:
        """Give everything up; the registration goes with the session."""
        await self._release()

    async def commit(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Write how far partitions were read, if that has changed."""
        for partition, offset in offsets.items():
            if self._written.get(partition) != offset:
                path = offset_path(self._group, *partition)
                data = str(offset).encode()
                if not await create_path(self._session, path, data):
                    await self._session.set(path, data)
                self._written[partition] = offset

    # -- rebalancing

    async def _rebalance(self) -> None:
        taken: TopicPartition | None = None
        for _ in range(self._retries_max + 1):
            self._changed.clear()
            await self._release()
            wanted = await self._share()
            taken = await self._claim(wanted)
            if taken is None:
                offsets = {each: await self._offset(each) for each in wanted}
                await self._take_up(wanted, offsets)
                logger.info("%s of group %s reads %s", self._consumer, self._group, sorted(wanted))
                return
            await self._release()
            await asyncio.sleep(self._backoff_ms / 1000)
        raise RebalanceFailed(
            f"{self._consumer} can't rebalance after {self._retries_max} retries: {taken} of group {self._group} has "
            "another owner still; raise rebalance.max.retries or rebalance.backoff.ms"
        )

    async def _release(self) -> None:
        owned, self._owned = self._owned, {}
        await self.commit(await self._give_up())
        self._written.clear()  # others write from here on
        for partition in owned:
            try:
                await self._session.delete(owner_path(self._group, *partition))
            except NoNode:
                logger.warning("%s was not marked as owned by %s any more", partition, self._consumer)

    async def _share(self) -> dict[TopicPartition, int]:
        registrations = {}
        for name in await self._session.children(ids_path(self._group), self._notice):
            path = consumer_path(self._group, name)
            try:
                registrations[name] = decode_registration(path, (await self._session.get(path)).data)
            except NoNode:
                continue  # it has gone meanwhile, which is another change
        share: dict[TopicPartition, int] = {}
        for topic in self._threads:
            own = own_share(topic, await self._partitions(topic), registrations, self._consumer)
            share |= {TopicPartition(topic, partition): thread for partition, thread in own.items()}
        return share

    async def _partitions(self, topic: str) -> list[int]:
        try:
            znode = await self._session.get(topic_path(topic), self._notice)
        except NoNode:
            await self._session.exists(topic_path(topic), self._notice)
            return []
        return list(TopicAssignment.decode(topic, znode.data).partitions)

    async def _claim(self, wanted: Owned) -> TopicPartition | None:
        """Take partitions; the first that somebody else has still, or None if all are taken."""
        for partition, thread in wanted.items():
            path = owner_path(self._group, *partition)
            name = thread_ids(self._consumer, thread + 1)[thread].encode()
            await create_path(self._session, parent_of(path))
            try:
                await self._session.create(path, name, CreateMode.EPHEMERAL)
            except NodeExists:
                return partition
            self._owned[partition] = thread
        return None

    async def _offset(self, partition: TopicPartition) -> int | None:
        try:
            return decode_offset((await self._session.get(offset_path(self._group, *partition))).data)
        except NoNode:
            return None

    def _notice(self, _event: WatchEvent) -> None:
        self._changed.set()
