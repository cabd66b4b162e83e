"""DescribeProducers (61): the producers that a partition remembers (KIP-664).

Flexible from the start.
"""

from __future__ import annotations

from moldau.protocol.schema import Int16, Int32, Int64, Message, String, Struct, message, struct, wire


@struct
class TopicRequest(Struct):
    name: String = ""
    partition_indexes: list[Int32] = wire(default=[])


@message(key=61, versions="0", flexible="0+")
class DescribeProducersRequest(Message):
    topics: list[TopicRequest] = wire(default=[])


@struct
class ProducerState(Struct):
    producer_id: Int64 = 0
    producer_epoch: Int32 = 0
    last_sequence: Int32 = -1
    last_timestamp: Int64 = -1
    coordinator_epoch: Int32 = 0
    current_txn_start_offset: Int64 = -1


@struct
class PartitionResponse(Struct):
    partition_index: Int32 = 0
    error_code: Int16 = 0
    error_message: String | None = wire(default=None, null="0+")
    active_producers: list[ProducerState] = wire(default=[])


@struct
class TopicResponse(Struct):
    name: String = ""
    partitions: list[PartitionResponse] = wire(default=[])


@message(key=61, versions="0", flexible="0+")
class DescribeProducersResponse(Message):
    throttle_time_ms: Int32 = 0
    topics: list[TopicResponse] = wire(default=[])
