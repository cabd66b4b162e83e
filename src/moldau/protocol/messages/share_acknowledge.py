"""ShareAcknowledge (79): acknowledge records read under a lock (KIP-932).

Flexible from the start.

v0: early access in 3.9.
v1: as released in 4.1.
v2: renewal of locks (KIP-1222); request + is_renew_ack; answer + acquisition_lock_timeout_ms.
"""

from __future__ import annotations

from moldau.protocol.schema import (
    ZERO_UUID,
    Bool,
    Int8,
    Int16,
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


@struct
class AcknowledgementBatch(Struct):
    first_offset: Int64 = 0
    last_offset: Int64 = 0
    acknowledge_types: list[Int8] = wire(default=[])


@struct
class AcknowledgePartition(Struct):
    partition_index: Int32 = 0
    acknowledgement_batches: list[AcknowledgementBatch] = wire(default=[])


@struct
class AcknowledgeTopic(Struct):
    topic_id: Uuid = ZERO_UUID
    partitions: list[AcknowledgePartition] = wire(default=[])


@message(key=79, versions="0-2", flexible="0+")
class ShareAcknowledgeRequest(Message):
    group_id: String | None = wire(default=None, null="0+")
    member_id: String | None = wire(default=None, null="0+")
    share_session_epoch: Int32 = 0
    is_renew_ack: Bool = wire("2+", default=False)
    topics: list[AcknowledgeTopic] = wire(default=[])


@struct
class LeaderIdAndEpoch(Struct):
    leader_id: Int32 = 0
    leader_epoch: Int32 = 0


@struct
class PartitionData(Struct):
    partition_index: Int32 = 0
    error_code: Int16 = 0
    error_message: String | None = wire(default=None, null="0+")
    current_leader: LeaderIdAndEpoch = wire(default=LeaderIdAndEpoch)


@struct
class ShareAcknowledgeTopicResponse(Struct):
    topic_id: Uuid = ZERO_UUID
    partitions: list[PartitionData] = wire(default=[])


@struct
class NodeEndpoint(Struct):
    node_id: Int32 = 0
    host: String = ""
    port: Int32 = 0
    rack: String | None = wire(default=None, null="0+")


@message(key=79, versions="0-2", flexible="0+")
class ShareAcknowledgeResponse(Message):
    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    error_message: String | None = wire(default=None, null="0+")
    acquisition_lock_timeout_ms: Int32 = wire("2+", default=0, ignorable=True)
    responses: list[ShareAcknowledgeTopicResponse] = wire(default=[])
    node_endpoints: list[NodeEndpoint] = wire(default=[])
