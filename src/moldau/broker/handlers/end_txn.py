"""EndTxn: commit or abort a transaction. The answer comes when the decision is replicated; markers follow.

Before version 2 a fenced producer hears INVALID_PRODUCER_EPOCH. Version 5, in which every transaction has an epoch of
its own (KIP-890), is not served.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError
from moldau.broker.call import Call
from moldau.broker.handlers import handles
from moldau.broker.producer_fencing import told_code
from moldau.coordinator.transaction.transaction import ProducerIdAndEpoch
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.end_txn import EndTxnRequest, EndTxnResponse

if TYPE_CHECKING:
    from moldau.broker.node import Node

PRODUCER_FENCED_VERSION = 2


@handles(ApiKey.END_TXN, "0-4")
def end_txn(node: Node, request: EndTxnRequest, call: Call) -> None:
    def done(outcome: ErrorCode | ApiError) -> None:
        code = outcome.code if isinstance(outcome, ApiError) else outcome
        call.respond(EndTxnResponse(error_code=told_code(call, code, since_version=PRODUCER_FENCED_VERSION)))

    producer = ProducerIdAndEpoch(request.producer_id, request.producer_epoch)
    call.park()
    node.transactions.end(request.transactional_id, producer, request.committed, done)
