"""AlterPartition (56): a leader proposes new in-sync replicas to the controller (KIP-497).

Flexible from the start.

v1: recovery after an unclean election (KIP-704); request + leader_recovery_state; answer + leader_recovery_state.
v2: topics by id; request + topic_id; request - topic_name; answer + topic_id; answer - topic_name.
v3: in-sync replicas with their broker epochs (KIP-903); request + new_isr_with_epochs; request - new_isr.
"""

from __future__ import annotations

from moldau.protocol.schema import (
    ZERO_UUID,
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
class BrokerState(Struct):
    broker_id: Int32 = 0
    broker_epoch: Int64 = -1


@struct
class RequestPartitionData(Struct):
    partition_index: Int32 = 0
    leader_epoch: Int32 = 0
    new_isr: list[Int32] = wire("0-2", default=[])
    new_isr_with_epochs: list[BrokerState] = wire("3+", default=[])
    leader_recovery_state: Int8 = wire("1+", default=0)
    partition_epoch: Int32 = 0


@struct
class RequestTopicData(Struct):
    topic_name: String = wire("0-1", default="", ignorable=True)
    topic_id: Uuid = wire("2+", default=ZERO_UUID, ignorable=True)
    partitions: list[RequestPartitionData] = wire(default=[])


@message(key=56, versions="0-3", flexible="0+")
class AlterPartitionRequest(Message):
    broker_id: Int32 = 0
    broker_epoch: Int64 = -1
    topics: list[RequestTopicData] = wire(default=[])


@struct
class ResponsePartitionData(Struct):
    partition_index: Int32 = 0
    error_code: Int16 = 0
    leader_id: Int32 = 0
    leader_epoch: Int32 = 0
    isr: list[Int32] = wire(default=[])
    leader_recovery_state: Int8 = wire("1+", default=0, ignorable=True)
    partition_epoch: Int32 = 0


@struct
class ResponseTopicData(Struct):
    topic_name: String = wire("0-1", default="", ignorable=True)
    topic_id: Uuid = wire("2+", default=ZERO_UUID, ignorable=True)
    partitions: list[ResponsePartitionData] = wire(default=[])


@message(key=56, versions="0-3", flexible="0+")
class AlterPartitionResponse(Message):
    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    topics: list[ResponseTopicData] = wire(default=[])
