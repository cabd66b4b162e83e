"""StopReplica (5): the controller tells a broker to stop, and perhaps delete, replicas.

v1: the broker's epoch; partitions grouped by topic (KIP-380); request + broker_epoch, topics; request -
    ungrouped_partitions.
v2: flexible.
v3: leader epoch and deletion for each partition (KIP-570); request + topic_states; request - delete_partitions,
    topics.
v4: sent by a KRaft controller during migration (KIP-866); request + is_kraft_controller.
"""

from __future__ import annotations

from moldau.protocol.schema import Bool, Int16, Int32, Int64, Message, String, Struct, message, struct, wire


@struct
class StopReplicaPartitionV0(Struct):
    topic_name: String = ""
    partition_index: Int32 = 0


@struct
class StopReplicaTopicV1(Struct):
    name: String = ""
    partition_indexes: list[Int32] = wire(default=[])


@struct
class StopReplicaPartitionState(Struct):
    partition_index: Int32 = 0
    leader_epoch: Int32 = -1
    delete_partition: Bool = False


@struct
class StopReplicaTopicState(Struct):
    topic_name: String = ""
    partition_states: list[StopReplicaPartitionState] = wire(default=[])


@message(key=5, versions="0-4", flexible="2+")
class StopReplicaRequest(Message):
    controller_id: Int32 = 0
    is_kraft_controller: Bool = wire("4+", default=False)
    controller_epoch: Int32 = 0
    broker_epoch: Int64 = wire("1+", default=-1, ignorable=True)
    delete_partitions: Bool = wire("0-2", default=False)
    ungrouped_partitions: list[StopReplicaPartitionV0] = wire("0", default=[])
    topics: list[StopReplicaTopicV1] = wire("1-2", default=[])
    topic_states: list[StopReplicaTopicState] = wire("3+", default=[])


@struct
class StopReplicaPartitionError(Struct):
    topic_name: String = ""
    partition_index: Int32 = 0
    error_code: Int16 = 0


@message(key=5, versions="0-4", flexible="2+")
class StopReplicaResponse(Message):
    error_code: Int16 = 0
    partition_errors: list[StopReplicaPartitionError] = wire(default=[])
