"""Descriptions of topics: by name page by page where the broker can (KIP-966), else by Metadata."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError, MoldauError, UnsupportedVersion
from moldau.base.ids import uuid_from_text, uuid_to_text
from moldau.clients.admin.acl_operations import AclOperation, authorized_operations
from moldau.clients.admin.calls import Call
from moldau.clients.admin.operations import Operations
from moldau.clients.admin.results import Results, outcome
from moldau.clients.admin.routes import ask_metadata
from moldau.protocol.messages.describe_topic_partitions import (
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
    TopicRequest,
)
from moldau.protocol.messages.metadata import MetadataResponsePartition, MetadataResponseTopic

PARTITIONS_PER_PAGE: Final = 2000


@dataclass(frozen=True, slots=True)
class TopicPartitionInfo:
    """A partition; the lists of KIP-966 are None where the broker does not tell them."""

    partition: int
    leader: int | None
    leader_epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    offline_replicas: tuple[int, ...]
    eligible_leader_replicas: tuple[int, ...] | None = None
    last_known_elr: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class TopicDescription:
    """A topic; `partitions` are in the order of their numbers."""

    name: str
    topic_id: str
    is_internal: bool
    partitions: tuple[TopicPartitionInfo, ...]
    authorized_operations: frozenset[AclOperation] | None


class TopicDescriptionOperations(Operations):
    """What Admin tells of topics."""

    async def describe_topics(
        self,
        topics: Iterable[str] = (),
        *,
        topic_ids: Iterable[str] = (),
        include_authorized_operations: bool = False,
        partition_size_limit_per_response: int = PARTITIONS_PER_PAGE,
        timeout_s: float | None = None,
        raise_errors: bool = True,
    ) -> Results[str, TopicDescription]:
        """Describe topics by name or by id.

        >>> admin.describe_topics(["orders"])["orders"].partitions[0].leader
        0
        """
        by_id = {each: uuid_from_text(each) for each in topic_ids}

        async def ask(call: Call, _node: int | None, items: list[str]) -> Mapping[str, TopicDescription | MoldauError]:
            ids = [by_id[item] for item in items if item in by_id]
            names = [item for item in items if item not in by_id]
            try:
                found = await _pages(call, names, partition_size_limit_per_response) if names else {}
            except UnsupportedVersion:
                return await _described(call, names, ids, include_authorized_operations)
            return found | (await _described(call, [], ids, include_authorized_operations) if ids else {})

        return await self._calls.each(
            "describing topics", [*topics, *by_id], ask, timeout_s=timeout_s, raise_errors=raise_errors
        )


async def _described(
    call: Call, names: list[str], ids: list[bytes], include_authorized_operations: bool
) -> dict[str, TopicDescription | MoldauError]:
    answer = await ask_metadata(call, names=names, ids=ids, include_authorized_operations=include_authorized_operations)
    outcomes: dict[str, TopicDescription | MoldauError] = {}
    for each in answer.topics:
        item = uuid_to_text(each.topic_id) if each.topic_id in ids else each.name or ""
        outcomes[item] = outcome(_topic(each, each.partitions), each.error_code, of=item)
    missing = [name for name in [*names, *map(uuid_to_text, ids)] if name not in outcomes]
    return outcomes | {
        item: ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no topic {item}") for item in missing
    }


async def _pages(call: Call, names: list[str], limit: int) -> dict[str, TopicDescription | MoldauError]:
    """All pages; each goes on where the one before ended, and a topic may be on several."""
    topics: dict[str, DescribeTopicPartitionsResponseTopic] = {}
    # Kafka answers in the order of names and leaves out those before the cursor.
    request = DescribeTopicPartitionsRequest(
        topics=[TopicRequest(name=name) for name in sorted(names)], response_partition_limit=limit
    )
    while True:
        answer = await call.ask(request)
        assert isinstance(answer, DescribeTopicPartitionsResponse)
        for each in answer.topics:
            known = topics.setdefault(each.name or "", each)
            if known is not each:
                known.partitions += each.partitions
        if answer.next_cursor is None or answer.next_cursor == request.cursor:
            break
        request.cursor = answer.next_cursor
    return {name: outcome(_topic(each, each.partitions), each.error_code, of=name) for name, each in topics.items()}


def _topic(
    topic: MetadataResponseTopic | DescribeTopicPartitionsResponseTopic,
    partitions: Iterable[MetadataResponsePartition | DescribeTopicPartitionsResponsePartition],
) -> TopicDescription:
    infos = (_partition(each) for each in partitions)
    return TopicDescription(
        topic.name or "",
        uuid_to_text(topic.topic_id),
        topic.is_internal,
        tuple(sorted(infos, key=lambda info: info.partition)),
        authorized_operations(topic.topic_authorized_operations),
    )


def _partition(
    partition: MetadataResponsePartition | DescribeTopicPartitionsResponsePartition,
) -> TopicPartitionInfo:
    eligible = last_known = None
    if isinstance(partition, DescribeTopicPartitionsResponsePartition):
        eligible, last_known = partition.eligible_leader_replicas, partition.last_known_elr
    return TopicPartitionInfo(
        partition.partition_index,
        partition.leader_id if partition.leader_id >= 0 else None,
        partition.leader_epoch,
        tuple(partition.replica_nodes),
        tuple(partition.isr_nodes),
        tuple(partition.offline_replicas),
        None if eligible is None else tuple(eligible),
        None if last_known is None else tuple(last_known),
    )
