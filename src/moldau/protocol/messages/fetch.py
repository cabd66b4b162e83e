"""Fetch (1): read record batches from partitions; followers replicate with it.

v1: answer + throttle_time_ms.
v2: message format v1 may be answered (KIP-32).
v3: a limit on the whole answer; the order of partitions matters (KIP-74); request + max_bytes.
v4: isolation level, last stable offset and aborted transactions (KIP-98); format v2; request + isolation_level;
    answer + last_stable_offset, aborted_transactions.
v5: request + log_start_offset; answer + log_start_offset.
v6: KAFKA_STORAGE_ERROR may be answered (KIP-112).
v7: incremental fetch sessions (KIP-227); request + session_id, session_epoch, forgotten_topics_data; answer +
    error_code, session_id.
v8: throttled answers are sent before the throttling (KIP-219).
v9: fencing by leader epoch (KIP-320); request + current_leader_epoch.
v10: zstd batches (KIP-110).
v11: reads from the closest replica (KIP-392); request + rack_id; answer + preferred_read_replica.
v12: truncation on fetch by the diverging epoch (KIP-595); request + cluster_id, last_fetched_epoch; answer +
    diverging_epoch, current_leader, snapshot_id; flexible.
v13: topics by id instead of by name (KIP-516); request + topic_id; request - topic; answer + topic_id; answer -
    topic.
v14: OFFSET_MOVED_TO_TIERED_STORAGE may be answered (KIP-405).
v15: the follower's epoch (KIP-903); request + replica_state; request - replica_id.
v16: endpoints of new leaders ride along (KIP-951); answer + node_endpoints.
v17: directories of replicas (KIP-853); request + replica_directory_id.
v18: the follower's high watermark; request + high_watermark.
"""

from __future__ import annotations

from moldau.protocol.schema import (
    ZERO_UUID,
    Int8,
    Int16,
    Int32,
    Int64,
    Message,
    Records,
    String,
    Struct,
    Uuid,
    message,
    struct,
    wire,
)


@struct
class ReplicaState(Struct):
    replica_id: Int32 = -1
    replica_epoch: Int64 = -1


@struct
class FetchPartition(Struct):
    partition: Int32 = 0
    current_leader_epoch: Int32 = wire("9+", default=-1, ignorable=True)
    fetch_offset: Int64 = 0
    last_fetched_epoch: Int32 = wire("12+", default=-1)
    log_start_offset: Int64 = wire("5+", default=-1, ignorable=True)
    partition_max_bytes: Int32 = 0
    replica_directory_id: Uuid = wire("17+", default=ZERO_UUID, tag=0, ignorable=True)
    high_watermark: Int64 = wire("18+", default=9223372036854775807, tag=1, ignorable=True)


@struct
class FetchTopic(Struct):
    topic: String = wire("0-12", default="", ignorable=True)
    topic_id: Uuid = wire("13+", default=ZERO_UUID, ignorable=True)
    partitions: list[FetchPartition] = wire(default=[])


@struct
class ForgottenTopic(Struct):
    topic: String = wire("7-12", default="", ignorable=True)
    topic_id: Uuid = wire("13+", default=ZERO_UUID, ignorable=True)
    partitions: list[Int32] = wire(default=[])


@message(key=1, versions="0-18", flexible="12+")
class FetchRequest(Message):
    cluster_id: String | None = wire("12+", default=None, null="12+", tag=0, ignorable=True)
    replica_id: Int32 = wire("0-14", default=-1)
    replica_state: ReplicaState | None = wire("15+", default=None, tag=1)
    max_wait_ms: Int32 = 0
    min_bytes: Int32 = 0
    max_bytes: Int32 = wire("3+", default=0x7FFFFFFF, ignorable=True)
    isolation_level: Int8 = wire("4+", default=0, ignorable=True)
    session_id: Int32 = wire("7+", default=0, ignorable=True)
    session_epoch: Int32 = wire("7+", default=-1, ignorable=True)
    topics: list[FetchTopic] = wire(default=[])
    forgotten_topics_data: list[ForgottenTopic] = wire("7+", default=[])
    rack_id: String = wire("11+", default="", ignorable=True)


@struct
class EpochEndOffset(Struct):
    epoch: Int32 = -1
    end_offset: Int64 = -1


@struct
class LeaderIdAndEpoch(Struct):
    leader_id: Int32 = -1
    leader_epoch: Int32 = -1


@struct
class SnapshotId(Struct):
    end_offset: Int64 = -1
    epoch: Int32 = -1


@struct
class AbortedTransaction(Struct):
    producer_id: Int64 = 0
    first_offset: Int64 = 0


@struct
class PartitionData(Struct):
    partition_index: Int32 = 0
    error_code: Int16 = 0
    high_watermark: Int64 = 0
    last_stable_offset: Int64 = wire("4+", default=-1, ignorable=True)
    log_start_offset: Int64 = wire("5+", default=-1, ignorable=True)
    diverging_epoch: EpochEndOffset | None = wire("12+", default=None, tag=0)
    current_leader: LeaderIdAndEpoch | None = wire("12+", default=None, tag=1)
    snapshot_id: SnapshotId | None = wire("12+", default=None, tag=2)
    aborted_transactions: list[AbortedTransaction] | None = wire("4+", default=[], null="4+", ignorable=True)
    preferred_read_replica: Int32 = wire("11+", default=-1)
    records: Records | None = wire(default=None, null="0+")


@struct
class FetchableTopicResponse(Struct):
    topic: String = wire("0-12", default="", ignorable=True)
    topic_id: Uuid = wire("13+", default=ZERO_UUID, ignorable=True)
    partitions: list[PartitionData] = wire(default=[])


@struct
class NodeEndpoint(Struct):
    node_id: Int32 = 0
    host: String = ""
    port: Int32 = 0
    rack: String | None = wire(default=None, null="0+")


@message(key=1, versions="0-18", flexible="12+")
class FetchResponse(Message):
    throttle_time_ms: Int32 = wire("1+", default=0, ignorable=True)
    error_code: Int16 = wire("7+", default=0, ignorable=True)
    session_id: Int32 = wire("7+", default=0)
    responses: list[FetchableTopicResponse] = wire(default=[])
    node_endpoints: list[NodeEndpoint] = wire("16+", default=[], tag=0)
