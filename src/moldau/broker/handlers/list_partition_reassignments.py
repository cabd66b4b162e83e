"""ListPartitionReassignments: which partitions are being moved, of those asked for or, with null, of all (KIP-455)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from moldau.broker.call import Call
from moldau.broker.handlers import handles
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    OngoingPartitionReassignment,
    OngoingTopicReassignment,
)

if TYPE_CHECKING:
    from moldau.broker.node import Node


@handles(ApiKey.LIST_PARTITION_REASSIGNMENTS, "0")
async def list_partition_reassignments(
    node: Node, request: ListPartitionReassignmentsRequest, call: Call
) -> ListPartitionReassignmentsResponse:
    call.park()
    partitions = None
    if request.topics is not None:
        partitions = [(topic.name, index) for topic in request.topics for index in topic.partition_indexes]
    topics: dict[str, OngoingTopicReassignment] = {}
    for (topic, index), assignment in (await node.controller.list_partition_reassignments(partitions)).items():
        topics.setdefault(topic, OngoingTopicReassignment(name=topic)).partitions.append(
            OngoingPartitionReassignment(
                partition_index=index,
                replicas=list(assignment.replicas),
                adding_replicas=list(assignment.adding),
                removing_replicas=list(assignment.removing),
            )
        )
    return ListPartitionReassignmentsResponse(topics=list(topics.values()))
