"""ReadShareGroupStateSummary (87): read the start offsets of share partitions (KIP-932).

Flexible from the start.

v1: how many deliveries are complete (KIP-1226); answer + delivery_complete_count.
"""

from __future__ import annotations

from moldau.protocol.schema import ZERO_UUID, Int16, Int32, Int64, Message, String, Struct, Uuid, message, struct, wire


@struct
class PartitionData(Struct):
    partition: Int32 = 0
    leader_epoch: Int32 = 0


@struct
class ReadStateSummaryData(Struct):
    topic_id: Uuid = ZERO_UUID
    partitions: list[PartitionData] = wire(default=[])


@message(key=87, versions="0-1", flexible="0+")
class ReadShareGroupStateSummaryRequest(Message):
    group_id: String = ""
    topics: list[ReadStateSummaryData] = wire(default=[])


@struct
class PartitionResult(Struct):
    partition: Int32 = 0
    error_code: Int16 = 0
    error_message: String | None = wire(default=None, null="0+")
    state_epoch: Int32 = 0
    leader_epoch: Int32 = 0
    start_offset: Int64 = 0
    delivery_complete_count: Int32 = wire("1+", default=-1, ignorable=True)


@struct
class ReadStateSummaryResult(Struct):
    topic_id: Uuid = ZERO_UUID
    partitions: list[PartitionResult] = wire(default=[])


@message(key=87, versions="0-1", flexible="0+")
class ReadShareGroupStateSummaryResponse(Message):
    results: list[ReadStateSummaryResult] = wire(default=[])
