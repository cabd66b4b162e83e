"""ListTransactions (66): the transactions that a broker coordinates (KIP-664).

Flexible from the start.

v1: filter by duration (KIP-994); request + duration_filter.
v2: filter by a pattern of the transactional id (KIP-1152); request + transactional_id_pattern.
"""

from __future__ import annotations

from moldau.protocol.schema import Int16, Int32, Int64, Message, String, Struct, message, struct, wire


@message(key=66, versions="0-2", flexible="0+")
class ListTransactionsRequest(Message):
    state_filters: list[String] = wire(default=[])
    producer_id_filters: list[Int64] = wire(default=[])
    duration_filter: Int64 = wire("1+", default=-1)
    transactional_id_pattern: String | None = wire("2+", default=None, null="2+")


@struct
class TransactionState(Struct):
    transactional_id: String = ""
    producer_id: Int64 = 0
    transaction_state: String = ""


@message(key=66, versions="0-2", flexible="0+")
class ListTransactionsResponse(Message):
    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    unknown_state_filters: list[String] = wire(default=[])
    transaction_states: list[TransactionState] = wire(default=[])
