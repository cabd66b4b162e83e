"""StopReplica: the controller says which replicas this broker gives up, and which of them it deletes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from moldau.broker.call import Call
from moldau.broker.handlers import handles
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.stop_replica import StopReplicaPartitionError, StopReplicaRequest, StopReplicaResponse
from moldau.replication.state_changes import Stop
from moldau.storage.log_directory import TopicPartition

if TYPE_CHECKING:
    from moldau.broker.node import Node

ANY_EPOCH = -1


@handles(ApiKey.STOP_REPLICA, "0-4")
async def stop_replica(node: Node, request: StopReplicaRequest, _call: Call) -> StopReplicaResponse:
    await node.check_controller(request.controller_id, request.controller_epoch, request.broker_epoch)
    outcomes = await node.state_changes.stop(stops_of(request))
    return StopReplicaResponse(
        partition_errors=[
            StopReplicaPartitionError(topic_name=topic, partition_index=partition, error_code=code)
            for (topic, partition), code in outcomes.items()
        ]
    )


def stops_of(request: StopReplicaRequest) -> dict[TopicPartition, Stop]:
    """Before version 3 all of a request are deleted, or none."""
    old = Stop(ANY_EPOCH, request.delete_partitions)
    stops = {(one.topic_name, one.partition_index): old for one in request.ungrouped_partitions}
    stops |= {(topic.name, index): old for topic in request.topics for index in topic.partition_indexes}
    for topic in request.topic_states:
        for one in topic.partition_states:
            stops[topic.topic_name, one.partition_index] = Stop(one.leader_epoch, one.delete_partition)
    return stops
