"""ListPartitionReassignments (46): which partitions are being moved (KIP-455).

Flexible from the start.
"""

from __future__ import annotations

from moldau.protocol.schema import Int16, Int32, Message, String, Struct, message, struct, wire


@struct
class ListPartitionReassignmentsTopics(Struct):
    name: String = ""
    partition_indexes: list[Int32] = wire(default=[])


@message(key=46, versions="0", flexible="0+")
class ListPartitionReassignmentsRequest(Message):
    timeout_ms: Int32 = 60000
    topics: list[ListPartitionReassignmentsTopics] | None = wire(default=None, null="0+")


@struct
class OngoingPartitionReassignment(Struct):
    partition_index: Int32 = 0
    replicas: list[Int32] = wire(default=[])
    adding_replicas: list[Int32] = wire(default=[])
    removing_replicas: list[Int32] = wire(default=[])


@struct
class OngoingTopicReassignment(Struct):
    name: String = ""
    partitions: list[OngoingPartitionReassignment] = wire(default=[])


@message(key=46, versions="0", flexible="0+")
class ListPartitionReassignmentsResponse(Message):
    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    error_message: String | None = wire(default=None, null="0+")
    topics: list[OngoingTopicReassignment] = wire(default=[])
