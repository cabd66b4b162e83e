"""Waiting for records that come after the ends that are known: a long poll, as consumers do it.

Each leader is asked for records behind the ends, and answers when it has one. What it sends is a batch that nobody
looks at: how far there is something to read is asked for afterwards, of all partitions together.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Final

from moldau.base.errors import MoldauError
from moldau.clients.network.cluster import Cluster
from moldau.clients.network.metadata import ClusterMetadata
from moldau.clients.records import TopicPartition
from moldau.protocol.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from moldau.protocol.schema import ZERO_UUID

LANE: Final = "watch"
_WITH_TOPIC_IDS: Final = 13
_ANSWER_BYTES: Final = 1  # a batch comes whole all the same


async def wait_for_records(cluster: Cluster, ends: Mapping[TopicPartition, int], wait_ms: int) -> None:
    """Return when there is something behind one of the ends, or the time is up."""
    by_leader: dict[int, dict[TopicPartition, int]] = {}
    for each, end in ends.items():
        leader = cluster.metadata.leader(each)
        if leader is not None:
            by_leader.setdefault(leader.leader, {})[each] = end
    something = asyncio.Event()
    try:
        async with asyncio.timeout(wait_ms / 1000), asyncio.TaskGroup() as group:
            waits = [
                group.create_task(_wait_at(cluster, node_id, its_ends, wait_ms, something))
                for node_id, its_ends in by_leader.items()
            ]
            await something.wait()
            for each_wait in waits:
                each_wait.cancel()
    except TimeoutError:
        return


async def _wait_at(
    cluster: Cluster, node_id: int, ends: Mapping[TopicPartition, int], wait_ms: int, something: asyncio.Event
) -> None:
    metadata = cluster.metadata
    request = FetchRequest(
        max_wait_ms=wait_ms,
        min_bytes=1,
        max_bytes=_ANSWER_BYTES,
        isolation_level=int(cluster.config.text("isolation.level") == "read_committed"),
        topics=_topics(metadata, ends),
    )
    try:
        connection = await cluster.connection(node_id, LANE)
        version = connection.version_of(FetchRequest)
        if any(topic.topic_id == ZERO_UUID for topic in request.topics):
            version = min(version, _WITH_TOPIC_IDS - 1)
        answer = await connection.request(request, version)
    except MoldauError:
        cluster.request_update()
        return  # who asks for the ends next will say what is wrong
    assert isinstance(answer, FetchResponse)
    if any(each.records for topic in answer.responses for each in topic.partitions):
        something.set()


def _topics(metadata: ClusterMetadata, ends: Mapping[TopicPartition, int]) -> list[FetchTopic]:
    topics: dict[str, FetchTopic] = {}
    for (name, number), end in ends.items():
        topic = topics.get(name)
        if topic is None:
            topic = topics[name] = FetchTopic(topic=name, topic_id=metadata.topics[name].topic_id, partitions=[])
        topic.partitions.append(FetchPartition(partition=number, fetch_offset=end, partition_max_bytes=_ANSWER_BYTES))
    return list(topics.values())
