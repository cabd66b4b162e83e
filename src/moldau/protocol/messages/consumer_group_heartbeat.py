"""ConsumerGroupHeartbeat (68): join, stay in and leave a group whose assignment the broker makes (KIP-848).

Flexible from the start.

v1: subscription by a regular expression that the broker evaluates; the member makes its own id; request +
    subscribed_topic_regex.
"""

from __future__ import annotations

from moldau.protocol.schema import ZERO_UUID, Int16, Int32, Message, String, Struct, Uuid, message, struct, wire


@struct
class TopicPartitions(Struct):
    topic_id: Uuid = ZERO_UUID
    partitions: list[Int32] = wire(default=[])


@message(key=68, versions="0-1", flexible="0+")
class ConsumerGroupHeartbeatRequest(Message):
    group_id: String = ""
    member_id: String = ""
    member_epoch: Int32 = 0
    instance_id: String | None = wire(default=None, null="0+")
    rack_id: String | None = wire(default=None, null="0+")
    rebalance_timeout_ms: Int32 = -1
    subscribed_topic_names: list[String] | None = wire(default=None, null="0+")
    subscribed_topic_regex: String | None = wire("1+", default=None, null="1+")
    server_assignor: String | None = wire(default=None, null="0+")
    topic_partitions: list[TopicPartitions] | None = wire(default=None, null="0+")


@struct
class Assignment(Struct):
    topic_partitions: list[TopicPartitions] = wire(default=[])


@message(key=68, versions="0-1", flexible="0+")
class ConsumerGroupHeartbeatResponse(Message):
    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    error_message: String | None = wire(default=None, null="0+")
    member_id: String | None = wire(default=None, null="0+")
    member_epoch: Int32 = 0
    heartbeat_interval_ms: Int32 = 0
    assignment: Assignment | None = wire(default=None, null="0+")
