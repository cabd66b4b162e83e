"""AlterPartitionReassignments (45): move partitions to other brokers, or cancel that (KIP-455).

Flexible from the start.

v1: a change of the replication factor may be refused (KIP-860); request + allow_replication_factor_change; answer +
    allow_replication_factor_change.
"""

from __future__ import annotations

from moldau.protocol.schema import Bool, Int16, Int32, Message, String, Struct, message, struct, wire


@struct
class ReassignablePartition(Struct):
    partition_index: Int32 = 0
    replicas: list[Int32] | None = wire(default=None, null="0+")


@struct
class ReassignableTopic(Struct):
    name: String = ""
    partitions: list[ReassignablePartition] = wire(default=[])


@message(key=45, versions="0-1", flexible="0+")
class AlterPartitionReassignmentsRequest(Message):
    timeout_ms: Int32 = 60000
    allow_replication_factor_change: Bool = wire("1+", default=True)
    topics: list[ReassignableTopic] = wire(default=[])


@struct
class ReassignablePartitionResponse(Struct):
    partition_index: Int32 = 0
    error_code: Int16 = 0
    error_message: String | None = wire(default=None, null="0+")


@struct
class ReassignableTopicResponse(Struct):
    name: String = ""
    partitions: list[ReassignablePartitionResponse] = wire(default=[])


@message(key=45, versions="0-1", flexible="0+")
class AlterPartitionReassignmentsResponse(Message):
    throttle_time_ms: Int32 = 0
    allow_replication_factor_change: Bool = wire("1+", default=True, ignorable=True)
    error_code: Int16 = 0
    error_message: String | None = wire(default=None, null="0+")
    responses: list[ReassignableTopicResponse] = wire(default=[])
