"""AlterPartitionReassignments: the active controller moves partitions to other brokers, or cancels that (KIP-455).

The answer comes when the reassignments have begun, not when they are finished. v1 can forbid a change of the number of
replicas (KIP-860).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from moldau.broker.call import Call
from moldau.broker.handlers import handles
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
)

if TYPE_CHECKING:
    from moldau.broker.node import Node


@handles(ApiKey.ALTER_PARTITION_REASSIGNMENTS, "0-1")
async def alter_partition_reassignments(
    node: Node, request: AlterPartitionReassignmentsRequest, call: Call
) -> AlterPartitionReassignmentsResponse:
    call.park()
    targets = {
        (topic.name, partition.partition_index): None if partition.replicas is None else tuple(partition.replicas)
        for topic in request.topics
        for partition in topic.partitions
    }
    outcomes = await node.controller.alter_partition_reassignments(
        targets, allow_replication_factor_change=request.allow_replication_factor_change
    )
    response = AlterPartitionReassignmentsResponse(
        allow_replication_factor_change=request.allow_replication_factor_change
    )
    for topic in request.topics:
        answered = ReassignableTopicResponse(name=topic.name)
        for partition in topic.partitions:
            result = ReassignablePartitionResponse(partition_index=partition.partition_index)
            error = outcomes[topic.name, partition.partition_index]
            if error is not None:
                result.error_code, result.error_message = error.code, error.message or None
            answered.partitions.append(result)
        response.responses.append(answered)
    return response
