"""LeaderAndIsr: the controller says which partitions this broker leads and follows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from moldau.broker.call import Call
from moldau.broker.handlers import handles
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.leader_and_isr import (
    LeaderAndIsrPartitionError,
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    LeaderAndIsrTopicError,
)
from moldau.protocol.schema import ZERO_UUID
from moldau.replication.partition_state import LeaderAndIsr
from moldau.replication.state_changes import Order
from moldau.storage.log_directory import TopicPartition

if TYPE_CHECKING:
    from moldau.broker.node import Node

TOPIC_IDS_VERSION = 5


@handles(ApiKey.LEADER_AND_ISR, "0-7")
async def leader_and_isr(node: Node, request: LeaderAndIsrRequest, call: Call) -> LeaderAndIsrResponse:
    await node.check_controller(request.controller_id, request.controller_epoch, request.broker_epoch)
    outcomes = await node.state_changes.obey(orders_of(request))
    ids = {topic.topic_name: topic.topic_id for topic in request.topic_states}
    flat: list[LeaderAndIsrPartitionError] = []
    topics: dict[str, LeaderAndIsrTopicError] = {}
    for (topic, partition), code in outcomes.items():
        outcome = LeaderAndIsrPartitionError(topic_name=topic, partition_index=partition, error_code=code)
        if call.version < TOPIC_IDS_VERSION:
            flat.append(outcome)
        else:
            topics.setdefault(topic, LeaderAndIsrTopicError(topic_id=ids[topic])).partition_errors.append(outcome)
    return LeaderAndIsrResponse(partition_errors=flat, topics=list(topics.values()))


def orders_of(request: LeaderAndIsrRequest) -> dict[TopicPartition, Order]:
    orders = {(one.topic_name, one.partition_index): order_of(one) for one in request.ungrouped_partition_states}
    for topic in request.topic_states:
        topic_id = None if topic.topic_id == ZERO_UUID else topic.topic_id
        for one in topic.partition_states:
            orders[topic.topic_name, one.partition_index] = order_of(one, topic_id)
    return orders


def order_of(one: LeaderAndIsrPartitionState, topic_id: bytes | None = None) -> Order:
    state = LeaderAndIsr(
        leader=one.leader,
        leader_epoch=one.leader_epoch,
        isr=tuple(one.isr),
        partition_epoch=one.partition_epoch,
        replicas=tuple(one.replicas),
        adding_replicas=tuple(one.adding_replicas),
    )
    return Order(state, topic_id, one.is_new)
