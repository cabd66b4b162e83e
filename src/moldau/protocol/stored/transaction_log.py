"""What a transaction stores in `__transaction_state`.

TransactionLogValue v1: flexible, with the earlier and the next producer id (KIP-890).
"""

from __future__ import annotations

from moldau.protocol.schema import Int8, Int16, Int32, Int64, Message, String, Struct, message, struct, wire


@message(key=0, versions="0")
class TransactionLogKey(Message):
    transactional_id: String = ""


@struct
class PartitionsSchema(Struct):
    topic: String = ""
    partition_ids: list[Int32] = wire(default=[])


@message(key=0, versions="0-1", flexible="1+")
class TransactionLogValue(Message):
    producer_id: Int64 = 0
    previous_producer_id: Int64 = wire("1+", default=-1, tag=0)
    next_producer_id: Int64 = wire("1+", default=-1, tag=1)
    producer_epoch: Int16 = 0
    next_producer_epoch: Int16 = wire("1+", default=-1, tag=3)
    transaction_timeout_ms: Int32 = 0
    transaction_status: Int8 = 0
    transaction_partitions: list[PartitionsSchema] | None = wire(default=[], null="0+")
    transaction_last_update_timestamp_ms: Int64 = 0
    transaction_start_timestamp_ms: Int64 = 0
    client_transaction_version: Int16 = wire("1+", default=0, tag=2)
