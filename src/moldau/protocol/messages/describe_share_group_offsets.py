"""DescribeShareGroupOffsets (90): the start offsets of share groups (KIP-932).

Flexible from the start.

v1: lag (KIP-1226); answer + lag.
"""

from __future__ import annotations

from moldau.protocol.schema import ZERO_UUID, Int16, Int32, Int64, Message, String, Struct, Uuid, message, struct, wire


@struct
class DescribeShareGroupOffsetsRequestTopic(Struct):
    topic_name: String = ""
    partitions: list[Int32] = wire(default=[])


@struct
class DescribeShareGroupOffsetsRequestGroup(Struct):
    group_id: String = ""
    topics: list[DescribeShareGroupOffsetsRequestTopic] | None = wire(default=[], null="0+")


@message(key=90, versions="0-1", flexible="0+")
class DescribeShareGroupOffsetsRequest(Message):
    groups: list[DescribeShareGroupOffsetsRequestGroup] = wire(default=[])


@struct
class DescribeShareGroupOffsetsResponsePartition(Struct):
    partition_index: Int32 = 0
    start_offset: Int64 = 0
    leader_epoch: Int32 = 0
    lag: Int64 = wire("1+", default=-1, ignorable=True)
    error_code: Int16 = 0
    error_message: String | None = wire(default=None, null="0+")


@struct
class DescribeShareGroupOffsetsResponseTopic(Struct):
    topic_name: String = ""
    topic_id: Uuid = ZERO_UUID
    partitions: list[DescribeShareGroupOffsetsResponsePartition] = wire(default=[])


@struct
class DescribeShareGroupOffsetsResponseGroup(Struct):
    group_id: String = ""
    topics: list[DescribeShareGroupOffsetsResponseTopic] = wire(default=[])
    error_code: Int16 = 0
    error_message: String | None = wire(default=None, null="0+")


@message(key=90, versions="0-1", flexible="0+")
class DescribeShareGroupOffsetsResponse(Message):
    throttle_time_ms: Int32 = 0
    groups: list[DescribeShareGroupOffsetsResponseGroup] = wire(default=[])
