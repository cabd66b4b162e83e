"""ControlledShutdown: a broker that is about to stop has the controller move its leaderships away.

v2 carries the broker's epoch (KIP-380); what older ones send is obeyed whichever life of the broker it is from. The
answer names the replicated partitions that the broker still leads, for which there is no other leader.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from moldau.broker.call import Call
from moldau.broker.handlers import handles
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.controlled_shutdown import (
    ControlledShutdownRequest,
    ControlledShutdownResponse,
    RemainingPartition,
)

if TYPE_CHECKING:
    from moldau.broker.node import Node


@handles(ApiKey.CONTROLLED_SHUTDOWN, "0-3")
async def controlled_shutdown(node: Node, request: ControlledShutdownRequest, call: Call) -> ControlledShutdownResponse:
    call.park()
    remaining = await node.controller.controlled_shutdown(request.broker_id, request.broker_epoch)
    return ControlledShutdownResponse(
        remaining_partitions=[
            RemainingPartition(topic_name=topic, partition_index=partition) for topic, partition in sorted(remaining)
        ]
    )
