"""What is asked of whom, and what becomes of answers that come when their question is no longer open."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, cast

from moldau.base.clock import SystemClock
from moldau.base.config.schema import Scope
from moldau.base.error_codes import ErrorCode
from moldau.base.supervision import Supervisor
from moldau.clients.consumer.fetching.fetcher import Fetcher
from moldau.clients.consumer.metrics import ConsumerMetrics
from moldau.clients.consumer.offset_reset import EARLIEST
from moldau.clients.consumer.positions import FetchPosition
from moldau.clients.consumer.subscription import SubscriptionState
from moldau.clients.network.cluster import Cluster
from moldau.clients.network.metadata import ClusterMetadata, Node, PartitionMetadata, Topic
from moldau.clients.records import TopicPartition
from moldau.clients.settings import client_settings
from moldau.net.backoff import Backoff
from moldau.protocol.messages.fetch import FetchableTopicResponse, FetchRequest, FetchResponse, PartitionData
from moldau.protocol.schema import Message
from moldau.records.builder import build_batch

PARTITION = TopicPartition("orders", 0)
PATIENCE_S = 5.0


def led_by(leader: int) -> ClusterMetadata:
    nodes = {number: Node(number, f"host-{number}", 9092) for number in (1, 2)}
    topic = Topic("orders", b"i" * 16, partitions=(PartitionMetadata("orders", 0, leader, leader),))
    return ClusterMetadata("cluster", 1, nodes, {"orders": topic})


def answer(offset: int = 0, values: int = 0, error: ErrorCode = ErrorCode.NONE) -> FetchResponse:
    records = [(offset + index, 1_000, None, b"v", ()) for index in range(values)]
    batch = build_batch(records, base_offset=offset) if records else b""
    data = PartitionData(partition_index=0, error_code=error, high_watermark=100, records=batch)
    return FetchResponse(responses=[FetchableTopicResponse(topic="orders", topic_id=b"i" * 16, partitions=[data])])


class Brokers:
    """What a fetcher uses of `Cluster`: each fetch is kept until the test answers it."""

    def __init__(self) -> None:
        settings = {"bootstrap.servers": "localhost:9092", "fetch.max.wait.ms": 10}
        self.config = client_settings(Scope.CONSUMER, settings, {}).config
        self.clock = SystemClock()
        self.supervisor = Supervisor(on_fatal=lambda _name, _error: None)
        self.backoff = Backoff(1, 1)
        self.request_timeout_ms = 1_000
        self.metadata = led_by(1)
        self.arrival = asyncio.Condition()
        self.open: dict[int, asyncio.Future[FetchResponse]] = {}
        self.offsets: list[tuple[int, int]] = []  # which broker was asked for which offset

    async def connection(self, node_id: int, _lane: str) -> Broker:
        return Broker(self, node_id)

    def request_update(self) -> None:
        """The test changes the metadata itself."""

    async def asked(self, node_id: int) -> None:
        async with asyncio.timeout(PATIENCE_S), self.arrival:
            await self.arrival.wait_for(lambda: node_id in self.open)

    async def answers(self, node_id: int, response: FetchResponse) -> None:
        """Let a broker answer, and wait until that is taken in."""
        await self.asked(node_id)
        answered = self.open.pop(node_id)
        answered.set_result(response)
        for _ in range(10):
            await asyncio.sleep(0)


class Broker:
    def __init__(self, brokers: Brokers, node_id: int) -> None:
        self._brokers = brokers
        self._node_id = node_id

    def version_of(self, request: type[Message]) -> int:
        return request.VERSIONS.high

    async def request(self, request: FetchRequest, _version: int, **_options: Any) -> FetchResponse:
        for topic in request.topics:
            self._brokers.offsets += [(self._node_id, each.fetch_offset) for each in topic.partitions]
        answered: asyncio.Future[FetchResponse] = asyncio.get_running_loop().create_future()
        self._brokers.open[self._node_id] = answered
        async with self._brokers.arrival:
            self._brokers.arrival.notify_all()
        return await answered


def reading(play: Callable[[Brokers, Fetcher], Coroutine[Any, Any, list[int]]]) -> list[int]:
    """The offsets that a play gets to see, of a partition that is read from its beginning."""

    async def scenario() -> list[int]:
        brokers = Brokers()
        subscription = SubscriptionState(EARLIEST)
        subscription.assign_by_hand([PARTITION])
        subscription.seek(PARTITION, FetchPosition(0))
        fetcher = Fetcher(cast(Cluster, brokers), subscription, ConsumerMetrics(brokers.clock), changed=lambda: None)
        fetcher.send()
        try:
            return await play(brokers, fetcher)
        finally:
            await brokers.supervisor.stop(1_000)

    return asyncio.run(scenario())


def _offsets(fetcher: Fetcher) -> list[int]:
    return [record.offset for record in fetcher.buffer.take(100)]


def test_what_the_old_and_the_new_leader_both_answer_is_given_out_once() -> None:
    async def play(brokers: Brokers, fetcher: Fetcher) -> list[int]:
        await brokers.asked(1)
        brokers.metadata = led_by(2)
        fetcher.send()
        await brokers.asked(2)
        assert brokers.offsets == [(1, 0), (2, 0)]
        await brokers.answers(1, answer(0, 3))
        await brokers.answers(2, answer(0, 5))
        seen = _offsets(fetcher)
        await brokers.answers(2, answer(3, 2))
        return seen + _offsets(fetcher)

    assert reading(play) == [0, 1, 2, 3, 4]


def test_a_refusal_of_what_another_broker_has_answered_is_no_news() -> None:
    async def play(brokers: Brokers, fetcher: Fetcher) -> list[int]:
        await brokers.asked(1)
        brokers.metadata = led_by(2)
        fetcher.send()
        await brokers.answers(2, answer(0, 3))
        await brokers.answers(1, answer(error=ErrorCode.OFFSET_OUT_OF_RANGE))
        fetcher.raise_error()
        return _offsets(fetcher)

    assert reading(play) == [0, 1, 2]


def test_the_next_fetch_is_under_way_before_anybody_hears_of_the_last() -> None:
    async def play(brokers: Brokers, fetcher: Fetcher) -> list[int]:
        await brokers.answers(1, answer(0, 2))
        await brokers.asked(1)
        assert brokers.offsets == [(1, 0), (1, 2)]
        return _offsets(fetcher)

    assert reading(play) == [0, 1]
