"""OffsetDelete (47): delete a group's committed offsets (KIP-496)."""

from __future__ import annotations

from moldau.protocol.schema import Int16, Int32, Message, String, Struct, message, struct, wire


@struct
class OffsetDeleteRequestPartition(Struct):
    partition_index: Int32 = 0


@struct
class OffsetDeleteRequestTopic(Struct):
    name: String = ""
    partitions: list[OffsetDeleteRequestPartition] = wire(default=[])


@message(key=47, versions="0")
class OffsetDeleteRequest(Message):
    group_id: String = ""
    topics: list[OffsetDeleteRequestTopic] = wire(default=[])


@struct
class OffsetDeleteResponsePartition(Struct):
    partition_index: Int32 = 0
    error_code: Int16 = 0


@struct
class OffsetDeleteResponseTopic(Struct):
    name: String = ""
    partitions: list[OffsetDeleteResponsePartition] = wire(default=[])


@message(key=47, versions="0")
class OffsetDeleteResponse(Message):
    error_code: Int16 = 0
    throttle_time_ms: Int32 = 0
    topics: list[OffsetDeleteResponseTopic] = wire(default=[])
