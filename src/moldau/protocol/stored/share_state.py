"""What share partitions store in `__share_group_state`: snapshots and updates of delivery (KIP-932)."""

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


@message(key=0, versions="0")
class ShareSnapshotKey(Message):
    group_id: String = ""
    topic_id: Uuid = ZERO_UUID
    partition: Int32 = 0


@struct
class StateBatch(Struct):
    first_offset: Int64 = 0
    last_offset: Int64 = 0
    delivery_state: Int8 = 0
    delivery_count: Int16 = 0


@message(key=0, versions="0", flexible="0+")
class ShareSnapshotValue(Message):
    snapshot_epoch: Int32 = 0
    state_epoch: Int32 = 0
    leader_epoch: Int32 = 0
    start_offset: Int64 = 0
    delivery_complete_count: Int32 = wire(default=-1, tag=0)
    create_timestamp: Int64 = 0
    write_timestamp: Int64 = 0
    state_batches: list[StateBatch] = wire(default=[])


@message(key=1, versions="0")
class ShareUpdateKey(Message):
    group_id: String = ""
    topic_id: Uuid = ZERO_UUID
    partition: Int32 = 0


@message(key=1, versions="0", flexible="0+")
class ShareUpdateValue(Message):
    snapshot_epoch: Int32 = 0
    leader_epoch: Int32 = 0
    start_offset: Int64 = 0
    delivery_complete_count: Int32 = wire(default=-1, tag=0)
    state_batches: list[StateBatch] = wire(default=[])
