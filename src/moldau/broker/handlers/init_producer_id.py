"""InitProducerId: an identity for an idempotent producer.

Ids of transactional producers are the transaction coordinator's to give; there is none yet, and who asks with a
transactional id is told so. From version 3 a producer may name its old id to have its epoch raised; without a
transactional id that means a new id (KIP-360).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError
from moldau.broker.call import Call
from moldau.broker.handlers import handles
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse

if TYPE_CHECKING:
    from moldau.broker.node import Node

NONE = -1


@handles(ApiKey.INIT_PRODUCER_ID, "0-6")
async def init_producer_id(node: Node, request: InitProducerIdRequest, _call: Call) -> InitProducerIdResponse:
    if (request.producer_id == NONE) != (request.producer_epoch == NONE):
        raise ApiError(ErrorCode.INVALID_REQUEST, "a producer id and its epoch come together")
    if request.transactional_id is not None:
        if not request.transactional_id:
            raise ApiError(ErrorCode.INVALID_REQUEST, "a transactional id cannot be empty")
        raise ApiError(ErrorCode.NOT_COORDINATOR, "this broker coordinates no transactions")
    return InitProducerIdResponse(producer_id=await node.producer_ids.take(), producer_epoch=0)
