"""InitializeShareGroupState (83): set up the stored state of share partitions (KIP-932).

Flexible from the start.
"""

from __future__ import annotations

from moldau.protocol.schema import ZERO_UUID, Int16, Int32, Int64, Message, String, Struct, Uuid, message, struct, wire


@struct
class PartitionData(Struct):
    partition: Int32 = 0
    state_epoch: Int32 = 0
    start_offset: Int64 = 0


@struct
class InitializeStateData(Struct):
    topic_id: Uuid = ZERO_UUID
    partitions: list[PartitionData] = wire(default=[])


@message(key=83, versions="0", flexible="0+")
class InitializeShareGroupStateRequest(Message):
    group_id: String = ""
    topics: list[InitializeStateData] = wire(default=[])


@struct
class PartitionResult(Struct):
    partition: Int32 = 0
    error_code: Int16 = 0
    error_message: String | None = wire(default=None, null="0+")


@struct
class InitializeStateResult(Struct):
    topic_id: Uuid = ZERO_UUID
    partitions: list[PartitionResult] = wire(default=[])


@message(key=83, versions="0", flexible="0+")
class InitializeShareGroupStateResponse(Message):
    results: list[InitializeStateResult] = wire(default=[])
