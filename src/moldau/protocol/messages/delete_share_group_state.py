"""DeleteShareGroupState (86): delete the stored state of share partitions (KIP-932).

Flexible from the start.
"""

from __future__ import annotations

from moldau.protocol.schema import ZERO_UUID, Int16, Int32, Message, String, Struct, Uuid, message, struct, wire


@struct
class PartitionData(Struct):
    partition: Int32 = 0


@struct
class DeleteStateData(Struct):
    topic_id: Uuid = ZERO_UUID
    partitions: list[PartitionData] = wire(default=[])


@message(key=86, versions="0", flexible="0+")
class DeleteShareGroupStateRequest(Message):
    group_id: String = ""
    topics: list[DeleteStateData] = wire(default=[])


@struct
class PartitionResult(Struct):
    partition: Int32 = 0
    error_code: Int16 = 0
    error_message: String | None = wire(default=None, null="0+")


@struct
class DeleteStateResult(Struct):
    topic_id: Uuid = ZERO_UUID
    partitions: list[PartitionResult] = wire(default=[])


@message(key=86, versions="0", flexible="0+")
class DeleteShareGroupStateResponse(Message):
    results: list[DeleteStateResult] = wire(default=[])
