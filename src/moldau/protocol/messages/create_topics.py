"""CreateTopics (19): create topics.

v1: only validate; error messages; request + validate_only; answer + error_message.
v2: answer + throttle_time_ms.
v3: throttled answers are sent before the throttling (KIP-219).
v4: -1 for the broker's default partitions and replication (KIP-464).
v5: the created configuration in the answer (KIP-525); answer + topic_config_error_code, num_partitions,
    replication_factor, configs; flexible.
v6: THROTTLING_QUOTA_EXCEEDED may be answered (KIP-599).
v7: topic ids (KIP-516); answer + topic_id.
"""

from __future__ import annotations

from moldau.protocol.schema import (
    ZERO_UUID,
    Bool,
    Int8,
    Int16,
    Int32,
    Message,
    String,
    Struct,
    Uuid,
    message,
    struct,
    wire,
)


@struct
class CreatableReplicaAssignment(Struct):
    partition_index: Int32 = 0
    broker_ids: list[Int32] = wire(default=[])


@struct
class CreatableTopicConfig(Struct):
    name: String = ""
    value: String | None = wire(default=None, null="0+")


@struct
class CreatableTopic(Struct):
    name: String = ""
    num_partitions: Int32 = 0
    replication_factor: Int16 = 0
    assignments: list[CreatableReplicaAssignment] = wire(default=[])
    configs: list[CreatableTopicConfig] = wire(default=[])


@message(key=19, versions="0-7", flexible="5+")
class CreateTopicsRequest(Message):
    topics: list[CreatableTopic] = wire(default=[])
    timeout_ms: Int32 = 60000
    validate_only: Bool = wire("1+", default=False)


@struct
class CreatableTopicConfigs(Struct):
    name: String = ""
    value: String | None = wire(default=None, null="0+")
    read_only: Bool = False
    config_source: Int8 = -1
    is_sensitive: Bool = False


@struct
class CreatableTopicResult(Struct):
    name: String = ""
    topic_id: Uuid = wire("7+", default=ZERO_UUID, ignorable=True)
    error_code: Int16 = 0
    error_message: String | None = wire("1+", default=None, null="0+", ignorable=True)
    topic_config_error_code: Int16 = wire("5+", default=0, tag=0, ignorable=True)
    num_partitions: Int32 = wire("5+", default=-1, ignorable=True)
    replication_factor: Int16 = wire("5+", default=-1, ignorable=True)
    configs: list[CreatableTopicConfigs] | None = wire("5+", default=[], null="5+", ignorable=True)


@message(key=19, versions="0-7", flexible="5+")
class CreateTopicsResponse(Message):
    throttle_time_ms: Int32 = wire("2+", default=0, ignorable=True)
    topics: list[CreatableTopicResult] = wire(default=[])
