"""The topics of requests about offsets: which of their partitions exist, and under which names.

What does not exist is answered here, and the coordinator is asked about the rest.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from moldau.base.error_codes import ErrorCode
from moldau.cluster.metadata_cache import MetadataCache


class Unknown(NamedTuple):
    """Partitions of a topic that a request names and nobody knows."""

    name: str
    topic_id: bytes
    indexes: list[int]
    code: ErrorCode


def take_out_unknown(metadata: MetadataCache, request: Any) -> list[Unknown]:
    """Leave only partitions that exist in the topics of a request; those that do not."""
    unknown = []
    for topic in request.topics:
        known = metadata.topics.get(topic.name)
        if known is None or any(partition.partition_index not in known for partition in topic.partitions):
            gone = [
                one.partition_index for one in topic.partitions if known is None or one.partition_index not in known
            ]
            topic.partitions = [one for one in topic.partitions if known is not None and one.partition_index in known]
            topic_id = getattr(topic, "topic_id", b"")
            unknown.append(Unknown(topic.name, topic_id, gone, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
    if unknown:
        request.topics = [topic for topic in request.topics if topic.partitions]
    return unknown


def name_topics(metadata: MetadataCache, topics: list[Any]) -> list[Any]:
    """Give topics that a request names by id their names; those whose id nobody knows."""
    unknown = []
    for topic in topics:
        name = metadata.topic_names.get(topic.topic_id)
        if name is None:
            unknown.append(topic)
        else:
            topic.name = name
    return unknown
