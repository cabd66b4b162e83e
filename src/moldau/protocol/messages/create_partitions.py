"""CreatePartitions (37): add partitions to topics.

v1: throttled answers are sent before the throttling (KIP-219).
v2: flexible.
v3: THROTTLING_QUOTA_EXCEEDED may be answered (KIP-599).
"""

from __future__ import annotations

from moldau.protocol.schema import Bool, Int16, Int32, Message, String, Struct, message, struct, wire


@struct
class CreatePartitionsAssignment(Struct):
    broker_ids: list[Int32] = wire(default=[])


@struct
class CreatePartitionsTopic(Struct):
    name: String = ""
    count: Int32 = 0
    assignments: list[CreatePartitionsAssignment] | None = wire(default=[], null="0+")


@message(key=37, versions="0-3", flexible="2+")
class CreatePartitionsRequest(Message):
    topics: list[CreatePartitionsTopic] = wire(default=[])
    timeout_ms: Int32 = 0
    validate_only: Bool = False


@struct
class CreatePartitionsTopicResult(Struct):
    name: String = ""
    error_code: Int16 = 0
    error_message: String | None = wire(default=None, null="0+")


@message(key=37, versions="0-3", flexible="2+")
class CreatePartitionsResponse(Message):
    throttle_time_ms: Int32 = 0
    results: list[CreatePartitionsTopicResult] = wire(default=[])
