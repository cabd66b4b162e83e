"""ReadShareGroupState (84): read the stored state of share partitions (KIP-932).

Flexible from the start.
"""

from __future__ import annotations

from moldau.protocol.schema import (
    ZERO_UUID,
    Int8,
    Int16,
    Int32,
    Int64,
    Message,
    String,
    Struct,
    Uuid,
    message,
    struct,
    wire,
)


@struct
class PartitionData(Struct):
    partition: Int32 = 0
    leader_epoch: Int32 = 0


@struct
class ReadStateData(Struct):
    topic_id: Uuid = ZERO_UUID
    partitions: list[PartitionData] = wire(default=[])


@message(key=84, versions="0", flexible="0+")
class ReadShareGroupStateRequest(Message):
    group_id: String = ""
    topics: list[ReadStateData] = wire(default=[])


@struct
class StateBatch(Struct):
    first_offset: Int64 = 0
    last_offset: Int64 = 0
    delivery_state: Int8 = 0
    delivery_count: Int16 = 0


@struct
class PartitionResult(Struct):
    partition: Int32 = 0
    error_code: Int16 = 0
    error_message: String | None = wire(default=None, null="0+")
    state_epoch: Int32 = 0
    start_offset: Int64 = 0
    state_batches: list[StateBatch] = wire(default=[])


@struct
class ReadStateResult(Struct):
    topic_id: Uuid = ZERO_UUID
    partitions: list[PartitionResult] = wire(default=[])


@message(key=84, versions="0", flexible="0+")
class ReadShareGroupStateResponse(Message):
    results: list[ReadStateResult] = wire(default=[])
