"""DescribeTransactions (65): the state of transactions (KIP-664).

Flexible from the start.
"""

from __future__ import annotations

from moldau.protocol.schema import Int16, Int32, Int64, Message, String, Struct, message, struct, wire


@message(key=65, versions="0", flexible="0+")
class DescribeTransactionsRequest(Message):
    transactional_ids: list[String] = wire(default=[])


@struct
class TopicData(Struct):
    topic: String = ""
    partitions: list[Int32] = wire(default=[])


@struct
class TransactionState(Struct):
    error_code: Int16 = 0
    transactional_id: String = ""
    transaction_state: String = ""
    transaction_timeout_ms: Int32 = 0
    transaction_start_time_ms: Int64 = 0
    producer_id: Int64 = 0
    producer_epoch: Int16 = 0
    topics: list[TopicData] = wire(default=[])


@message(key=65, versions="0", flexible="0+")
class DescribeTransactionsResponse(Message):
    throttle_time_ms: Int32 = 0
    transaction_states: list[TransactionState] = wire(default=[])
