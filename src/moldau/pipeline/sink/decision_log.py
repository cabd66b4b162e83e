"""The topic with the decisions: made when it is missing, read to its end, written to.

It has one partition that counts, 0, so that whoever adds partitions loses nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final, TypeVar

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError, MoldauError
from moldau.clients.admin.admin import Admin
from moldau.clients.admin.config_entries import ConfigResource
from moldau.clients.admin.topics import NewTopic
from moldau.clients.errors import TimedOut, check, error_code
from moldau.clients.network.cluster import Cluster
from moldau.clients.producer.sender import PRODUCE_VERSION_MAX
from moldau.clients.records import TopicPartition
from moldau.pipeline.options import wrong
from moldau.pipeline.sink.errors import SinkError
from moldau.pipeline.sink.log_reader import LogReader
from moldau.pipeline.sink.values import LogView, Term
from moldau.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from moldau.protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from moldau.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from moldau.records.batch import NO_PRODUCER, Producer
from moldau.records.builder import build_batch
from moldau.records.compression import CompressionType
from moldau.records.walk import batches

Result = TypeVar("Result")

PARTITION: Final = 0
_REPLICAS_MAX: Final = 3
_CONFIGS: Final = {
    "cleanup.policy": "compact",
    "segment.bytes": str(16 << 20),  # what is not compacted yet is read at every start
    "min.cleanable.dirty.ratio": "0.1",
}
_FETCH_BYTES: Final = 8 << 20
_FETCH_VERSION_MAX: Final = 12  # with topics by name
_LATEST, _EARLIEST = -1, -2
_MARKER_PAUSE_S: Final = 0.005
_COMPRESSED_BYTES_MIN: Final = 4096


class DecisionLog:
    """The log of one sink."""

    def __init__(self, cluster: Cluster, admin: Admin, topic: str, sink_name: str, block_ms: float) -> None:
        self.topic_partition = TopicPartition(topic, PARTITION)
        self._cluster = cluster
        self._admin = admin
        self._reader = LogReader(sink_name)
        self._block_ms = block_ms
        self._is_ready = False

    async def prepare(self) -> None:
        """Once: see that the topic is there and keeps what is written to it."""
        if self._is_ready:
            return
        topic = self.topic_partition.topic
        if topic not in await self._admin.list_topics(list_internal=True, timeout_s=self._block_ms / 1000):
            await self._create(topic)
        else:
            await self._check_policy(topic)
        await self._cluster.topic(topic, self._block_ms)
        self._is_ready = True

    async def _create(self, topic: str) -> None:
        brokers = len((await self._cluster.update(self._block_ms)).nodes)
        new = NewTopic(topic, 1, min(_REPLICAS_MAX, brokers), configs=_CONFIGS)
        try:
            await self._admin.create_topics([new], timeout_s=self._block_ms / 1000)
        except ApiError as error:
            if error.code is not ErrorCode.TOPIC_ALREADY_EXISTS:
                raise SinkError(
                    f"the topic of decisions, {topic}, is not there and cannot be made: {error}. Make it, with one "
                    "partition and cleanup.policy=compact, or name another with the option decisionTopic"
                ) from error

    async def _check_policy(self, topic: str) -> None:
        resource = ConfigResource.topic(topic)
        try:
            described = await self._admin.describe_configs([resource], keys=["cleanup.policy"])
        except MoldauError:
            return  # not allowed to look; whoever made the topic knows
        policy = described[resource]["cleanup.policy"].value
        if policy != "compact":
            raise wrong(
                "decisionTopic",
                topic,
                f"its cleanup.policy is {policy}, and would lose decisions; it has to be compact",
            )

    # -- reading

    async def read(self, term: Term) -> LogView:
        """All that was decided before now; waits until a decision of this term is settled."""
        reader = self._reader
        deadline_ms = self._cluster.clock.monotonic_ms() + self._block_ms
        while True:
            end = await self._end()
            if end < reader.position:  # the topic was made anew
                reader.restart(0)
            while reader.position < end:
                await self._retrying(partial(self._fetch, end), "reading the decisions")
            if not reader.has_open(term):
                return reader.view
            if self._cluster.clock.monotonic_ms() > deadline_ms:
                raise TimedOut(
                    f"the decision of {term} in {self.topic_partition} has no marker after {self._block_ms:.0f} ms; "
                    "see whether all partitions of __transaction_state have a leader"
                )
            await asyncio.sleep(_MARKER_PAUSE_S)

    async def _end(self) -> int:
        return await self._retrying(lambda: self._offset(_LATEST), "asking for the end of the decisions")

    async def _offset(self, timestamp: int) -> int:
        topic, partition = self.topic_partition
        asked = ListOffsetsPartition(partition_index=partition, timestamp=timestamp)
        request = ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name=topic, partitions=[asked])])
        answer = await self._cluster.request(request, self._leader())
        (found,) = (each for one in answer.topics for each in one.partitions)
        self._check(found.error_code)
        return int(found.offset)

    async def _fetch(self, end: int) -> None:
        topic, partition = self.topic_partition
        reader = self._reader
        asked = FetchPartition(partition=partition, fetch_offset=reader.position, partition_max_bytes=_FETCH_BYTES)
        request = FetchRequest(max_bytes=_FETCH_BYTES, topics=[FetchTopic(topic=topic, partitions=[asked])])
        leader = self._leader()
        connection = await self._cluster.connection(leader)
        answer = await connection.request(request, min(connection.version_of(FetchRequest), _FETCH_VERSION_MAX))
        check(answer.error_code)
        (data,) = (each for one in answer.responses for each in one.partitions)
        if error_code(data.error_code) is ErrorCode.OFFSET_OUT_OF_RANGE:
            reader.restart(await self._offset(_EARLIEST))
            return
        self._check(data.error_code)
        before = reader.position
        reader.take(batches(data.records or b""))
        if reader.position == before and data.high_watermark >= end:
            reader.position = end  # compaction has left nothing there

    # -- writing

    async def append(
        self, key: bytes, value: bytes | None, *, transactional_id: str | None = None, producer: Producer = NO_PRODUCER
    ) -> None:
        """Write one record, to all in-sync replicas."""
        compression = CompressionType.GZIP if value and len(value) > _COMPRESSED_BYTES_MIN else CompressionType.NONE
        record = (0, self._cluster.clock.now_ms(), key, value, ())
        data = build_batch(
            [record],
            base_offset=0,
            compression_type=compression,
            producer=producer,
            transactional=transactional_id is not None,
        )
        await self._retrying(lambda: self._produce(data, transactional_id), f"writing to {self.topic_partition}")

    async def _produce(self, data: bytes, transactional_id: str | None) -> None:
        topic, partition = self.topic_partition
        request = ProduceRequest(
            transactional_id=transactional_id,
            acks=-1,
            timeout_ms=int(self._cluster.request_timeout_ms),
            topic_data=[
                TopicProduceData(
                    name=topic, partition_data=[PartitionProduceData(index=partition, records=memoryview(data))]
                )
            ],
        )
        connection = await self._cluster.connection(self._leader())
        answer = await connection.request(request, min(connection.version_of(ProduceRequest), PRODUCE_VERSION_MAX))
        (written,) = (each for one in answer.responses for each in one.partition_responses)
        if error_code(written.error_code) is not ErrorCode.DUPLICATE_SEQUENCE_NUMBER:
            self._check(written.error_code, written.error_message)

    # -- both

    def _leader(self) -> int:
        known = self._cluster.metadata.leader(self.topic_partition)
        if known is None:
            self._cluster.add_topics([self.topic_partition.topic])
            self._cluster.request_update()
            raise ApiError(ErrorCode.LEADER_NOT_AVAILABLE, f"{self.topic_partition} has no leader")
        return known.leader

    def _check(self, number: int, message: str | None = None) -> None:
        if number:
            self._cluster.request_update()
            check(number, f"{self.topic_partition}: {message}" if message else str(self.topic_partition))

    async def _retrying(self, attempt: Callable[[], Awaitable[Result]], what: str) -> Result:
        return await self._cluster.retrying(attempt, timeout_ms=self._block_ms, what=what)
