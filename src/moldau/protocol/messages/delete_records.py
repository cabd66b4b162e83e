"""DeleteRecords (21): move the start of a partition's log forward.

v1: throttled answers are sent before the throttling (KIP-219).
v2: flexible.
"""

from __future__ import annotations

from moldau.protocol.schema import Int16, Int32, Int64, Message, String, Struct, message, struct, wire


@struct
class DeleteRecordsPartition(Struct):
    partition_index: Int32 = 0
    offset: Int64 = 0


@struct
class DeleteRecordsTopic(Struct):
    name: String = ""
    partitions: list[DeleteRecordsPartition] = wire(default=[])


@message(key=21, versions="0-2", flexible="2+")
class DeleteRecordsRequest(Message):
    topics: list[DeleteRecordsTopic] = wire(default=[])
    timeout_ms: Int32 = 0


@struct
class DeleteRecordsPartitionResult(Struct):
    partition_index: Int32 = 0
    low_watermark: Int64 = 0
    error_code: Int16 = 0


@struct
class DeleteRecordsTopicResult(Struct):
    name: String = ""
    partitions: list[DeleteRecordsPartitionResult] = wire(default=[])


@message(key=21, versions="0-2", flexible="2+")
class DeleteRecordsResponse(Message):
    throttle_time_ms: Int32 = 0
    topics: list[DeleteRecordsTopicResult] = wire(default=[])
