"""Produce (0): append record batches to partitions.

v1: answer + throttle_time_ms.
v2: the broker answers with its append time (KIP-32); message format v1 may be sent; answer + log_append_time_ms.
v3: transactions and message format v2 (KIP-98); exactly one v2 batch per partition; request + transactional_id.
v4: KAFKA_STORAGE_ERROR may be answered (KIP-112).
v5: answer + log_start_offset.
v6: throttled answers are sent before the throttling (KIP-219).
v7: zstd batches (KIP-110).
v8: answer + record_errors, error_message.
v9: flexible.
v10: the new leader rides along with NOT_LEADER_OR_FOLLOWER (KIP-951); answer + current_leader, node_endpoints.
v11: TRANSACTION_ABORTABLE may be answered (KIP-890).
v12: a transactional produce adds its partition to the transaction by itself (KIP-890).
v13: topics by id instead of by name; request + topic_id; request - name; answer + topic_id; answer - name.
"""

from __future__ import annotations

from moldau.protocol.schema import (
    ZERO_UUID,
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
class PartitionProduceData(Struct):
    index: Int32 = 0
    records: Records | None = wire(default=None, null="0+")


@struct
class TopicProduceData(Struct):
    name: String = wire("0-12", default="", ignorable=True)
    topic_id: Uuid = wire("13+", default=ZERO_UUID, ignorable=True)
    partition_data: list[PartitionProduceData] = wire(default=[])


@message(key=0, versions="0-13", flexible="9+")
class ProduceRequest(Message):
    transactional_id: String | None = wire("3+", default=None, null="3+")
    acks: Int16 = 0
    timeout_ms: Int32 = 0
    topic_data: list[TopicProduceData] = wire(default=[])


@struct
class BatchIndexAndErrorMessage(Struct):
    batch_index: Int32 = 0
    batch_index_error_message: String | None = wire(default=None, null="0+")


@struct
class LeaderIdAndEpoch(Struct):
    leader_id: Int32 = -1
    leader_epoch: Int32 = -1


@struct
class PartitionProduceResponse(Struct):
    index: Int32 = 0
    error_code: Int16 = 0
    base_offset: Int64 = 0
    log_append_time_ms: Int64 = wire("2+", default=-1, ignorable=True)
    log_start_offset: Int64 = wire("5+", default=-1, ignorable=True)
    record_errors: list[BatchIndexAndErrorMessage] = wire("8+", default=[], ignorable=True)
    error_message: String | None = wire("8+", default=None, null="8+", ignorable=True)
    current_leader: LeaderIdAndEpoch | None = wire("10+", default=None, tag=0)


@struct
class TopicProduceResponse(Struct):
    name: String = wire("0-12", default="", ignorable=True)
    topic_id: Uuid = wire("13+", default=ZERO_UUID, ignorable=True)
    partition_responses: list[PartitionProduceResponse] = wire(default=[])


@struct
class NodeEndpoint(Struct):
    node_id: Int32 = 0
    host: String = ""
    port: Int32 = 0
    rack: String | None = wire(default=None, null="0+")


@message(key=0, versions="0-13", flexible="9+")
class ProduceResponse(Message):
    responses: list[TopicProduceResponse] = wire(default=[])
    throttle_time_ms: Int32 = wire("1+", default=0, ignorable=True)
    node_endpoints: list[NodeEndpoint] = wire("10+", default=[], tag=0)
