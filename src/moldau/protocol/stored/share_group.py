"""What a share group stores in `__consumer_offsets` (KIP-932)."""

from __future__ import annotations

from moldau.protocol.schema import ZERO_UUID, Int8, Int32, Int64, Message, String, Struct, Uuid, message, struct, wire


@message(key=10, versions="0")
class ShareGroupMemberMetadataKey(Message):
    group_id: String = ""
    member_id: String = ""


@message(key=10, versions="0", flexible="0+")
class ShareGroupMemberMetadataValue(Message):
    rack_id: String | None = wire(default=None, null="0+")
    client_id: String = ""
    client_host: String = ""
    subscribed_topic_names: list[String] = wire(default=[])


@message(key=11, versions="0")
class ShareGroupMetadataKey(Message):
    group_id: String = ""


@message(key=11, versions="0", flexible="0+")
class ShareGroupMetadataValue(Message):
    epoch: Int32 = 0
    metadata_hash: Int64 = 0


@message(key=12, versions="0")
class ShareGroupTargetAssignmentMetadataKey(Message):
    group_id: String = ""


@message(key=12, versions="0", flexible="0+")
class ShareGroupTargetAssignmentMetadataValue(Message):
    assignment_epoch: Int32 = 0
    assignment_timestamp: Int64 = wire(default=0, tag=0)


@message(key=13, versions="0")
class ShareGroupTargetAssignmentMemberKey(Message):
    group_id: String = ""
    member_id: String = ""


@struct
class TopicPartition(Struct):
    topic_id: Uuid = ZERO_UUID
    partitions: list[Int32] = wire(default=[])


@message(key=13, versions="0", flexible="0+")
class ShareGroupTargetAssignmentMemberValue(Message):
    topic_partitions: list[TopicPartition] = wire(default=[])


@message(key=14, versions="0")
class ShareGroupCurrentMemberAssignmentKey(Message):
    group_id: String = ""
    member_id: String = ""


@struct
class TopicPartitions(Struct):
    topic_id: Uuid = ZERO_UUID
    partitions: list[Int32] = wire(default=[])


@message(key=14, versions="0", flexible="0+")
class ShareGroupCurrentMemberAssignmentValue(Message):
    member_epoch: Int32 = 0
    previous_member_epoch: Int32 = 0
    state: Int8 = 0
    assigned_partitions: list[TopicPartitions] = wire(default=[])


@message(key=15, versions="0")
class ShareGroupStatePartitionMetadataKey(Message):
    group_id: String = ""


@struct
class TopicPartitionsInfo(Struct):
    topic_id: Uuid = ZERO_UUID
    topic_name: String = ""
    partitions: list[Int32] = wire(default=[])


@struct
class TopicInfo(Struct):
    topic_id: Uuid = ZERO_UUID
    topic_name: String = ""


@message(key=15, versions="0", flexible="0+")
class ShareGroupStatePartitionMetadataValue(Message):
    initializing_topics: list[TopicPartitionsInfo] = wire(default=[])
    initialized_topics: list[TopicPartitionsInfo] = wire(default=[])
    deleting_topics: list[TopicInfo] = wire(default=[])
