"""OffsetCommit (8): store the offsets that a group has consumed.

v1: membership, and a timestamp for each partition; request + generation_id_or_member_epoch, member_id,
    commit_timestamp.
v2: a retention time for the request instead; offsets stored in Kafka; request + retention_time_ms; request -
    commit_timestamp.
v3: quotas; answer + throttle_time_ms.
v4: throttled answers are sent before the throttling (KIP-219).
v5: no retention time any more (KIP-211); request - retention_time_ms.
v6: leader epochs (KIP-320); request + committed_leader_epoch.
v7: static members (KIP-345); request + group_instance_id.
v8: flexible.
v9: the member epoch of KIP-848 groups.
v10: topics by id instead of by name; request + topic_id; request - name; answer + topic_id; answer - name.
"""

from __future__ import annotations

from moldau.protocol.schema import ZERO_UUID, Int16, Int32, Int64, Message, String, Struct, Uuid, message, struct, wire


@struct
class OffsetCommitRequestPartition(Struct):
    partition_index: Int32 = 0
    committed_offset: Int64 = 0
    committed_leader_epoch: Int32 = wire("6+", default=-1, ignorable=True)
    commit_timestamp: Int64 = wire("1", default=-1)
    committed_metadata: String | None = wire(default=None, null="0+")


@struct
class OffsetCommitRequestTopic(Struct):
    name: String = wire("0-9", default="", ignorable=True)
    topic_id: Uuid = wire("10+", default=ZERO_UUID, ignorable=True)
    partitions: list[OffsetCommitRequestPartition] = wire(default=[])


@message(key=8, versions="0-10", flexible="8+")
class OffsetCommitRequest(Message):
    group_id: String = ""
    generation_id_or_member_epoch: Int32 = wire("1+", default=-1, ignorable=True)
    member_id: String = wire("1+", default="", ignorable=True)
    group_instance_id: String | None = wire("7+", default=None, null="7+")
    retention_time_ms: Int64 = wire("2-4", default=-1, ignorable=True)
    topics: list[OffsetCommitRequestTopic] = wire(default=[])


@struct
class OffsetCommitResponsePartition(Struct):
    partition_index: Int32 = 0
    error_code: Int16 = 0


@struct
class OffsetCommitResponseTopic(Struct):
    name: String = wire("0-9", default="", ignorable=True)
    topic_id: Uuid = wire("10+", default=ZERO_UUID, ignorable=True)
    partitions: list[OffsetCommitResponsePartition] = wire(default=[])


@message(key=8, versions="0-10", flexible="8+")
class OffsetCommitResponse(Message):
    throttle_time_ms: Int32 = wire("3+", default=0, ignorable=True)
    topics: list[OffsetCommitResponseTopic] = wire(default=[])
