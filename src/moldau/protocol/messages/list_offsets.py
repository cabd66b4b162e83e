"""ListOffsets (2): find offsets by timestamp, or the earliest, latest and their kin.

v1: one offset with its timestamp instead of a list; request - max_num_offsets; answer + timestamp, offset; answer -
    old_style_offsets.
v2: isolation level (KIP-98); request + isolation_level; answer + throttle_time_ms.
v3: throttled answers are sent before the throttling (KIP-219).
v4: leader epochs (KIP-320); request + current_leader_epoch; answer + leader_epoch.
v5: the same as 4.
v6: flexible.
v7: timestamp -3: the record with the largest timestamp (KIP-734).
v8: timestamp -4: the earliest local offset (KIP-405).
v9: timestamp -5: the last tiered offset (KIP-1005).
v10: a timeout for asynchronous look-ups (KIP-1075); request + timeout_ms.
v11: timestamp -6: the earliest pending upload (KIP-1023).
"""

from __future__ import annotations

from moldau.protocol.schema import Int8, Int16, Int32, Int64, Message, String, Struct, message, struct, wire


@struct
class ListOffsetsPartition(Struct):
    partition_index: Int32 = 0
    current_leader_epoch: Int32 = wire("4+", default=-1, ignorable=True)
    timestamp: Int64 = 0
    max_num_offsets: Int32 = wire("0", default=1)


@struct
class ListOffsetsTopic(Struct):
    name: String = ""
    partitions: list[ListOffsetsPartition] = wire(default=[])


@message(key=2, versions="0-11", flexible="6+")
class ListOffsetsRequest(Message):
    replica_id: Int32 = 0
    isolation_level: Int8 = wire("2+", default=0)
    topics: list[ListOffsetsTopic] = wire(default=[])
    timeout_ms: Int32 = wire("10+", default=0, ignorable=True)


@struct
class ListOffsetsPartitionResponse(Struct):
    partition_index: Int32 = 0
    error_code: Int16 = 0
    old_style_offsets: list[Int64] = wire("0", default=[])
    timestamp: Int64 = wire("1+", default=-1)
    offset: Int64 = wire("1+", default=-1)
    leader_epoch: Int32 = wire("4+", default=-1)


@struct
class ListOffsetsTopicResponse(Struct):
    name: String = ""
    partitions: list[ListOffsetsPartitionResponse] = wire(default=[])


@message(key=2, versions="0-11", flexible="6+")
class ListOffsetsResponse(Message):
    throttle_time_ms: Int32 = wire("2+", default=0, ignorable=True)
    topics: list[ListOffsetsTopicResponse] = wire(default=[])
