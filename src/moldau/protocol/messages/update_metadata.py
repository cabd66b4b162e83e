"""UpdateMetadata (6): the controller tells a broker what the cluster looks like.

v1: several endpoints a broker; request + endpoints; request - v0_host, v0_port.
v2: request + rack.
v3: named listeners (KIP-103); request + listener.
v4: offline replicas (KIP-112); request + offline_replicas.
v5: states grouped by topic; the broker's epoch (KIP-380); request + broker_epoch, topic_states; request -
    ungrouped_partition_states.
v6: flexible.
v7: topic ids (KIP-516); request + topic_id.
v8: sent by a KRaft controller during migration (KIP-866); request + is_kraft_controller, type.
"""

from __future__ import annotations

from moldau.protocol.schema import (
    ZERO_UUID,
    Bool,
    Int8,
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
class UpdateMetadataPartitionState(Struct):
    topic_name: String = wire("0-4", default="", ignorable=True)
    partition_index: Int32 = 0
    controller_epoch: Int32 = 0
    leader: Int32 = 0
    leader_epoch: Int32 = 0
    isr: list[Int32] = wire(default=[])
    zk_version: Int32 = 0
    replicas: list[Int32] = wire(default=[])
    offline_replicas: list[Int32] = wire("4+", default=[], ignorable=True)


@struct
class UpdateMetadataTopicState(Struct):
    topic_name: String = ""
    topic_id: Uuid = wire("7+", default=ZERO_UUID, ignorable=True)
    partition_states: list[UpdateMetadataPartitionState] = wire(default=[])


@struct
class UpdateMetadataEndpoint(Struct):
    port: Int32 = 0
    host: String = ""
    listener: String = wire("3+", default="", ignorable=True)
    security_protocol: Int16 = 0


@struct
class UpdateMetadataBroker(Struct):
    id: Int32 = 0
    v0_host: String = wire("0", default="", ignorable=True)
    v0_port: Int32 = wire("0", default=0, ignorable=True)
    endpoints: list[UpdateMetadataEndpoint] = wire("1+", default=[], ignorable=True)
    rack: String | None = wire("2+", default=None, null="0+", ignorable=True)


@message(key=6, versions="0-8", flexible="6+")
class UpdateMetadataRequest(Message):
    controller_id: Int32 = 0
    is_kraft_controller: Bool = wire("8+", default=False)
    type: Int8 = wire("8+", default=0, tag=0)
    controller_epoch: Int32 = 0
    broker_epoch: Int64 = wire("5+", default=-1, ignorable=True)
    ungrouped_partition_states: list[UpdateMetadataPartitionState] = wire("0-4", default=[])
    topic_states: list[UpdateMetadataTopicState] = wire("5+", default=[])
    live_brokers: list[UpdateMetadataBroker] = wire(default=[])


@message(key=6, versions="0-8", flexible="6+")
class UpdateMetadataResponse(Message):
    error_code: Int16 = 0
