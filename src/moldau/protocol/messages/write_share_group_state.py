"""WriteShareGroupState (85): write the stored state of share partitions (KIP-932).

Flexible from the start.

v1: how many deliveries are complete (KIP-1226); request + delivery_complete_count.
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
class StateBatch(Struct):
    first_offset: Int64 = 0
    last_offset: Int64 = 0
    delivery_state: Int8 = 0
    delivery_count: Int16 = 0


@struct
class PartitionData(Struct):
    partition: Int32 = 0
    state_epoch: Int32 = 0
    leader_epoch: Int32 = 0
    start_offset: Int64 = 0
    delivery_complete_count: Int32 = wire("1+", default=-1, ignorable=True)
    state_batches: list[StateBatch] = wire(default=[])


@struct
class WriteStateData(Struct):
    topic_id: Uuid = ZERO_UUID
    partitions: list[PartitionData] = wire(default=[])


@message(key=85, versions="0-1", flexible="0+")
class WriteShareGroupStateRequest(Message):
    group_id: String = ""
    topics: list[WriteStateData] = wire(default=[])


@struct
class PartitionResult(Struct):
    partition: Int32 = 0
    error_code: Int16 = 0
    error_message: String | None = wire(default=None, null="0+")


@struct
class WriteStateResult(Struct):
    topic_id: Uuid = ZERO_UUID
    partitions: list[PartitionResult] = wire(default=[])


@message(key=85, versions="0-1", flexible="0+")
class WriteShareGroupStateResponse(Message):
    results: list[WriteStateResult] = wire(default=[])
