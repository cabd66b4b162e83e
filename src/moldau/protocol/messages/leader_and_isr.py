"""LeaderAndIsr (4): the controller tells a broker which partitions it leads and follows.

v1: whether a partition is new; request + is_new.
v2: states grouped by topic; the broker's epoch (KIP-380); request + broker_epoch, topic_states; request -
    ungrouped_partition_states.
v3: replicas being added and removed (KIP-455); request + adding_replicas, removing_replicas.
v4: flexible.
v5: topic ids, and full or incremental (KIP-516); request + type, topic_id; answer + topics; answer -
    partition_errors.
v6: recovery after an unclean election (KIP-704); request + leader_recovery_state.
v7: sent by a KRaft controller during migration (KIP-866); request + is_kraft_controller.
"""

from __future__ import annotations

from moldau.protocol.schema import (
    ZERO_UUID,
    Bool,
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
class LeaderAndIsrPartitionState(Struct):
    topic_name: String = wire("0-1", default="", ignorable=True)
    partition_index: Int32 = 0
    controller_epoch: Int32 = 0
    leader: Int32 = 0
    leader_epoch: Int32 = 0
    isr: list[Int32] = wire(default=[])
    partition_epoch: Int32 = 0
    replicas: list[Int32] = wire(default=[])
    adding_replicas: list[Int32] = wire("3+", default=[], ignorable=True)
    removing_replicas: list[Int32] = wire("3+", default=[], ignorable=True)
    is_new: Bool = wire("1+", default=False, ignorable=True)
    leader_recovery_state: Int8 = wire("6+", default=0)


@struct
class LeaderAndIsrTopicState(Struct):
    topic_name: String = ""
    topic_id: Uuid = wire("5+", default=ZERO_UUID, ignorable=True)
    partition_states: list[LeaderAndIsrPartitionState] = wire(default=[])


@struct
class LeaderAndIsrLiveLeader(Struct):
    broker_id: Int32 = 0
    host_name: String = ""
    port: Int32 = 0


@message(key=4, versions="0-7", flexible="4+")
class LeaderAndIsrRequest(Message):
    controller_id: Int32 = 0
    is_kraft_controller: Bool = wire("7+", default=False)
    controller_epoch: Int32 = 0
    broker_epoch: Int64 = wire("2+", default=-1, ignorable=True)
    type: Int8 = wire("5+", default=0)
    ungrouped_partition_states: list[LeaderAndIsrPartitionState] = wire("0-1", default=[])
    topic_states: list[LeaderAndIsrTopicState] = wire("2+", default=[])
    live_leaders: list[LeaderAndIsrLiveLeader] = wire(default=[])


@struct
class LeaderAndIsrPartitionError(Struct):
    topic_name: String = wire("0-4", default="", ignorable=True)
    partition_index: Int32 = 0
    error_code: Int16 = 0


@struct
class LeaderAndIsrTopicError(Struct):
    topic_id: Uuid = ZERO_UUID
    partition_errors: list[LeaderAndIsrPartitionError] = wire(default=[])


@message(key=4, versions="0-7", flexible="4+")
class LeaderAndIsrResponse(Message):
    error_code: Int16 = 0
    partition_errors: list[LeaderAndIsrPartitionError] = wire("0-4", default=[])
    topics: list[LeaderAndIsrTopicError] = wire("5+", default=[])
