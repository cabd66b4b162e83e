"""Metadata (3): describe brokers, topics and the leaders of partitions.

v1: null asks for all topics, an empty list for none (before: empty meant all); answer + rack, controller_id,
    is_internal.
v2: answer + cluster_id.
v3: answer + throttle_time_ms.
v4: topics may be kept from being created; request + allow_auto_topic_creation.
v5: offline replicas (KIP-112); answer + offline_replicas.
v6: throttled answers are sent before the throttling (KIP-219).
v7: leader epochs (KIP-320); answer + leader_epoch.
v8: authorized operations (KIP-430); request + include_cluster_authorized_operations,
    include_topic_authorized_operations; answer + topic_authorized_operations, cluster_authorized_operations.
v9: flexible.
v10: topic ids (KIP-516); request + topic_id; answer + topic_id.
v11: authorized operations of the cluster moved to DescribeCluster (KIP-700); request -
    include_cluster_authorized_operations; answer - cluster_authorized_operations.
v12: topics may be asked for by id.
v13: a top-level error: rebootstrap (KIP-1102); answer + error_code.
"""

from __future__ import annotations

from moldau.protocol.schema import ZERO_UUID, Bool, Int16, Int32, Message, String, Struct, Uuid, message, struct, wire


@struct
class MetadataRequestTopic(Struct):
    topic_id: Uuid = wire("10+", default=ZERO_UUID, ignorable=True)
    name: String | None = wire(default="", null="10+")


@message(key=3, versions="0-13", flexible="9+")
class MetadataRequest(Message):
    topics: list[MetadataRequestTopic] | None = wire(default=[], null="1+")
    allow_auto_topic_creation: Bool = wire("4+", default=True)
    include_cluster_authorized_operations: Bool = wire("8-10", default=False)
    include_topic_authorized_operations: Bool = wire("8+", default=False)


@struct
class MetadataResponseBroker(Struct):
    node_id: Int32 = 0
    host: String = ""
    port: Int32 = 0
    rack: String | None = wire("1+", default=None, null="1+", ignorable=True)


@struct
class MetadataResponsePartition(Struct):
    error_code: Int16 = 0
    partition_index: Int32 = 0
    leader_id: Int32 = 0
    leader_epoch: Int32 = wire("7+", default=-1, ignorable=True)
    replica_nodes: list[Int32] = wire(default=[])
    isr_nodes: list[Int32] = wire(default=[])
    offline_replicas: list[Int32] = wire("5+", default=[], ignorable=True)


@struct
class MetadataResponseTopic(Struct):
    error_code: Int16 = 0
    name: String | None = wire(default="", null="12+")
    topic_id: Uuid = wire("10+", default=ZERO_UUID, ignorable=True)
    is_internal: Bool = wire("1+", default=False, ignorable=True)
    partitions: list[MetadataResponsePartition] = wire(default=[])
    topic_authorized_operations: Int32 = wire("8+", default=-2147483648)


@message(key=3, versions="0-13", flexible="9+")
class MetadataResponse(Message):
    throttle_time_ms: Int32 = wire("3+", default=0, ignorable=True)
    brokers: list[MetadataResponseBroker] = wire(default=[])
    cluster_id: String | None = wire("2+", default=None, null="2+", ignorable=True)
    controller_id: Int32 = wire("1+", default=-1, ignorable=True)
    topics: list[MetadataResponseTopic] = wire(default=[])
    cluster_authorized_operations: Int32 = wire("8-10", default=-2147483648)
    error_code: Int16 = wire("13+", default=0, ignorable=True)
