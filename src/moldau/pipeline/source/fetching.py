"""Fetching one partition from an offset on: of whoever leads it now, with patience that has a limit."""

from __future__ import annotations

import asyncio
import logging
from typing import Final

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError, Disconnected, MoldauError
from moldau.clients.consumer.fetching.completed_fetch import CompletedFetch
from moldau.clients.consumer.fetching.decoding import RecordDecoder
from moldau.clients.errors import TimedOut, error_code
from moldau.clients.network.cluster import Cluster
from moldau.clients.network.metadata import Topic
from moldau.clients.records import TopicPartition
from moldau.pipeline.source.source_options import POLL_TIMEOUT
from moldau.protocol.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic, PartitionData
from moldau.protocol.schema import ZERO_UUID

logger = logging.getLogger(__name__)

LANE: Final = "fetch"
WAIT_MS: Final = 500
# How long a topic that nobody knows is waited for: it may be new, or have been deleted.
ABSENT_MS_MAX: Final = 5_000
KNOWN_MS_MAX: Final = 1_000
_WITH_TOPIC_IDS: Final = 13

# What a newer view of the cluster will mend.
_STALE: Final = frozenset(
    {
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.REPLICA_NOT_AVAILABLE,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.INCONSISTENT_TOPIC_ID,
    }
)
_ABSENT: Final = frozenset({ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID})
_PASSING: Final = _STALE | {
    ErrorCode.OFFSET_NOT_AVAILABLE,
    ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.BROKER_NOT_AVAILABLE,
    ErrorCode.REQUEST_TIMED_OUT,
}


class OutOfRange(MoldauError):
    """The log begins after the offset that was asked for, or ends before it."""


class Gone(MoldauError):
    """The topic or the partition is not there any more."""


class PartitionFetcher:
    """To be used in the link's loop, one fetch at a time."""

    def __init__(self, cluster: Cluster, partition: TopicPartition, timeout_ms: float) -> None:
        config = cluster.config
        self._cluster = cluster
        self._partition = partition
        self._timeout_ms = timeout_ms
        self._read_committed = config.text("isolation.level") == "read_committed"
        self._check_crcs = config.boolean("check.crcs")
        self._rack = config.text("client.rack")
        self._nearby = -1  # the replica that the leader would have us read from (KIP-392)
        self._decoder = RecordDecoder()

    async def fetch(self, offset: int, max_bytes: int) -> CompletedFetch:
        """At least one whole batch from the offset on; waits until there is one."""
        clock = self._cluster.clock
        began_ms = clock.monotonic_ms()
        absent_since_ms: float | None = None
        failures = 0
        while True:
            try:
                data = await self._ask(offset, max_bytes)
                if data.records:
                    return self._completed(offset, data)
                last = f"it ends at {data.last_stable_offset if self._read_committed else data.high_watermark}"
                failures = 0
            except (ApiError, Disconnected) as error:
                now_ms = clock.monotonic_ms()
                absent = isinstance(error, ApiError) and error.code in _ABSENT
                absent_since_ms = (absent_since_ms or now_ms) if absent else None
                if absent_since_ms is not None and now_ms - absent_since_ms > ABSENT_MS_MAX:
                    raise Gone(f"{self._partition} is gone: {error}") from error
                if not (absent or _passes(error)):
                    raise
                last = str(error)
                delay_ms = self._cluster.backoff.delay_ms(failures)
                failures += 1
                self._cluster.request_update()
                await asyncio.sleep(delay_ms / 1000)
            if clock.monotonic_ms() - began_ms > self._timeout_ms:
                raise TimedOut(
                    f"no record of {self._partition} at offset {offset} came within {self._timeout_ms:.0f} ms "
                    f"(option {POLL_TIMEOUT}); last: {last}"
                )

    async def _ask(self, offset: int, max_bytes: int) -> PartitionData:
        topic = await self._topic()
        leader = self._cluster.metadata.leader(self._partition)
        if leader is None:
            known = self._partition.partition < len(topic.partitions)
            raise ApiError(
                ErrorCode.LEADER_NOT_AVAILABLE if known else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
                f"{self._partition} has no leader",
            )
        asked = FetchPartition(
            partition=self._partition.partition,
            current_leader_epoch=leader.leader_epoch,
            fetch_offset=offset,
            partition_max_bytes=max_bytes,
        )
        request = FetchRequest(
            max_wait_ms=WAIT_MS,
            min_bytes=1,
            max_bytes=max_bytes,
            isolation_level=int(self._read_committed),
            topics=[FetchTopic(topic=topic.name, topic_id=topic.topic_id, partitions=[asked])],
            rack_id=self._rack,
        )
        node_id = self._nearby if self._nearby in self._cluster.metadata.nodes else leader.leader
        connection = await self._cluster.connection(node_id, LANE)
        version = connection.version_of(FetchRequest)
        if topic.topic_id == ZERO_UUID:
            version = min(version, _WITH_TOPIC_IDS - 1)
        timeout_ms = self._cluster.request_timeout_ms + WAIT_MS
        answer = await connection.request(request, version, timeout_ms=timeout_ms)
        assert isinstance(answer, FetchResponse)
        return self._checked(answer, offset)

    async def _topic(self) -> Topic:
        try:
            return await self._cluster.topic(self._partition.topic, KNOWN_MS_MAX)
        except TimedOut as error:
            known = self._cluster.metadata.topics.get(self._partition.topic)
            if known is not None and known.error in _ABSENT:
                raise ApiError(known.error, f"there is no topic {known.name}") from error
            raise

    def _checked(self, answer: FetchResponse, offset: int) -> PartitionData:
        if answer.error_code:
            raise ApiError(error_code(answer.error_code), f"fetching {self._partition}")
        if not (answer.responses and answer.responses[0].partitions):
            raise ApiError(ErrorCode.UNKNOWN_SERVER_ERROR, f"the broker's answer does not mention {self._partition}")
        data = answer.responses[0].partitions[0]
        if data.preferred_read_replica >= 0 and not data.records:
            self._nearby = data.preferred_read_replica
        if not data.error_code:
            return data
        was_nearby, self._nearby = self._nearby >= 0, -1
        code = error_code(data.error_code)
        if code is ErrorCode.OFFSET_OUT_OF_RANGE and not was_nearby:
            raise OutOfRange(f"{self._partition} has no offset {offset}")
        if code is ErrorCode.OFFSET_OUT_OF_RANGE:  # a follower may be behind: the leader knows better
            code = ErrorCode.NOT_LEADER_OR_FOLLOWER
        leader = data.current_leader
        if leader is not None and leader.leader_id >= 0:
            self._cluster.leader_changed(self._partition, leader.leader_id, leader.leader_epoch, answer.node_endpoints)
        raise ApiError(code, f"fetching {self._partition} at offset {offset}")

    def _completed(self, offset: int, data: PartitionData) -> CompletedFetch:
        assert data.records is not None
        return CompletedFetch(
            self._partition,
            0,
            offset,
            memoryview(data.records),
            data.aborted_transactions or () if self._read_committed else None,
            check_crcs=self._check_crcs,
            decoder=self._decoder,
        )


def _passes(error: MoldauError) -> bool:
    return error.code in _PASSING if isinstance(error, ApiError) else isinstance(error, Disconnected)
