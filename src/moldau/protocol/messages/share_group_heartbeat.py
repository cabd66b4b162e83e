"""ShareGroupHeartbeat (76): join, stay in and leave a share group (KIP-932).

Flexible from the start.

v0: early access in 3.9.
v1: as released in 4.1.
"""

from __future__ import annotations

from moldau.protocol.schema import ZERO_UUID, Int16, Int32, Message, String, Struct, Uuid, message, struct, wire


@message(key=76, versions="0-1", flexible="0+")
class ShareGroupHeartbeatRequest(Message):
    group_id: String = ""
    member_id: String = ""
    member_epoch: Int32 = 0
    rack_id: String | None = wire(default=None, null="0+")
    subscribed_topic_names: list[String] | None = wire(default=None, null="0+")


@struct
class TopicPartitions(Struct):
    topic_id: Uuid = ZERO_UUID
    partitions: list[Int32] = wire(default=[])


@struct
class Assignment(Struct):
    topic_partitions: list[TopicPartitions] = wire(default=[])


@message(key=76, versions="0-1", flexible="0+")
class ShareGroupHeartbeatResponse(Message):
    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    error_message: String | None = wire(default=None, null="0+")
    member_id: String | None = wire(default=None, null="0+")
    member_epoch: Int32 = 0
    heartbeat_interval_ms: Int32 = 0
    assignment: Assignment | None = wire(default=None, null="0+")
