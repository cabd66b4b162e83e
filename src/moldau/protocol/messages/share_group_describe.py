"""ShareGroupDescribe (77): the state and the members of share groups (KIP-932).

Flexible from the start.

v0: early access in 3.9.
v1: as released in 4.1.
"""

from __future__ import annotations

from moldau.protocol.schema import ZERO_UUID, Bool, Int16, Int32, Message, String, Struct, Uuid, message, struct, wire


@message(key=77, versions="0-1", flexible="0+")
class ShareGroupDescribeRequest(Message):
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
    rack_id: String | None = wire(default=None, null="0+")
    member_epoch: Int32 = 0
    client_id: String = ""
    client_host: String = ""
    subscribed_topic_names: list[String] = wire(default=[])
    assignment: Assignment = wire(default=Assignment)


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


@message(key=77, versions="0-1", flexible="0+")
class ShareGroupDescribeResponse(Message):
    throttle_time_ms: Int32 = 0
    groups: list[DescribedGroup] = wire(default=[])
