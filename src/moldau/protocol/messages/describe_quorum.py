"""DescribeQuorum (55): the state of a KRaft quorum (KIP-642).

Flexible from the start.

v1: when replicas last fetched and were caught up (KIP-836); answer + last_fetch_timestamp,
    last_caught_up_timestamp.
v2: directories, endpoints and error messages (KIP-853); answer + error_message, replica_directory_id, nodes.
"""

from __future__ import annotations

from moldau.protocol.schema import (
    ZERO_UUID,
    Int16,
    Int32,
    Int64,
    Message,
    String,
    Struct,
    UInt16,
    Uuid,
    message,
    struct,
    wire,
)


@struct
class RequestPartitionData(Struct):
    partition_index: Int32 = 0


@struct
class RequestTopicData(Struct):
    topic_name: String = ""
    partitions: list[RequestPartitionData] = wire(default=[])


@message(key=55, versions="0-2", flexible="0+")
class DescribeQuorumRequest(Message):
    topics: list[RequestTopicData] = wire(default=[])


@struct
class ReplicaState(Struct):
    replica_id: Int32 = 0
    replica_directory_id: Uuid = wire("2+", default=ZERO_UUID)
    log_end_offset: Int64 = 0
    last_fetch_timestamp: Int64 = wire("1+", default=-1, ignorable=True)
    last_caught_up_timestamp: Int64 = wire("1+", default=-1, ignorable=True)


@struct
class ResponsePartitionData(Struct):
    partition_index: Int32 = 0
    error_code: Int16 = 0
    error_message: String | None = wire("2+", default=None, null="2+", ignorable=True)
    leader_id: Int32 = 0
    leader_epoch: Int32 = 0
    high_watermark: Int64 = 0
    current_voters: list[ReplicaState] = wire(default=[])
    observers: list[ReplicaState] = wire(default=[])


@struct
class ResponseTopicData(Struct):
    topic_name: String = ""
    partitions: list[ResponsePartitionData] = wire(default=[])


@struct
class Listener(Struct):
    name: String = ""
    host: String = ""
    port: UInt16 = 0


@struct
class Node(Struct):
    node_id: Int32 = 0
    listeners: list[Listener] = wire(default=[])


@message(key=55, versions="0-2", flexible="0+")
class DescribeQuorumResponse(Message):
    error_code: Int16 = 0
    error_message: String | None = wire("2+", default=None, null="2+", ignorable=True)
    topics: list[ResponseTopicData] = wire(default=[])
    nodes: list[Node] = wire("2+", default=[])
