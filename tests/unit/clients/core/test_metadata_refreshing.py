"""When metadata is asked for: at once for what is new, with pauses for what was asked a moment ago."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, cast

from moldau.base.clock import SystemClock
from moldau.clients.network.cluster import Cluster
from moldau.clients.network.metadata import ClusterMetadata
from moldau.clients.network.refreshing import MetadataRefresher
from moldau.net.backoff import Backoff
from moldau.protocol.messages.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from moldau.protocol.schema import Message

NEVER_MS = 60_000


class SlowCluster:
    """What a refresher uses of `Cluster`; an answer comes when the test lets it."""

    def __init__(self) -> None:
        self.clock = SystemClock()
        self.backoff = Backoff(NEVER_MS, NEVER_MS)
        self.request_timeout_ms = NEVER_MS
        self.asked: list[list[str]] = []
        self.arrived = asyncio.Event()
        self.answered = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def any_connection(self) -> SlowCluster:
        return self

    def version_of(self, request: type[Message]) -> int:
        return request.VERSIONS.high

    async def request(self, request: MetadataRequest, _version: int, **_options: Any) -> MetadataResponse:
        assert request.topics is not None
        names = [each.name or "" for each in request.topics]
        self.asked.append(names)
        self.arrived.set()
        await self.answered.wait()
        partition = MetadataResponsePartition(partition_index=0, leader_id=1)
        return MetadataResponse(
            brokers=[MetadataResponseBroker(node_id=1, host="host-1", port=9092)],
            topics=[MetadataResponseTopic(name=name, partitions=[partition]) for name in names],
        )

    def nodes_changed(self) -> None:
        """Nothing to let go of."""

    def start_refreshing(self, work: Callable[[], Awaitable[None]]) -> None:
        async def refresh() -> None:
            await work()

        self._task = asyncio.get_running_loop().create_task(refresh())

    def stop(self) -> None:
        assert self._task is not None
        self._task.cancel()


def _known_after(topic: str) -> tuple[ClusterMetadata | None, list[list[str]]]:
    """Ask for `orders`; while the answer is on its way, wait for `topic`; then let it come."""

    async def scenario() -> tuple[ClusterMetadata | None, list[list[str]]]:
        cluster = SlowCluster()
        refresher = MetadataRefresher(cast(Cluster, cluster), NEVER_MS, allow_auto_topic_creation=False)
        refresher.set_topics(["orders"])
        refresher.request()
        await cluster.arrived.wait()
        waiting = asyncio.create_task(refresher.next_refresh(NEVER_MS, topic))
        await asyncio.sleep(0)
        cluster.answered.set()
        done, _ = await asyncio.wait([waiting], timeout=0.2)
        waiting.cancel()
        cluster.stop()
        return waiting.result() if done else None, cluster.asked

    return asyncio.run(scenario())


def test_who_waits_for_a_topic_takes_the_answer_that_is_on_its_way() -> None:
    metadata, asked = _known_after("orders")
    assert metadata is not None
    assert "orders" in metadata.topics
    assert asked == [["orders"]]


def test_an_answer_on_its_way_is_no_answer_about_another_topic() -> None:
    metadata, asked = _known_after("payments")
    assert metadata is None
    assert asked == [["orders"]]
