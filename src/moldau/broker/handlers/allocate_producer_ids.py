"""AllocateProducerIds: a broker gets a block of producer ids from the active controller (KIP-730)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from moldau.broker.call import Call
from moldau.broker.handlers import handles
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.allocate_producer_ids import AllocateProducerIdsRequest, AllocateProducerIdsResponse

if TYPE_CHECKING:
    from moldau.broker.node import Node


@handles(ApiKey.ALLOCATE_PRODUCER_IDS, "0")
async def allocate_producer_ids(
    node: Node, request: AllocateProducerIdsRequest, call: Call
) -> AllocateProducerIdsResponse:
    call.park()
    first, length = await node.controller.allocate_producer_ids(request.broker_id, request.broker_epoch)
    return AllocateProducerIdsResponse(producer_id_start=first, producer_id_len=length)
