"""EndTxn (26): commit or abort a transaction.

v1: throttled answers are sent before the throttling (KIP-219).
v2: PRODUCER_FENCED may be answered (KIP-588).
v3: flexible.
v4: TRANSACTION_ABORTABLE may be answered (KIP-890).
v5: the epoch is bumped with every transaction (KIP-890); answer + producer_id, producer_epoch.
"""

from __future__ import annotations

from moldau.protocol.schema import Bool, Int16, Int32, Int64, Message, String, message, wire


@message(key=26, versions="0-5", flexible="3+")
class EndTxnRequest(Message):
    transactional_id: String = ""
    producer_id: Int64 = 0
    producer_epoch: Int16 = 0
    committed: Bool = False


@message(key=26, versions="0-5", flexible="3+")
class EndTxnResponse(Message):
    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    producer_id: Int64 = wire("5+", default=-1, ignorable=True)
    producer_epoch: Int16 = wire("5+", default=-1, ignorable=True)
