"""OffsetFetch (9): read the committed offsets of groups.

v1: offsets stored in Kafka, not in ZooKeeper.
v2: null topics ask for all; a top-level error; answer + error_code.
v3: answer + throttle_time_ms.
v4: throttled answers are sent before the throttling (KIP-219).
v5: leader epochs (KIP-320); answer + committed_leader_epoch.
v6: flexible.
v7: stable offsets only (KIP-447); request + require_stable.
v8: several groups in one request (KIP-709); request + groups; request - group_id, topics; answer + groups; answer -
    topics, error_code.
v9: members of KIP-848 groups are checked; request + member_id, member_epoch.
v10: topics by id instead of by name; request + topic_id; request - name; answer + topic_id; answer - name.
"""

from __future__ import annotations

from moldau.protocol.schema import (
    ZERO_UUID,
    Bool,
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
class OffsetFetchRequestTopic(Struct):
    name: String = ""
    partition_indexes: list[Int32] = wire(default=[])


@struct
class OffsetFetchRequestTopics(Struct):
    name: String = wire("8-9", default="", ignorable=True)
    topic_id: Uuid = wire("10+", default=ZERO_UUID, ignorable=True)
    partition_indexes: list[Int32] = wire(default=[])


@struct
class OffsetFetchRequestGroup(Struct):
    group_id: String = ""
    member_id: String | None = wire("9+", default=None, null="9+", ignorable=True)
    member_epoch: Int32 = wire("9+", default=-1, ignorable=True)
    topics: list[OffsetFetchRequestTopics] | None = wire(default=[], null="0+")


@message(key=9, versions="0-10", flexible="6+")
class OffsetFetchRequest(Message):
    group_id: String = wire("0-7", default="")
    topics: list[OffsetFetchRequestTopic] | None = wire("0-7", default=[], null="2-7")
    groups: list[OffsetFetchRequestGroup] = wire("8+", default=[])
    require_stable: Bool = wire("7+", default=False)


@struct
class OffsetFetchResponsePartition(Struct):
    partition_index: Int32 = 0
    committed_offset: Int64 = 0
    committed_leader_epoch: Int32 = wire("5-7", default=-1, ignorable=True)
    metadata: String | None = wire(default=None, null="0+")
    error_code: Int16 = 0


@struct
class OffsetFetchResponseTopic(Struct):
    name: String = ""
    partitions: list[OffsetFetchResponsePartition] = wire(default=[])


@struct
class OffsetFetchResponsePartitions(Struct):
    partition_index: Int32 = 0
    committed_offset: Int64 = 0
    committed_leader_epoch: Int32 = -1
    metadata: String | None = wire(default=None, null="0+")
    error_code: Int16 = 0


@struct
class OffsetFetchResponseTopics(Struct):
    name: String = wire("8-9", default="", ignorable=True)
    topic_id: Uuid = wire("10+", default=ZERO_UUID, ignorable=True)
    partitions: list[OffsetFetchResponsePartitions] = wire(default=[])


@struct
class OffsetFetchResponseGroup(Struct):
    group_id: String = ""
    topics: list[OffsetFetchResponseTopics] = wire(default=[])
    error_code: Int16 = 0


@message(key=9, versions="0-10", flexible="6+")
class OffsetFetchResponse(Message):
    throttle_time_ms: Int32 = wire("3+", default=0, ignorable=True)
    topics: list[OffsetFetchResponseTopic] = wire("0-7", default=[])
    error_code: Int16 = wire("2-7", default=0, ignorable=True)
    groups: list[OffsetFetchResponseGroup] = wire("8+", default=[])
