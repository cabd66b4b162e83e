"""AlterShareGroupOffsets (91): set the start offsets of a share group (KIP-932).

Flexible from the start.
"""

from __future__ import annotations

from moldau.protocol.schema import ZERO_UUID, Int16, Int32, Int64, Message, String, Struct, Uuid, message, struct, wire


@struct
class AlterShareGroupOffsetsRequestPartition(Struct):
    partition_index: Int32 = 0
    start_offset: Int64 = 0


@struct
class AlterShareGroupOffsetsRequestTopic(Struct):
    topic_name: String = ""
    partitions: list[AlterShareGroupOffsetsRequestPartition] = wire(default=[])


@message(key=91, versions="0", flexible="0+")
class AlterShareGroupOffsetsRequest(Message):
    group_id: String = ""
    topics: list[AlterShareGroupOffsetsRequestTopic] = wire(default=[])


@struct
class AlterShareGroupOffsetsResponsePartition(Struct):
    partition_index: Int32 = 0
    error_code: Int16 = 0
    error_message: String | None = wire(default=None, null="0+")


@struct
class AlterShareGroupOffsetsResponseTopic(Struct):
    topic_name: String = ""
    topic_id: Uuid = ZERO_UUID
    partitions: list[AlterShareGroupOffsetsResponsePartition] = wire(default=[])


@message(key=91, versions="0", flexible="0+")
class AlterShareGroupOffsetsResponse(Message):
    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    error_message: String | None = wire(default=None, null="0+")
    responses: list[AlterShareGroupOffsetsResponseTopic] = wire(default=[])
