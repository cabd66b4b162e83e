"""Asking leaders for offsets: by time, of the ends of logs, and of the end of a leader's epoch.

Partitions are asked of their leaders, all leaders at once; those that fail for passing reasons are asked again of who
leads them then.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import NamedTuple, TypeVar

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError, Disconnected, MoldauError
from moldau.clients.errors import check, error_code
from moldau.clients.network.cluster import Cluster
from moldau.clients.records import TopicPartition
from moldau.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from moldau.protocol.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)

Answer = TypeVar("Answer")

CONSUMER = -1
_NOT_ANSWERED = ApiError(ErrorCode.LEADER_NOT_AVAILABLE, "some partitions were not answered")
_READ_COMMITTED_FROM = 2


class OffsetAndTimestamp(NamedTuple):
    """The first record at or after a time."""

    offset: int
    timestamp: int
    leader_epoch: int | None = None


class EpochEnd(NamedTuple):
    """The largest epoch not above the one asked for, and where it ends; both -1 if the leader does not know."""

    leader_epoch: int
    end_offset: int


class OffsetLookup:
    """Questions about offsets, answered for all partitions or with an error."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._isolation_level = int(cluster.config.text("isolation.level") == "read_committed")

    async def by_time(
        self, timestamps: Mapping[TopicPartition, int], timeout_ms: float
    ) -> dict[TopicPartition, OffsetAndTimestamp | None]:
        """For each partition the first record of its timestamp or a later one; None if there is none.

        -1 asks for the end of the log (of its stable part, with read_committed), -2 for its beginning.
        """
        found: dict[TopicPartition, OffsetAndTimestamp | None] = {}
        self._cluster.add_topics({each.topic for each in timestamps})

        async def attempt() -> None:
            missing = {each: timestamp for each, timestamp in timestamps.items() if each not in found}
            failures: list[MoldauError] = []
            found.update(await self.try_by_time(missing, failures))
            if len(found) < len(timestamps):
                raise failures[0] if failures else _NOT_ANSWERED

        await self._cluster.retrying(attempt, timeout_ms=timeout_ms, what="looking up offsets")
        return found

    async def try_by_time(
        self, timestamps: Mapping[TopicPartition, int], failures: list[MoldauError] | None = None
    ) -> dict[TopicPartition, OffsetAndTimestamp | None]:
        """The same in one attempt: partitions that have no leader now, or one that fails, are left out."""
        return await self._of_leaders(timestamps, self._list_offsets, failures)

    async def try_epoch_ends(self, epochs: Mapping[TopicPartition, int]) -> dict[TopicPartition, EpochEnd]:
        """Where the epochs end in the logs of the present leaders (KIP-320), in one attempt as well."""
        return await self._of_leaders(epochs, self._epoch_ends)

    async def _of_leaders(
        self,
        questions: Mapping[TopicPartition, int],
        ask: Callable[[int, Mapping[TopicPartition, int]], Awaitable[dict[TopicPartition, Answer]]],
        failures: list[MoldauError] | None = None,
    ) -> dict[TopicPartition, Answer]:
        by_leader: dict[int, dict[TopicPartition, int]] = {}
        failures = [] if failures is None else failures
        for partition, question in questions.items():
            try:
                by_leader.setdefault(await self._leader(partition), {})[partition] = question
            except MoldauError as error:
                failures.append(error)
        answers = await asyncio.gather(
            *(ask(node_id, its) for node_id, its in by_leader.items()), return_exceptions=True
        )
        found: dict[TopicPartition, Answer] = {}
        for answer in answers:
            if isinstance(answer, MoldauError):
                failures.append(answer)
            elif isinstance(answer, BaseException):
                raise answer
            else:
                found.update(answer)
        if len(found) < len(questions):
            self._cluster.request_update()
        for failure in failures:
            if not is_passing(failure):
                raise failure
        return found

    async def _leader(self, partition: TopicPartition) -> int:
        leader = self._cluster.metadata.leader(partition)
        if leader is None:
            metadata = self._cluster.metadata
            if partition.topic not in metadata.topics:
                metadata = await self._cluster.update(topic=partition.topic)
            topic = metadata.topics.get(partition.topic)
            if topic is not None and not topic.error.retriable:
                check(topic.error)
            leader = metadata.leader(partition)
            if leader is None:
                raise ApiError(ErrorCode.LEADER_NOT_AVAILABLE, f"{partition} has no leader that is known")
        return leader.leader

    async def _list_offsets(
        self, node_id: int, timestamps: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, OffsetAndTimestamp | None]:
        topics: dict[str, ListOffsetsTopic] = {}
        for each, timestamp in timestamps.items():
            topic = topics.setdefault(each.topic, ListOffsetsTopic(name=each.topic, partitions=[]))
            epoch = self._leader_epoch(each)
            topic.partitions.append(
                ListOffsetsPartition(partition_index=each.partition, current_leader_epoch=epoch, timestamp=timestamp)
            )
        connection = await self._cluster.connection(node_id)
        version = connection.version_of(ListOffsetsRequest)
        level = self._isolation_level if version >= _READ_COMMITTED_FROM else 0
        request = ListOffsetsRequest(
            replica_id=CONSUMER,
            isolation_level=level,
            topics=list(topics.values()),
            timeout_ms=self._cluster.request_timeout_ms,
        )
        answer = await connection.request(request, version)
        assert isinstance(answer, ListOffsetsResponse)
        found: dict[TopicPartition, OffsetAndTimestamp | None] = {}
        for topic_answer in answer.topics:
            for each_answer in topic_answer.partitions:
                partition = TopicPartition(topic_answer.name, each_answer.partition_index)
                code = error_code(each_answer.error_code)
                if code is ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT:
                    found[partition] = None
                elif not code.retriable:
                    check(code, f"looking up an offset of {partition}")
                    found[partition] = _found(each_answer.offset, each_answer.timestamp, each_answer.leader_epoch)
        return found

    async def _epoch_ends(self, node_id: int, epochs: Mapping[TopicPartition, int]) -> dict[TopicPartition, EpochEnd]:
        topics: dict[str, OffsetForLeaderTopic] = {}
        for each, epoch in epochs.items():
            topic = topics.setdefault(each.topic, OffsetForLeaderTopic(topic=each.topic, partitions=[]))
            topic.partitions.append(
                OffsetForLeaderPartition(
                    partition=each.partition, current_leader_epoch=self._leader_epoch(each), leader_epoch=epoch
                )
            )
        request = OffsetForLeaderEpochRequest(replica_id=CONSUMER, topics=list(topics.values()))
        answer = await self._cluster.request(request, node_id)
        assert isinstance(answer, OffsetForLeaderEpochResponse)
        found = {}
        for topic_answer in answer.topics:
            for each_answer in topic_answer.partitions:
                code = error_code(each_answer.error_code)
                if not code.retriable:
                    partition = TopicPartition(topic_answer.topic, each_answer.partition)
                    check(code, f"checking the position in {partition}")
                    found[partition] = EpochEnd(each_answer.leader_epoch, each_answer.end_offset)
        return found

    def _leader_epoch(self, partition: TopicPartition) -> int:
        leader = self._cluster.metadata.leader(partition)
        return -1 if leader is None else leader.leader_epoch


def _found(offset: int, timestamp: int, leader_epoch: int) -> OffsetAndTimestamp | None:
    if offset < 0:
        return None
    return OffsetAndTimestamp(offset, timestamp, None if leader_epoch < 0 else leader_epoch)


def is_passing(error: BaseException) -> bool:
    """Whether asking again later may do."""
    return isinstance(error, Disconnected) or (isinstance(error, ApiError) and error.code.retriable)
