"""InitProducerId (22): get a producer id, and fence the earlier holders of a transactional id.

v1: throttled answers are sent before the throttling (KIP-219).
v2: flexible.
v3: a producer may resume with its id and epoch (KIP-360); request + producer_id, producer_epoch.
v4: PRODUCER_FENCED may be answered (KIP-588).
v5: TRANSACTION_ABORTABLE may be answered (KIP-890).
v6: two-phase commit (KIP-939); request + enable2pc, keep_prepared_txn; answer + ongoing_txn_producer_id,
    ongoing_txn_producer_epoch.
"""

from __future__ import annotations

from moldau.protocol.schema import Bool, Int16, Int32, Int64, Message, String, message, wire


@message(key=22, versions="0-6", flexible="2+")
class InitProducerIdRequest(Message):
    transactional_id: String | None = wire(default=None, null="0+")
    transaction_timeout_ms: Int32 = 0
    producer_id: Int64 = wire("3+", default=-1)
    producer_epoch: Int16 = wire("3+", default=-1)
    enable2pc: Bool = wire("6+", default=False)
    keep_prepared_txn: Bool = wire("6+", default=False)


@message(key=22, versions="0-6", flexible="2+")
class InitProducerIdResponse(Message):
    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    producer_id: Int64 = -1
    producer_epoch: Int16 = 0
    ongoing_txn_producer_id: Int64 = wire("6+", default=-1)
    ongoing_txn_producer_epoch: Int16 = wire("6+", default=-1)
