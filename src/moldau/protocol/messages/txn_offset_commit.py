"""TxnOffsetCommit (28): store consumed offsets that count when a transaction commits.

v1: throttled answers are sent before the throttling (KIP-219).
v2: leader epochs (KIP-320); request + committed_leader_epoch.
v3: the consumer's membership, so that a zombie is fenced (KIP-447); request + generation_id, member_id,
    group_instance_id; flexible.
v4: TRANSACTION_ABORTABLE may be answered (KIP-890).
v5: adds the offsets to the transaction by itself (KIP-890).
"""

from __future__ import annotations

from moldau.protocol.schema import Int16, Int32, Int64, Message, String, Struct, message, struct, wire


@struct
class TxnOffsetCommitRequestPartition(Struct):
    partition_index: Int32 = 0
    committed_offset: Int64 = 0
    committed_leader_epoch: Int32 = wire("2+", default=-1, ignorable=True)
    committed_metadata: String | None = wire(default=None, null="0+")


@struct
class TxnOffsetCommitRequestTopic(Struct):
    name: String = ""
    partitions: list[TxnOffsetCommitRequestPartition] = wire(default=[])


@message(key=28, versions="0-5", flexible="3+")
class TxnOffsetCommitRequest(Message):
    transactional_id: String = ""
    group_id: String = ""
    producer_id: Int64 = 0
    producer_epoch: Int16 = 0
    generation_id: Int32 = wire("3+", default=-1)
    member_id: String = wire("3+", default="")
    group_instance_id: String | None = wire("3+", default=None, null="3+")
    topics: list[TxnOffsetCommitRequestTopic] = wire(default=[])


@struct
class TxnOffsetCommitResponsePartition(Struct):
    partition_index: Int32 = 0
    error_code: Int16 = 0


@struct
class TxnOffsetCommitResponseTopic(Struct):
    name: String = ""
    partitions: list[TxnOffsetCommitResponsePartition] = wire(default=[])


@message(key=28, versions="0-5", flexible="3+")
class TxnOffsetCommitResponse(Message):
    throttle_time_ms: Int32 = 0
    topics: list[TxnOffsetCommitResponseTopic] = wire(default=[])
