"""AddOffsetsToTxn (25): make a group's offsets part of a transaction.

v1: throttled answers are sent before the throttling (KIP-219).
v2: PRODUCER_FENCED may be answered (KIP-588).
v3: flexible.
v4: TRANSACTION_ABORTABLE may be answered (KIP-890).
"""

from __future__ import annotations

from moldau.protocol.schema import Int16, Int32, Int64, Message, String, message


@message(key=25, versions="0-4", flexible="3+")
class AddOffsetsToTxnRequest(Message):
    transactional_id: String = ""
    producer_id: Int64 = 0
    producer_epoch: Int16 = 0
    group_id: String = ""


@message(key=25, versions="0-4", flexible="3+")
class AddOffsetsToTxnResponse(Message):
    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
