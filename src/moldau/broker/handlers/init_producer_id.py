"""InitProducerId: an identity for an idempotent or transactional producer.

Without a transactional id it is a new producer id each time. With one, the transaction coordinator gives the id that
belongs to it, with a raised epoch. From version 3 a producer may name its id and epoch to go on with them; without a
transactional id that means a new id (KIP-360). Before version 4 a fenced producer hears INVALID_PRODUCER_EPOCH. Version
6, with which a producer may ask for two-phase commit (KIP-939), is not served, as in Kafka 4.3.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError
from moldau.broker.call import Call
from moldau.broker.handlers import handles
from moldau.broker.producer_fencing import told_code
from moldau.coordinator.transaction.producers import Holder
from moldau.coordinator.transaction.transaction import ProducerIdAndEpoch
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse

if TYPE_CHECKING:
    from moldau.broker.node import Node

NONE = -1
PRODUCER_FENCED_VERSION = 4


def refused(_request: InitProducerIdRequest, code: ErrorCode, _message: str) -> InitProducerIdResponse:
    return InitProducerIdResponse(error_code=code, producer_id=NONE, producer_epoch=NONE)


@handles(ApiKey.INIT_PRODUCER_ID, "0-5", on_error=refused)
async def init_producer_id(node: Node, request: InitProducerIdRequest, call: Call) -> InitProducerIdResponse:
    if (request.producer_id == NONE) != (request.producer_epoch == NONE):
        raise ApiError(ErrorCode.INVALID_REQUEST, "a producer id and its epoch come together")
    if request.transactional_id is None:
        return InitProducerIdResponse(producer_id=await node.producer_ids.take(), producer_epoch=0)
    expected = None
    if request.producer_id != NONE:
        expected = ProducerIdAndEpoch(request.producer_id, request.producer_epoch)
    holder = Holder(request.transactional_id, request.transaction_timeout_ms, expected)
    try:
        held = await node.transactions.init_producer_id(holder)
    except ApiError as error:
        return refused(request, told_code(call, error.code, since_version=PRODUCER_FENCED_VERSION), error.message)
    return InitProducerIdResponse(producer_id=held.producer_id, producer_epoch=held.producer_epoch)
