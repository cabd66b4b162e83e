"""AlterPartition: leaders tell the active controller who is in sync (KIP-497).

v1 carries the recovery after an unclean election (KIP-704), v2 names topics by id, v3 has the epochs of the brokers in
the ISR (KIP-903). Up to 1 a replica that must not join is answered OPERATION_NOT_ATTEMPTED instead of
INELIGIBLE_REPLICA.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from moldau.broker.call import Call
from moldau.broker.handlers import handles
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.alter_partition import AlterPartitionRequest, AlterPartitionResponse

if TYPE_CHECKING:
    from moldau.broker.node import Node


@handles(ApiKey.ALTER_PARTITION, "0-3")
async def alter_partition(node: Node, request: AlterPartitionRequest, call: Call) -> AlterPartitionResponse:
    call.park()
    return await node.controller.alter_partition(request, call.version)
