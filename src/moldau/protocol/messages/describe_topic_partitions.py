"""DescribeTopicPartitions (75): describe the partitions of topics, page by page (KIP-966).

Flexible from the start.
"""

from __future__ import annotations

from moldau.protocol.schema import ZERO_UUID, Bool, Int16, Int32, Message, String, Struct, Uuid, message, struct, wire


@struct
class TopicRequest(Struct):
    name: String = ""


@struct
class Cursor(Struct):
    topic_name: String = ""
    partition_index: Int32 = 0


@message(key=75, versions="0", flexible="0+")
class DescribeTopicPartitionsRequest(Message):
    topics: list[TopicRequest] = wire(default=[])
    response_partition_limit: Int32 = 2000
    cursor: Cursor | None = wire(default=None, null="0+")


@struct
class DescribeTopicPartitionsResponsePartition(Struct):
    error_code: Int16 = 0
    partition_index: Int32 = 0
    leader_id: Int32 = 0
    leader_epoch: Int32 = -1
    replica_nodes: list[Int32] = wire(default=[])
    isr_nodes: list[Int32] = wire(default=[])
    eligible_leader_replicas: list[Int32] | None = wire(default=None, null="0+")
    last_known_elr: list[Int32] | None = wire(default=None, null="0+")
    offline_replicas: list[Int32] = wire(default=[])


@struct
class DescribeTopicPartitionsResponseTopic(Struct):
    error_code: Int16 = 0
    name: String | None = wire(default=None, null="0+")
    topic_id: Uuid = ZERO_UUID
    is_internal: Bool = False
    partitions: list[DescribeTopicPartitionsResponsePartition] = wire(default=[])
    topic_authorized_operations: Int32 = -2147483648


@message(key=75, versions="0", flexible="0+")
class DescribeTopicPartitionsResponse(Message):
    throttle_time_ms: Int32 = 0
    topics: list[DescribeTopicPartitionsResponseTopic] = wire(default=[])
    next_cursor: Cursor | None = wire(default=None, null="0+")
