"""AlterReplicaLogDirs (34): move replicas between the log directories of a broker.

v1: throttled answers are sent before the throttling (KIP-219).
v2: flexible.
"""

from __future__ import annotations

from moldau.protocol.schema import Int16, Int32, Message, String, Struct, message, struct, wire


@struct
class AlterReplicaLogDirTopic(Struct):
    name: String = ""
    partitions: list[Int32] = wire(default=[])


@struct
class AlterReplicaLogDir(Struct):
    path: String = ""
    topics: list[AlterReplicaLogDirTopic] = wire(default=[])


@message(key=34, versions="0-2", flexible="2+")
class AlterReplicaLogDirsRequest(Message):
    dirs: list[AlterReplicaLogDir] = wire(default=[])


@struct
class AlterReplicaLogDirPartitionResult(Struct):
    partition_index: Int32 = 0
    error_code: Int16 = 0


@struct
class AlterReplicaLogDirTopicResult(Struct):
    topic_name: String = ""
    partitions: list[AlterReplicaLogDirPartitionResult] = wire(default=[])


@message(key=34, versions="0-2", flexible="2+")
class AlterReplicaLogDirsResponse(Message):
    throttle_time_ms: Int32 = 0
    results: list[AlterReplicaLogDirTopicResult] = wire(default=[])
