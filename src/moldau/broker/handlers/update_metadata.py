"""UpdateMetadata: the controller tells this node what the cluster looks like.

It comes from the controller alone, and is fenced by the controller's epoch and, from version 5 on, by the epoch of the
broker it was meant for: a node that has restarted must not believe what was sent to its former self.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from moldau.broker.call import Call
from moldau.broker.handlers import handles
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.update_metadata import UpdateMetadataRequest, UpdateMetadataResponse

if TYPE_CHECKING:
    from moldau.broker.node import Node


@handles(ApiKey.UPDATE_METADATA, "0-8")
async def update_metadata(node: Node, request: UpdateMetadataRequest, call: Call) -> UpdateMetadataResponse:
    await node.check_controller(request.controller_id, request.controller_epoch, request.broker_epoch)
    node.metadata.apply(request, call.version)
    return UpdateMetadataResponse()
