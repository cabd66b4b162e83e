"""WriteTxnMarkers (27): the transaction coordinator has the outcome written into partitions.

v1: flexible.
v2: the transaction's version (KIP-1228); request + transaction_version.
"""

from __future__ import annotations

from moldau.protocol.schema import Bool, Int8, Int16, Int32, Int64, Message, String, Struct, message, struct, wire


@struct
class WritableTxnMarkerTopic(Struct):
    name: String = ""
    partition_indexes: list[Int32] = wire(default=[])


@struct
class WritableTxnMarker(Struct):
    producer_id: Int64 = 0
    producer_epoch: Int16 = 0
    transaction_result: Bool = False
    topics: list[WritableTxnMarkerTopic] = wire(default=[])
    coordinator_epoch: Int32 = 0
    transaction_version: Int8 = wire("2+", default=0, ignorable=True)


@message(key=27, versions="0-2", flexible="1+")
class WriteTxnMarkersRequest(Message):
    markers: list[WritableTxnMarker] = wire(default=[])


@struct
class WritableTxnMarkerPartitionResult(Struct):
    partition_index: Int32 = 0
    error_code: Int16 = 0


@struct
class WritableTxnMarkerTopicResult(Struct):
    name: String = ""
    partitions: list[WritableTxnMarkerPartitionResult] = wire(default=[])


@struct
class WritableTxnMarkerResult(Struct):
    producer_id: Int64 = 0
    topics: list[WritableTxnMarkerTopicResult] = wire(default=[])


@message(key=27, versions="0-2", flexible="1+")
class WriteTxnMarkersResponse(Message):
    markers: list[WritableTxnMarkerResult] = wire(default=[])
