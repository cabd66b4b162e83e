"""Waiting until the metadata says something of topics: that all partitions have leaders, that a topic is gone.

Whoever changes a topic writes to the coordination store; the controller acts, and tells all brokers. Only then is the
change true for clients, so the answer to CreateTopics, CreatePartitions and DeleteTopics waits here for it, and never
longer than the client is willing to.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from moldau.cluster.metadata_cache import NO_LEADER, MetadataCache

KNOWN_WITHIN_MS: Final = 5_000

Condition = Callable[[str], bool]


@dataclass(eq=False, slots=True)
class _Wait:
    pending: set[str]
    is_met: Condition
    over: asyncio.Future[None]


class MetadataWaits:
    """All waits on one cache; a change costs as much as there are waits for the topics that changed."""

    def __init__(self, metadata: MetadataCache) -> None:
        self._metadata = metadata
        self._waits: dict[str, list[_Wait]] = {}  # by topic; bounded by the requests that are open
        self._known = asyncio.Event()
        self._complete = asyncio.Event()
        metadata.add_listener(self._on_change)

    @property
    def is_complete(self) -> bool:
        """Whether all topics were known at some time: from then on what is not known here does not exist."""
        return self._complete.is_set()

    def complete(self) -> None:
        self._complete.set()

    async def until_complete(self, timeout_ms: int = 2 * KNOWN_WITHIN_MS) -> None:
        """Or clients that come at once would hear of topics that exist that they do not."""
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_ms / 1000):
                await self._complete.wait()

    async def until_known(self, timeout_ms: int = KNOWN_WITHIN_MS) -> None:
        """Wait until the controller has told anything at all: a node that starts knows not even itself."""
        if not self._metadata.brokers:
            with suppress(TimeoutError):
                async with asyncio.timeout(timeout_ms / 1000):
                    await self._known.wait()

    async def until_led(self, partitions: Mapping[str, Collection[int]], timeout_ms: int) -> set[str]:
        """Wait until all these partitions have leaders; the topics in which one had none in time."""
        return await self._until(partitions, lambda topic: self._is_led(topic, partitions[topic]), timeout_ms)

    async def until_listed(self, topics: Collection[str], timeout_ms: int = KNOWN_WITHIN_MS) -> set[str]:
        """Wait until these topics are known here, led or not; those that were not in time."""
        return await self._until(topics, lambda topic: topic in self._metadata.topics, timeout_ms)

    async def until_gone(self, topics: Collection[str], timeout_ms: int) -> set[str]:
        """Wait until no broker has to know these topics any more; those that were still there."""
        return await self._until(topics, lambda topic: topic not in self._metadata.topics, timeout_ms)

    def _is_led(self, topic: str, partitions: Iterable[int]) -> bool:
        known = self._metadata.topics.get(topic, {})
        return all(partition in known and known[partition].leader != NO_LEADER for partition in partitions)

    async def _until(self, topics: Collection[str], is_met: Condition, timeout_ms: int) -> set[str]:
        if timeout_ms <= 0:
            return set(topics)  # as Kafka: who does not wait is told so, however fast the controller was
        wait = _Wait({topic for topic in topics if not is_met(topic)}, is_met, asyncio.Future())
        if not wait.pending:
            return set()
        watched = list(wait.pending)
        for topic in watched:
            self._waits.setdefault(topic, []).append(wait)
        try:
            async with asyncio.timeout(timeout_ms / 1000):
                await wait.over
        except TimeoutError:
            return {topic for topic in watched if not is_met(topic)}
        finally:
            for topic in watched:
                self._forget(topic, wait)
        return set()

    def _on_change(self, topics: Collection[str]) -> None:
        self._known.set()
        for topic in topics if self._waits else ():
            for wait in self._waits.get(topic, ()):
                if topic in wait.pending and wait.is_met(topic):
                    wait.pending.discard(topic)
                    if not wait.pending and not wait.over.done():
                        wait.over.set_result(None)

    def _forget(self, topic: str, wait: _Wait) -> None:
        waits = self._waits[topic]
        waits.remove(wait)
        if not waits:
            del self._waits[topic]
