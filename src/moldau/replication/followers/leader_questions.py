"""What a follower asks its leader besides records: where epochs end, and what offsets there are.

Both are rare, after a change of leader and when a follower has lost its place. An answer, or the lack of one, is told
to `Following` for each partition.
"""

from __future__ import annotations

from collections.abc import Iterable

from moldau.base.clock import Clock
from moldau.base.error_codes import ErrorCode
from moldau.net.client import ClientConnection
from moldau.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
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
from moldau.replication.followers.followed_partition import FollowedPartition
from moldau.replication.followers.following import Following
from moldau.replication.offset_search import EARLIEST_TIMESTAMP, LATEST_TIMESTAMP
from moldau.storage.leader_epochs import EpochEndOffset
from moldau.storage.log_directory import TopicPartition


async def ask_epoch_ends(
    connection: ClientConnection,
    following: Following,
    partitions: Iterable[FollowedPartition],
    broker_id: int,
    clock: Clock,
) -> None:
    """OffsetForLeaderEpoch for the epoch that each log ends with."""
    asked = {partition.key: partition for partition in partitions}
    topics: dict[str, OffsetForLeaderTopic] = {}
    for (topic, index), partition in asked.items():
        question = OffsetForLeaderPartition(
            partition=index,
            current_leader_epoch=partition.leader_epoch,
            leader_epoch=partition.last_fetched_epoch,
        )
        topics.setdefault(topic, OffsetForLeaderTopic(topic=topic)).partitions.append(question)
    request = OffsetForLeaderEpochRequest(replica_id=broker_id, topics=list(topics.values()))
    response: OffsetForLeaderEpochResponse = await connection.request(request)
    now_ms = clock.monotonic_ms()
    for answered in response.topics:
        for end in answered.partitions:
            heard = asked.get((answered.topic, end.partition))
            if heard is None:
                continue
            if end.error_code:
                following.refused(heard, ErrorCode(end.error_code), now_ms)
            else:
                following.hear_epoch_end(heard, EpochEndOffset(end.leader_epoch, end.end_offset), now_ms)


async def ask_offsets(
    connection: ClientConnection,
    following: Following,
    partitions: Iterable[FollowedPartition],
    broker_id: int,
    clock: Clock,
) -> None:
    """ListOffsets for the end and the start of each partition; one request cannot ask for both."""
    asked = {partition.key: partition for partition in partitions}
    ends = await _list_offsets(connection, asked, LATEST_TIMESTAMP, broker_id)
    starts = await _list_offsets(connection, asked, EARLIEST_TIMESTAMP, broker_id)
    now_ms = clock.monotonic_ms()
    for key, partition in asked.items():
        end, start = ends.get(key), starts.get(key)
        if end is None or start is None:
            following.refused(partition, ErrorCode.UNKNOWN_SERVER_ERROR, now_ms)
        elif code := end.error_code or start.error_code:
            following.refused(partition, ErrorCode(code), now_ms)
        else:
            following.hear_offsets(partition, start.offset, end.offset, now_ms)


async def _list_offsets(
    connection: ClientConnection, asked: dict[TopicPartition, FollowedPartition], timestamp: int, broker_id: int
) -> dict[TopicPartition, ListOffsetsPartitionResponse]:
    topics: dict[str, ListOffsetsTopic] = {}
    for (topic, index), partition in asked.items():
        question = ListOffsetsPartition(
            partition_index=index, current_leader_epoch=partition.leader_epoch, timestamp=timestamp
        )
        topics.setdefault(topic, ListOffsetsTopic(name=topic)).partitions.append(question)
    request = ListOffsetsRequest(replica_id=broker_id, topics=list(topics.values()))
    response: ListOffsetsResponse = await connection.request(request)
    return {(topic.name, one.partition_index): one for topic in response.topics for one in topic.partitions}
