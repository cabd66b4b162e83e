"""Asking brokers for records, always a step ahead of who reads them.

Each broker has one fetch under way at a time. When its answer comes the next one is sent at once, for the partitions
that have room in the buffer, so that the broker collects records while those before are read. A partition is asked of
its leader, or of a replica in the consumer's own rack if the leader names one (KIP-392).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from functools import partial

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError, MoldauError
from moldau.base.supervision import OnFailure
from moldau.clients.consumer.errors import OffsetOutOfRange
from moldau.clients.consumer.fetching.completed_fetch import CompletedFetch
from moldau.clients.consumer.fetching.decoding import RecordDecoder
from moldau.clients.consumer.fetching.fetch_buffer import FetchBuffer
from moldau.clients.consumer.fetching.session import FetchSession, Wanted
from moldau.clients.consumer.metrics import ConsumerMetrics
from moldau.clients.consumer.offset_reset import NONE
from moldau.clients.consumer.positions import PartitionState
from moldau.clients.consumer.subscription import SubscriptionState
from moldau.clients.errors import error_code
from moldau.clients.network.cluster import Cluster
from moldau.clients.records import TopicPartition
from moldau.protocol.messages.fetch import FetchRequest, FetchResponse, PartitionData
from moldau.protocol.schema import ZERO_UUID

# So many that the broker need not wait while those before are decoded; fetch.max.bytes bounds them all together.
FETCHES_PER_PARTITION_MAX = 4
LANE = "fetch"
CLOSE_MS = 500
_WITH_TOPIC_IDS = 13

logger = logging.getLogger(__name__)

# What a newer view of the cluster will mend.
_STALE = frozenset(
    {
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.REPLICA_NOT_AVAILABLE,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.INCONSISTENT_TOPIC_ID,
    }
)
_PASSING = frozenset({ErrorCode.OFFSET_NOT_AVAILABLE, ErrorCode.UNKNOWN_LEADER_EPOCH, ErrorCode.UNKNOWN_SERVER_ERROR})


class Fetcher:
    """`changed` is called when there is something to take or to raise."""

    def __init__(
        self,
        cluster: Cluster,
        subscription: SubscriptionState,
        metrics: ConsumerMetrics,
        changed: Callable[[], None],
    ) -> None:
        config = cluster.config
        self.buffer = FetchBuffer(subscription)
        self._cluster = cluster
        self._subscription = subscription
        self._metrics = metrics
        self._changed = changed
        self._decoder = RecordDecoder()
        self._sessions: dict[int, FetchSession] = {}
        self._under_way: set[int] = set()
        self._failures: dict[int, int] = {}
        self._retry_at_ms: dict[int, float] = {}
        self._error: tuple[TopicPartition, int, MoldauError] | None = None
        self._closed = False
        self._read_committed = config.text("isolation.level") == "read_committed"
        self._check_crcs = config.boolean("check.crcs")
        self._max_bytes = config.integer("fetch.max.bytes")
        self._partition_max_bytes = config.integer("max.partition.fetch.bytes")
        self._min_bytes = config.integer("fetch.min.bytes")
        self._max_wait_ms = config.integer("fetch.max.wait.ms")
        self._max_age_ms = config.integer("metadata.max.age.ms")
        self._rack = config.text("client.rack")

    # -- asking

    def send(self) -> None:
        """Send a fetch to each broker that has none under way and partitions with room."""
        if self._closed:
            return
        for node_id, partitions in self._to_fetch().items():
            self._under_way.add(node_id)
            self._cluster.supervisor.start(
                f"fetch from {node_id}", partial(self._fetch, node_id, partitions), OnFailure.LOG
            )

    def _to_fetch(self) -> dict[int, dict[TopicPartition, PartitionState]]:
        waiting, size_bytes = self.buffer.waiting()
        wanted: dict[int, dict[TopicPartition, PartitionState]] = {}
        if size_bytes >= self._max_bytes:
            return wanted
        now_ms = self._cluster.clock.monotonic_ms()
        for partition, state in self._subscription.partitions.items():
            if not state.fetchable or waiting.get(partition, 0) >= FETCHES_PER_PARTITION_MAX:
                continue
            node_id = self._node_for(partition, state, now_ms)
            if node_id is None or node_id in self._under_way or self._retry_at_ms.get(node_id, 0) > now_ms:
                continue
            if state.retry_at_ms <= now_ms:
                wanted.setdefault(node_id, {})[partition] = state
        return wanted

    def _node_for(self, partition: TopicPartition, state: PartitionState, now_ms: float) -> int | None:
        if state.nearby_replica >= 0:
            if now_ms < state.nearby_until_ms and state.nearby_replica in self._cluster.metadata.nodes:
                return state.nearby_replica
            state.nearby_replica = -1
        leader = self._cluster.metadata.leader(partition)
        if leader is None:
            self._cluster.request_update()
            return None
        return leader.leader

    async def _fetch(self, node_id: int, partitions: Mapping[TopicPartition, PartitionState]) -> None:
        session = self._sessions.setdefault(node_id, FetchSession())
        asked = {each: (state.version, state.next_fetch_offset) for each, state in partitions.items()}
        try:
            answer = await self._ask(node_id, session, partitions)
        except (MoldauError, asyncio.CancelledError) as error:
            session.failed()
            self._under_way.discard(node_id)
            if isinstance(error, asyncio.CancelledError):
                raise
            self._put_off(node_id, error)
            return
        self._under_way.discard(node_id)
        self._failures.pop(node_id, None)
        if session.answered(answer):
            self._take_in(answer, session, asked)
        self.send()  # first, so that the broker works while these records are decoded
        self._changed()

    async def _ask(
        self, node_id: int, session: FetchSession, partitions: Mapping[TopicPartition, PartitionState]
    ) -> FetchResponse:
        topics = self._cluster.metadata.topics
        wanted = {}
        for each, state in partitions.items():
            assert state.position is not None
            topic_id = topics[each.topic].topic_id if each.topic in topics else ZERO_UUID
            wanted[each] = Wanted(
                topic_id, state.next_fetch_offset, state.position.leader_epoch, self._partition_max_bytes
            )
        connection = await self._cluster.connection(node_id, LANE)
        request = FetchRequest(
            max_wait_ms=self._max_wait_ms,
            min_bytes=self._min_bytes,
            max_bytes=self._max_bytes,
            isolation_level=int(self._read_committed),
            rack_id=self._rack,
        )
        session.ask(request, wanted)
        version = connection.version_of(FetchRequest)
        if not session.with_topic_ids:
            version = min(version, _WITH_TOPIC_IDS - 1)
        sent_ms = self._cluster.clock.monotonic_ms()
        timeout_ms = self._cluster.request_timeout_ms + self._max_wait_ms
        answer = await connection.request(request, version, timeout_ms=timeout_ms)
        assert isinstance(answer, FetchResponse)
        self._metrics.fetched(self._cluster.clock.monotonic_ms() - sent_ms)
        return answer

    def _put_off(self, node_id: int, error: MoldauError) -> None:
        failures = self._failures.get(node_id, 0)
        self._failures[node_id] = failures + 1
        delay_ms = self._cluster.backoff.delay_ms(failures)
        logger.info("Fetching from broker %d failed, next attempt in %d ms: %s", node_id, delay_ms, error)
        self._retry_at_ms[node_id] = self._cluster.clock.monotonic_ms() + delay_ms
        for state in self._subscription.partitions.values():
            if state.nearby_replica == node_id:
                state.nearby_replica = -1
        self._cluster.request_update()
        self._send_later(delay_ms)

    def _send_later(self, delay_ms: float) -> None:
        # A little more, so that the time that was waited for has come.
        asyncio.get_running_loop().call_later((delay_ms + 1) / 1000, self.send)

    # -- what comes

    def _take_in(
        self, answer: FetchResponse, session: FetchSession, asked: Mapping[TopicPartition, tuple[int, int]]
    ) -> None:
        names = session.topic_names()
        for topic in answer.responses:
            name = topic.topic or names.get(topic.topic_id, "")
            for data in topic.partitions:
                partition = TopicPartition(name, data.partition_index)
                state = self._subscription.partitions.get(partition)
                version, offset = asked.get(partition, (-1, -1))
                if state is None or state.version != version or state.next_fetch_offset != offset:
                    # Left since, or another broker has answered the same: a partition whose leader has changed was
                    # asked of both.
                    continue
                if data.error_code:
                    self._refused(partition, state, data, answer)
                else:
                    self._came(partition, state, offset, data)

    def _came(self, partition: TopicPartition, state: PartitionState, offset: int, data: PartitionData) -> None:
        state.high_watermark = data.high_watermark
        state.last_stable_offset = data.last_stable_offset
        state.log_start_offset = data.log_start_offset
        if data.preferred_read_replica >= 0:
            state.nearby_replica = data.preferred_read_replica
            state.nearby_until_ms = self._cluster.clock.monotonic_ms() + self._max_age_ms
        if not data.records:
            return
        try:
            fetch = CompletedFetch(
                partition,
                state.version,
                offset,
                memoryview(data.records),
                data.aborted_transactions or () if self._read_committed else None,
                check_crcs=self._check_crcs,
                decoder=self._decoder,
            )
        except ApiError as error:
            self._error = (partition, state.version, error)
            return
        self._metrics.bytes_consumed += fetch.size_bytes
        state.next_fetch_offset = fetch.end_offset
        self.buffer.add(fetch)

    def _refused(
        self, partition: TopicPartition, state: PartitionState, data: PartitionData, answer: FetchResponse
    ) -> None:
        code = error_code(data.error_code)
        delay_ms = self._cluster.backoff.delay_ms(0)
        state.retry_at_ms = self._cluster.clock.monotonic_ms() + delay_ms
        if code in _STALE:
            leader = data.current_leader
            state.nearby_replica = -1
            if leader is None or not self._cluster.leader_changed(
                partition, leader.leader_id, leader.leader_epoch, answer.node_endpoints
            ):
                self._cluster.request_update()
        elif code is ErrorCode.OFFSET_OUT_OF_RANGE:
            self._out_of_range(partition, state)
        elif code not in _PASSING:
            self._error = (partition, state.version, ApiError(code, f"fetching {partition}"))
        self._send_later(delay_ms)

    def _out_of_range(self, partition: TopicPartition, state: PartitionState) -> None:
        if state.nearby_replica >= 0:
            state.nearby_replica = -1  # a follower may be behind: the leader knows better
        elif self._subscription.default_reset == NONE:
            self._error = (partition, state.version, OffsetOutOfRange({partition: state.next_fetch_offset}))
        else:
            logger.info("Fetch offset %d of %s is out of range, resetting", state.next_fetch_offset, partition)
            state.begin_reset(self._subscription.default_reset)

    def raise_error(self) -> None:
        """Raise what a broker said of a partition, if that partition is still read there."""
        if self._error is not None:
            (partition, version, error), self._error = self._error, None
            state = self._subscription.partitions.get(partition)
            if state is not None and state.version == version:
                raise error

    # -- life

    async def close(self) -> None:
        """Tell the brokers that their sessions have ended, so that they need not wait for that."""
        self._closed = True
        self.buffer.clear()
        for node_id, session in self._sessions.items():
            request = session.end()
            if request is None or node_id in self._under_way:
                continue  # behind a long poll it would come too late to be worth it
            try:
                version = (await self._cluster.connection(node_id, LANE)).version_of(FetchRequest)
                await self._cluster.request(request, node_id, lane=LANE, version=version, timeout_ms=CLOSE_MS)
            except MoldauError:
                logger.debug("The fetch session with broker %d was not closed", node_id)
