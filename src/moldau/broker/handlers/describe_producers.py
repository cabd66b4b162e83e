"""DescribeProducers: who writes to a partition with idempotence or in transactions (KIP-664)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError
from moldau.broker.call import Call
from moldau.broker.handlers import handles
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    PartitionResponse,
    ProducerState,
    TopicResponse,
)
from moldau.storage.producer_entry import ProducerEntry

if TYPE_CHECKING:
    from moldau.broker.node import Node

NO_TRANSACTION = -1


def refused(request: DescribeProducersRequest, code: ErrorCode, message: str) -> DescribeProducersResponse:
    return DescribeProducersResponse(
        topics=[
            TopicResponse(
                name=topic.name,
                partitions=[
                    PartitionResponse(partition_index=index, error_code=code, error_message=message)
                    for index in topic.partition_indexes
                ],
            )
            for topic in request.topics
        ]
    )


@handles(ApiKey.DESCRIBE_PRODUCERS, "0", on_error=refused)
def describe_producers(node: Node, request: DescribeProducersRequest, _call: Call) -> DescribeProducersResponse:
    return DescribeProducersResponse(
        topics=[
            TopicResponse(
                name=topic.name, partitions=[_describe(node, topic.name, index) for index in topic.partition_indexes]
            )
            for topic in request.topics
        ]
    )


def _describe(node: Node, topic: str, index: int) -> PartitionResponse:
    try:
        log = node.replicas.log((topic, index))
    except ApiError as error:
        return PartitionResponse(partition_index=index, error_code=error.code, error_message=error.message)
    producers = log.producer_state.producers.items()
    return PartitionResponse(
        partition_index=index, active_producers=[_state(producer_id, entry) for producer_id, entry in producers]
    )


def _state(producer_id: int, entry: ProducerEntry) -> ProducerState:
    return ProducerState(
        producer_id=producer_id,
        producer_epoch=entry.producer_epoch,
        last_sequence=entry.last_sequence,
        last_timestamp=entry.last_timestamp,
        coordinator_epoch=entry.coordinator_epoch,
        current_txn_start_offset=entry.transaction_first_offset,
    )
