"""ElectLeaders (43): elect the preferred leaders, or unclean ones.

v1: unclean elections (KIP-460); request + election_type; answer + error_code.
v2: flexible.
"""

from __future__ import annotations

from moldau.protocol.schema import Int8, Int16, Int32, Message, String, Struct, message, struct, wire


@struct
class TopicPartitions(Struct):
    topic: String = ""
    partitions: list[Int32] = wire(default=[])


@message(key=43, versions="0-2", flexible="2+")
class ElectLeadersRequest(Message):
    election_type: Int8 = wire("1+", default=0)
    topic_partitions: list[TopicPartitions] | None = wire(default=[], null="0+")
    timeout_ms: Int32 = 60000


@struct
class PartitionResult(Struct):
    partition_id: Int32 = 0
    error_code: Int16 = 0
    error_message: String | None = wire(default=None, null="0+")


@struct
class ReplicaElectionResult(Struct):
    topic: String = ""
    partition_result: list[PartitionResult] = wire(default=[])


@message(key=43, versions="0-2", flexible="2+")
class ElectLeadersResponse(Message):
    throttle_time_ms: Int32 = 0
    error_code: Int16 = wire("1+", default=0)
    replica_election_results: list[ReplicaElectionResult] = wire(default=[])
