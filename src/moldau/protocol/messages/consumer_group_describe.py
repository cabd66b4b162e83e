"""ConsumerGroupDescribe (69): the state and the members of KIP-848 groups.

Flexible from the start.

v1: whether a member is classic or new (KIP-1099); answer + member_type.
"""

from __future__ import annotations

from moldau.protocol.schema import (
    ZERO_UUID,
    Bool,
    Int8,
    Int16,
    Int32,
    Message,
    String,
    Struct,
    Uuid,
    message,
    struct,
    wire,
)


@message(key=69, versions="0-1", flexible="0+")
class ConsumerGroupDescribeRequest(Message):
    group_ids: list[String] = wire(default=[])
    include_authorized_operations: Bool = False


@struct
class TopicPartitions(Struct):
    topic_id: Uuid = ZERO_UUID
    topic_name: String = ""
    partitions: list[Int32] = wire(default=[])


@struct
class Assignment(Struct):
    topic_partitions: list[TopicPartitions] = wire(default=[])


@struct
class Member(Struct):
    member_id: String = ""
    instance_id: String | None = wire(default=None, null="0+")
    rack_id: String | None = wire(default=None, null="0+")
    member_epoch: Int32 = 0
    client_id: String = ""
    client_host: String = ""
    subscribed_topic_names: list[String] = wire(default=[])
    subscribed_topic_regex: String | None = wire(default=None, null="0+")
    assignment: Assignment = wire(default=Assignment)
    target_assignment: Assignment = wire(default=Assignment)
    member_type: Int8 = wire("1+", default=-1, ignorable=True)


@struct
class DescribedGroup(Struct):
    error_code: Int16 = 0
    error_message: String | None = wire(default=None, null="0+")
    group_id: String = ""
    group_state: String = ""
    group_epoch: Int32 = 0
    assignment_epoch: Int32 = 0
    assignor_name: String = ""
    members: list[Member] = wire(default=[])
    authorized_operations: Int32 = -2147483648


@message(key=69, versions="0-1", flexible="0+")
class ConsumerGroupDescribeResponse(Message):
    throttle_time_ms: Int32 = 0
    groups: list[DescribedGroup] = wire(default=[])
