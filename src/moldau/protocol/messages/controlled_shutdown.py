"""ControlledShutdown (7): a broker asks the controller to move its leaderships away before it stops.

v0: the only request whose header has no client id.
v2: the broker's epoch (KIP-380); request + broker_epoch.
v3: flexible.
"""

from __future__ import annotations

from moldau.protocol.schema import Int16, Int32, Int64, Message, String, Struct, message, struct, wire


@message(key=7, versions="0-3", flexible="3+")
class ControlledShutdownRequest(Message):
    broker_id: Int32 = 0
    broker_epoch: Int64 = wire("2+", default=-1, ignorable=True)


@struct
class RemainingPartition(Struct):
    topic_name: String = ""
    partition_index: Int32 = 0


@message(key=7, versions="0-3", flexible="3+")
class ControlledShutdownResponse(Message):
    error_code: Int16 = 0
    remaining_partitions: list[RemainingPartition] = wire(default=[])
