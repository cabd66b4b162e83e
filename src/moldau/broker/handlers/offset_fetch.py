"""OffsetFetch: the offsets that groups have committed.

Version 0 reads those in the coordination store. From 2 on null topics ask for all, and an error is one of the group;
from 7 on a client may want stable offsets only (KIP-447), from 8 on it asks for several groups (KIP-709), from 10 on
topics go by id. The membership that version 9 tells is that of KIP-848; a classic group does not look at it.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError
from moldau.base.supervision import OnFailure
from moldau.broker.call import Call
from moldau.broker.coordinated import Gathered
from moldau.broker.handlers import handles
from moldau.broker.offset_topics import name_topics
from moldau.cluster.errors import CoordinationError
from moldau.cluster.metadata_cache import MetadataCache
from moldau.coordinator.group.zookeeper_offsets import stored_offset
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)

if TYPE_CHECKING:
    from moldau.broker.node import Node

GROUP_ERROR_VERSION = 2
SEVERAL_GROUPS_VERSION = 8
TOPIC_IDS_VERSION = 10
NO_OFFSET = -1


def refused(request: OffsetFetchRequest, code: ErrorCode, _message: str) -> OffsetFetchResponse:
    groups = [OffsetFetchResponseGroup(group_id=group.group_id, error_code=code) for group in request.groups]
    topics = [
        OffsetFetchResponseTopic(
            name=topic.name, partitions=[no_offset(index, code) for index in topic.partition_indexes]
        )
        for topic in request.topics or ()
    ]
    return OffsetFetchResponse(error_code=code, topics=topics, groups=groups)


def no_offset(index: int, code: ErrorCode) -> OffsetFetchResponsePartition:
    return OffsetFetchResponsePartition(partition_index=index, committed_offset=NO_OFFSET, metadata="", error_code=code)


@handles(ApiKey.OFFSET_FETCH, "0-10", on_error=refused)
def offset_fetch(node: Node, request: OffsetFetchRequest, call: Call) -> None:
    version = call.version
    if version == 0:
        node.supervisor.start("fetch stored offsets", partial(fetch_stored, node, request, call), OnFailure.LOG)
        return
    groups = request.groups if version >= SEVERAL_GROUPS_VERSION else [only_group(request)]
    unknown = [take_out_unknown_ids(node.metadata, group) if version >= TOPIC_IDS_VERSION else [] for group in groups]

    def finish(outcomes: list[Any]) -> None:
        answered = []
        for group, others, outcome in zip(groups, unknown, outcomes, strict=True):
            if isinstance(outcome, ApiError):
                answered.append(OffsetFetchResponseGroup(group_id=group.group_id, error_code=outcome.code))
            else:
                if version >= TOPIC_IDS_VERSION:
                    with_ids(node.metadata, outcome)
                outcome.topics += others
                answered.append(outcome)
        if version >= SEVERAL_GROUPS_VERSION:
            call.respond(OffsetFetchResponse(groups=answered))
        else:
            call.respond(of_one_group(request, answered[0], version))

    gathered = Gathered(len(groups), finish)
    for index, group in enumerate(groups):
        node.groups.fetch(group, request.require_stable, gathered.place(index))


def only_group(request: OffsetFetchRequest) -> OffsetFetchRequestGroup:
    topics = None
    if request.topics is not None:
        topics = [
            OffsetFetchRequestTopics(name=topic.name, partition_indexes=topic.partition_indexes)
            for topic in request.topics
        ]
    return OffsetFetchRequestGroup(group_id=request.group_id, topics=topics)


def of_one_group(request: OffsetFetchRequest, group: OffsetFetchResponseGroup, version: int) -> OffsetFetchResponse:
    if group.error_code:
        response = refused(request, ErrorCode(group.error_code), "")
        if version >= GROUP_ERROR_VERSION:
            response.topics = []
        return response
    topics = [
        OffsetFetchResponseTopic(
            name=topic.name,
            partitions=[
                OffsetFetchResponsePartition(
                    partition_index=one.partition_index,
                    committed_offset=one.committed_offset,
                    committed_leader_epoch=one.committed_leader_epoch,
                    metadata=one.metadata,
                    error_code=one.error_code,
                )
                for one in topic.partitions
            ],
        )
        for topic in group.topics
    ]
    return OffsetFetchResponse(topics=topics)


def take_out_unknown_ids(metadata: MetadataCache, group: OffsetFetchRequestGroup) -> list[OffsetFetchResponseTopics]:
    """Leave only topics whose ids are known; the answers for the others."""
    answers = []
    for topic in name_topics(metadata, group.topics or []):
        assert group.topics is not None
        group.topics.remove(topic)
        partitions = [
            OffsetFetchResponsePartitions(
                partition_index=index, committed_offset=NO_OFFSET, metadata="", error_code=ErrorCode.UNKNOWN_TOPIC_ID
            )
            for index in topic.partition_indexes
        ]
        answers.append(OffsetFetchResponseTopics(topic_id=topic.topic_id, partitions=partitions))
    return answers


def with_ids(metadata: MetadataCache, group: OffsetFetchResponseGroup) -> None:
    """A topic that has no id any more is not told."""
    for topic in group.topics:
        topic.topic_id = metadata.topic_ids.get(topic.name, b"")
    group.topics = [topic for topic in group.topics if topic.topic_id]


async def fetch_stored(node: Node, request: OffsetFetchRequest, call: Call) -> None:
    response = refused(request, ErrorCode.NONE, "")
    try:
        for topic in response.topics:
            for one in topic.partitions:
                known = node.metadata.partition(topic.name, one.partition_index) is not None
                at = request.group_id, topic.name, one.partition_index
                found = await stored_offset(node.session, *at) if known else None
                if found is None:
                    one.error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
                else:
                    one.committed_offset = found
    except ApiError as error:
        response = refused(request, error.code, error.message)
    except CoordinationError:
        response = refused(request, ErrorCode.UNKNOWN_SERVER_ERROR, "")
    call.respond(response)
