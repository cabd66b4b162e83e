"""What a KIP-848 group stores in `__consumer_offsets`: members, epochs, and target and current assignments."""

from __future__ import annotations

from moldau.protocol.schema import (
    ZERO_UUID,
    Bytes,
    Int8,
    Int32,
    Int64,
    Message,
    String,
    Struct,
    Uuid,
    message,
    struct,
    wire,
)


@message(key=3, versions="0")
class ConsumerGroupMetadataKey(Message):
    group_id: String = ""


@message(key=3, versions="0", flexible="0+")
class ConsumerGroupMetadataValue(Message):
    epoch: Int32 = 0
    metadata_hash: Int64 = wire(default=0, tag=0)


@message(key=4, versions="0")
class ConsumerGroupPartitionMetadataKey(Message):
    group_id: String = ""


@struct
class PartitionMetadata(Struct):
    partition: Int32 = 0
    racks: list[String] = wire(default=[])


@struct
class TopicMetadata(Struct):
    topic_id: Uuid = ZERO_UUID
    topic_name: String = ""
    num_partitions: Int32 = 0
    partition_metadata: list[PartitionMetadata] = wire(default=[])


@message(key=4, versions="0", flexible="0+")
class ConsumerGroupPartitionMetadataValue(Message):
    topics: list[TopicMetadata] = wire(default=[])


@message(key=5, versions="0")
class ConsumerGroupMemberMetadataKey(Message):
    group_id: String = ""
    member_id: String = ""


@struct
class ClassicProtocol(Struct):
    name: String = ""
    metadata: Bytes = b""


@struct
class ClassicMemberMetadata(Struct):
    session_timeout_ms: Int32 = 0
    supported_protocols: list[ClassicProtocol] = wire(default=[])


@message(key=5, versions="0", flexible="0+")
class ConsumerGroupMemberMetadataValue(Message):
    instance_id: String | None = wire(default=None, null="0+")
    rack_id: String | None = wire(default=None, null="0+")
    client_id: String = ""
    client_host: String = ""
    subscribed_topic_names: list[String] = wire(default=[])
    subscribed_topic_regex: String | None = wire(default=None, null="0+")
    rebalance_timeout_ms: Int32 = -1
    server_assignor: String | None = wire(default=None, null="0+")
    classic_member_metadata: ClassicMemberMetadata | None = wire(default=None, null="0+", tag=0)


@message(key=6, versions="0")
class ConsumerGroupTargetAssignmentMetadataKey(Message):
    group_id: String = ""


@message(key=6, versions="0", flexible="0+")
class ConsumerGroupTargetAssignmentMetadataValue(Message):
    assignment_epoch: Int32 = 0
    assignment_timestamp: Int64 = wire(default=0, tag=0)


@message(key=7, versions="0")
class ConsumerGroupTargetAssignmentMemberKey(Message):
    group_id: String = ""
    member_id: String = ""


@struct
class TopicPartition(Struct):
    topic_id: Uuid = ZERO_UUID
    partitions: list[Int32] = wire(default=[])


@message(key=7, versions="0", flexible="0+")
class ConsumerGroupTargetAssignmentMemberValue(Message):
    topic_partitions: list[TopicPartition] = wire(default=[])


@message(key=8, versions="0")
class ConsumerGroupCurrentMemberAssignmentKey(Message):
    group_id: String = ""
    member_id: String = ""


@struct
class TopicPartitions(Struct):
    topic_id: Uuid = ZERO_UUID
    partitions: list[Int32] = wire(default=[])
    assignment_epochs: list[Int32] | None = wire(default=None, null="0+", tag=0)


@message(key=8, versions="0", flexible="0+")
class ConsumerGroupCurrentMemberAssignmentValue(Message):
    member_epoch: Int32 = 0
    previous_member_epoch: Int32 = 0
    state: Int8 = 0
    assigned_partitions: list[TopicPartitions] = wire(default=[])
    partitions_pending_revocation: list[TopicPartitions] = wire(default=[])


@message(key=16, versions="0")
class ConsumerGroupRegularExpressionKey(Message):
    group_id: String = ""
    regular_expression: String = ""


@message(key=16, versions="0", flexible="0+")
class ConsumerGroupRegularExpressionValue(Message):
    topics: list[String] = wire(default=[])
    version: Int64 = 0
    timestamp: Int64 = 0
