"""SyncGroup: the leader hands in the assignment of a generation, and every member waits for its part of it.

From version 5 on a member says which protocol it believes in, and must (KIP-559).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError
from moldau.broker.call import Call
from moldau.broker.coordinated import answering
from moldau.broker.handlers import handles
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse

if TYPE_CHECKING:
    from moldau.broker.node import Node

PROTOCOL_VERSION = 5


def refused(_request: SyncGroupRequest, code: ErrorCode, _message: str) -> SyncGroupResponse:
    return SyncGroupResponse(error_code=code)


@handles(ApiKey.SYNC_GROUP, "0-5", on_error=refused)
def sync_group(node: Node, request: SyncGroupRequest, call: Call) -> None:
    if call.version >= PROTOCOL_VERSION and (request.protocol_type is None or request.protocol_name is None):
        raise ApiError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, "the protocol must be named")
    call.park()
    node.groups.sync(request, answering(call, request, refused))
