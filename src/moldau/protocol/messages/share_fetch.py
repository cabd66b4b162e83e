"""ShareFetch (78): read records under a lock, and acknowledge others (KIP-932).

Flexible from the start.

v0: early access in 3.9.
v1: as released in 4.1: limits on records and their batches; records are never null; request + max_records,
    batch_size; request - partition_max_bytes; answer + acquisition_lock_timeout_ms.
v2: acquire modes (KIP-1206) and renewal of locks (KIP-1222); request + share_acquire_mode, is_renew_ack.
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
    Records,
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
class FetchPartition(Struct):
    partition_index: Int32 = 0
    partition_max_bytes: Int32 = wire("0", default=0)
    acknowledgement_batches: list[AcknowledgementBatch] = wire(default=[])


@struct
class FetchTopic(Struct):
    topic_id: Uuid = ZERO_UUID
    partitions: list[FetchPartition] = wire(default=[])


@struct
class ForgottenTopic(Struct):
    topic_id: Uuid = ZERO_UUID
    partitions: list[Int32] = wire(default=[])


@message(key=78, versions="0-2", flexible="0+")
class ShareFetchRequest(Message):
    group_id: String | None = wire(default=None, null="0+")
    member_id: String | None = wire(default=None, null="0+")
    share_session_epoch: Int32 = 0
    max_wait_ms: Int32 = 0
    min_bytes: Int32 = 0
    max_bytes: Int32 = 0x7FFFFFFF
    max_records: Int32 = wire("1+", default=0)
    batch_size: Int32 = wire("1+", default=0)
    share_acquire_mode: Int8 = wire("2+", default=0, ignorable=True)
    is_renew_ack: Bool = wire("2+", default=False)
    topics: list[FetchTopic] = wire(default=[])
    forgotten_topics_data: list[ForgottenTopic] = wire(default=[])


@struct
class LeaderIdAndEpoch(Struct):
    leader_id: Int32 = 0
    leader_epoch: Int32 = 0


@struct
class AcquiredRecords(Struct):
    first_offset: Int64 = 0
    last_offset: Int64 = 0
    delivery_count: Int16 = 0


@struct
class PartitionData(Struct):
    partition_index: Int32 = 0
    error_code: Int16 = 0
    error_message: String | None = wire(default=None, null="0+")
    acknowledge_error_code: Int16 = 0
    acknowledge_error_message: String | None = wire(default=None, null="0+")
    current_leader: LeaderIdAndEpoch = wire(default=LeaderIdAndEpoch)
    records: Records | None = wire(default=b"", null="0")
    acquired_records: list[AcquiredRecords] = wire(default=[])


@struct
class ShareFetchableTopicResponse(Struct):
    topic_id: Uuid = ZERO_UUID
    partitions: list[PartitionData] = wire(default=[])


@struct
class NodeEndpoint(Struct):
    node_id: Int32 = 0
    host: String = ""
    port: Int32 = 0
    rack: String | None = wire(default=None, null="0+")


@message(key=78, versions="0-2", flexible="0+")
class ShareFetchResponse(Message):
    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    error_message: String | None = wire(default=None, null="0+")
    acquisition_lock_timeout_ms: Int32 = wire("1+", default=0)
    responses: list[ShareFetchableTopicResponse] = wire(default=[])
    node_endpoints: list[NodeEndpoint] = wire(default=[])
